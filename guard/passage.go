package guard

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/weir-mcp/weir/detect"
)

// besidePassage is how much text on both sides of the members of a passage its digest stands for, in bytes: a server
// may write the rest of a sentence, or of an address, into the next member.
const besidePassage = 400

// A span is a part of a text.
type span struct{ start, end int }

// values are the values of findings in a JSON text, as their digests stand for them.
type values struct {
	text   []byte
	member span                       // the string that was looked for last
	sums   map[span][sha256.Size]byte // of parts of the text
}

// of returns the bytes that the digest of a finding stands for; nil if the detector does not say where it is. They are
// those of the value. Of text that speaks to the agent they are its place in its members and a digest of these whole
// with the text beside them: a detector ends the passage at the last sign that it knows, and the end of the sentence
// says where data goes.
func (v *values) of(f *detect.Finding) []byte {
	at := span{f.ValueOffset, f.ValueOffset + f.ValueSize}
	if f.Class == detect.Injection {
		at = span{f.Offset, f.Offset + f.Size}
	}
	if at.start < 0 || at.end <= at.start || at.end > len(v.text) {
		return nil
	}
	if f.Class != detect.Injection {
		return v.text[at.start:at.end]
	}
	whole := span{max(0, v.stringAt(at.start).start-besidePassage), min(len(v.text), v.stringAt(at.end).end+besidePassage)}
	sum, ok := v.sums[whole]
	if !ok {
		if v.sums == nil {
			v.sums = map[span][sha256.Size]byte{}
		}
		sum = sha256.Sum256(v.text[whole.start:whole.end])
		v.sums[whole] = sum
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(sum[:], uint64(at.start-whole.start)), uint64(at.end-whole.start))
}

// stringAt returns the string around a place, from quote to quote; between strings, from one to the next.
func (v *values) stringAt(at int) span {
	if v.member.start < at && at <= v.member.end {
		return v.member
	}
	start, end := at, at
	for start--; start > 0 && !v.quote(start); {
		start = max(0, bytes.LastIndexByte(v.text[:start], '"'))
	}
	for end < len(v.text) && !v.quote(end) {
		if next := bytes.IndexByte(v.text[end+1:], '"'); next >= 0 {
			end += 1 + next
		} else {
			end = len(v.text)
		}
	}
	v.member = span{max(0, start), end}
	return v.member
}

// quote reports whether a string begins or ends at a place.
func (v *values) quote(at int) bool {
	escapes := 0
	for escapes < at && v.text[at-1-escapes] == '\\' {
		escapes++
	}
	return v.text[at] == '"' && escapes%2 == 0
}
