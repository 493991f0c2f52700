package guard

import (
	"context"
	"encoding/hex"
	"slices"
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

	Salt   string `json:"salt,omitempty"`   // of the digests, in hexadecimal
	Digest string `json:"digest,omitempty"` // of the one value, or of a passage with the text around it; "": of any

	// Call is the digest of the params of the one call whose result it is for; "": of any. Text that speaks to the
	// agent is excepted in the results of one call only: the next page or file is another author's.
	Call string `json:"call,omitempty"`
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

// of reports whether an exception is for a call with these params.
func (e *Exception) of(params *canonical) bool {
	return e.Call == "" || e.digests(params.text, e.Call)
}

// digests reports whether a digest of an exception is that of a text.
func (e *Exception) digests(text []byte, digest string) bool {
	key, err := hex.DecodeString(e.Salt)
	return err == nil && len(key) == len(salt{}) && salt(key).digest(text) == digest
}

// covers reports whether an exception, which is for calls like this one, is for a finding in a text.
func (e *Exception) covers(f *detect.Finding, phase policy.Phase, in *values) bool {
	switch {
	case f.Class == detect.Canary, f.Path == "", f.Kind != e.Kind, f.Confidence > e.Confidence, PathPattern(f.Path) != e.Path:
		return false
	case f.Class == detect.Injection && phase == policy.OnResult && e.Call == "":
		return false
	case e.Digest == "":
		return true
	}
	value := in.of(f)
	return value != nil && e.digests(value, e.Digest)
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
	known = slices.DeleteFunc(slices.Clone(known), func(e Exception) bool { return !e.of(&r.canonical) })
	if err != nil || len(known) == 0 {
		return all
	}
	in := &values{text: text}
	out := sifted{excepted: map[string][]detect.Finding{}}
	var gone []detect.Finding
	add := func(f detect.Finding) {
		for i := range known {
			if known[i].covers(&f, phase, in) {
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
