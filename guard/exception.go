package guard

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/policy"
)

// Exceptions keep the findings of which a person has said that they are none.
type Exceptions interface {
	// At returns the exceptions that count at a place now.
	At(ctx context.Context, at FindingPlace) ([]Exception, error)
}

// A FindingPlace is where findings are: the arguments or the answers of one tool, prompt or resource.
type FindingPlace struct {
	Server  string `json:"server"`
	Reached string `json:"reached"` // as the call has it
	Method  string `json:"method"`
	Name    string `json:"name"`
	Phase   string `json:"phase"` // "call" or "result"
}

// An Exception is a person's word that findings of one rule at one place are none. They are recorded, and count for
// nothing: they raise no label and are no facts of policy. What a label has already stays.
type Exception struct {
	ID   string      `json:"id"`
	Kind detect.Kind `json:"kind"` // of the findings
	Path string      `json:"path"` // of their member, as [PathPattern] returns it

	// Confidence is the greatest confidence of these findings: one that is more certain counts.
	Confidence detect.Confidence `json:"confidence"`

	Salt   string `json:"salt,omitempty"`   // of Digest, in hexadecimal
	Digest string `json:"digest,omitempty"` // of the bytes of the one value; "": of any
}

// PathPattern returns the path of a member for each element of the arrays in it: "/content/*/text" for
// "/content/0/text".
func PathPattern(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		switch {
		case part == "*": // a name
			parts[i] = "~2" // which no path has
		case part != "" && strings.Trim(part, "0123456789") == "":
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// covers reports whether an exception is for a finding in a text.
func (e *Exception) covers(f *detect.Finding, text []byte) bool {
	if f.Class == detect.Canary || f.Path == "" || f.Kind != e.Kind || f.Confidence > e.Confidence || PathPattern(f.Path) != e.Path {
		return false
	}
	if e.Digest == "" {
		return true
	}
	key, err := hex.DecodeString(e.Salt)
	value := passage(f, text)
	return err == nil && len(key) == len(salt{}) && len(value) > 0 && salt(key).digest(value) == e.Digest
}

// passage returns the bytes of the value of a finding, or of its text that speaks to the agent; nil if the detector
// does not say where these are.
func passage(f *detect.Finding, text []byte) []byte {
	start, size := f.ValueOffset, f.ValueSize
	if f.Class == detect.Injection {
		start, size = f.Offset, f.Size
	}
	if start < 0 || size <= 0 || start > len(text) || size > len(text)-start {
		return nil
	}
	return text[start : start+size]
}

// A sifted is the findings in a text: those that count, and by the ID of its exception each that does not.
type sifted struct {
	counts   []detect.Finding
	excepted map[string][]detect.Finding
}

// sift takes out the findings of which a person has said that they are none. The findings that one of these had made
// needless count then, unless they are excepted too. None is taken out of a text of which a part was not searched,
// since others may have had no room, nor if the exceptions cannot be read.
func (d *Detection) sift(ctx context.Context, r *request, phase policy.Phase, text []byte, by searched) sifted {
	all := sifted{counts: by.report.Findings}
	if d.Exceptions == nil || by.failed != "" || len(by.report.Findings) == 0 {
		return all
	}
	at, ok := r.place(phase)
	if !ok {
		return all
	}
	known, err := d.Exceptions.At(ctx, at)
	if err != nil || len(known) == 0 {
		return all
	}
	out := sifted{excepted: map[string][]detect.Finding{}}
	var gone []detect.Finding
	add := func(f detect.Finding) {
		for i := range known {
			if known[i].covers(&f, text) {
				out.excepted[known[i].ID] = append(out.excepted[known[i].ID], f)
				gone = append(gone, f)
				return
			}
		}
		out.counts = append(out.counts, f)
	}
	for _, f := range by.report.Findings {
		add(f)
	}
	shown := gone
	for _, under := range by.report.Under {
		if uncovered(&under, shown) {
			add(under)
		}
	}
	return out
}

// uncovered reports whether a finding was made needless by one that is gone, and is another one than that.
func uncovered(under *detect.Finding, gone []detect.Finding) bool {
	end := under.Offset + under.Size
	for _, f := range gone {
		within := f.Kind == under.Kind && f.Offset <= under.Offset && end <= f.Offset+f.Size && f.Confidence >= under.Confidence
		if f.Offset < end && under.Offset < f.Offset+f.Size && !within {
			return true
		}
	}
	return false
}
