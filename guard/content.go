package guard

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// Contents selects the parts of arguments and answers that events keep, beside their salted digests. The zero Contents
// keep nothing.
type Contents struct {
	// Fields are members that events hold in the clear, as "/arguments/to" or "/result/structuredContent/id" (RFC 6901,
	// through objects alone): by "SERVER/NAME", by "SERVER/*", and by "*". Values of more than 4 KiB are left out.
	Fields map[string][]string

	// Destinations has the facts of a call hold the arguments that the operator states to be its destinations, unless
	// they may hold a hidden value or a secret.
	Destinations bool

	// All gives whole arguments and answers to the Recorder, with each event of a decision. It must encrypt what it keeps.
	All bool

	// Detection is the search of arguments and answers for sensitive values.
	Detection Detection
}

// maxField is how long a value may be that an event holds, in bytes.
const maxField = 4 << 10

// A salt goes before a digested text, so that a digest tells nothing to an attacker who guesses the text.
type salt [16]byte

// digest returns the digest of a text, which may come in parts.
func (s salt) digest(text ...[]byte) string {
	const name = "sha256:"
	h := sha256.New()
	h.Write(s[:])
	for _, part := range text {
		h.Write(part)
	}
	var short [sha256.Size]byte
	var out [len(name) + 2*sha256.Size]byte
	hex.Encode(out[copy(out[:], name):], h.Sum(short[:0]))
	return string(out[:])
}

// A canonical is the canonical form of a call's params.
type canonical struct {
	text     []byte
	searched []byte // the text, and behind it the metadata that goes out
	salt     salt
	digest   string
}

func newCanonical(c *Call) canonical {
	k := canonical{text: canonicalArguments(c.Params, c.Further)}
	k.searched = k.text
	if _, ok := rawjson.Get(c.Params, "_meta"); ok {
		k.searched = withMeta(c, k.text)
	}
	rand.Read(k.salt[:]) // never fails
	k.digest = k.salt.digest(k.text)
	return k
}

// describe adds to the event of a decision the arguments and, once there is one, the answer, as far as they are kept,
// without its digest.
func (k *Contents) describe(e *record.Event, r *request, phase policy.Phase, answer json.RawMessage) {
	e.Arguments = r.canonical.digest
	e.Content = &record.Content{Salt: hex.EncodeToString(r.canonical.salt[:])}
	switch {
	case len(k.Fields) == 0:
	case phase != policy.OnResult && (r.Written != nil || len(r.Uses) == 0): // else nobody says where the hidden values are
		written := r.Written
		if written == nil {
			written = r.Arguments
		}
		e.Content.Fields = k.fields(&r.Call, "/arguments/", written)
	case phase == policy.OnResult && !hides(e, r):
		e.Content.Fields = k.fields(&r.Call, "/result/", answer)
	}
	switch {
	case !k.All:
	case phase == policy.OnResult:
		e.Content.Result = answer
	default:
		e.Content.Arguments = r.canonical.text
	}
}

// hides reports whether the answer is, or may hold, a hidden value.
func hides(e *record.Event, r *request) bool {
	return r.Hide || len(r.Uses) > 0 || r.revealing != nil || e.Effect == policy.Hide.String()
}

// keepsDestinations reports whether an event may hold the destinations of the call: no hidden value is in the
// arguments, and no secret in the destinations.
func (k *Contents) keepsDestinations(r *request, f *policy.Facts) bool {
	return len(r.Uses) == 0 && !slices.ContainsFunc(f.Roles.Destinations, func(a policy.Argument) bool {
		if k.Detection.Detector == nil {
			return false
		}
		by := k.Detection.scan(must(json.Marshal(a.Text)), r.canonical.salt, detect.Named{})
		return by.failed != "" || slices.ContainsFunc(by.report.Findings, func(f detect.Finding) bool { return f.Class != detect.Personal })
	})
}

// fields returns the members of a part of the call that the operator wants to keep.
func (k *Contents) fields(c *Call, part string, text json.RawMessage) map[string]json.RawMessage {
	var kept map[string]json.RawMessage
	for _, name := range [...]string{c.Server + "/" + c.Name, c.Server + "/*", "*"} {
		for _, pointer := range k.Fields[name] {
			rest, ok := strings.CutPrefix(pointer, part)
			if !ok {
				continue
			}
			value, ok := rawjson.Get(text, memberPath(rest)...)
			if !ok || len(value) > maxField {
				continue
			}
			if kept == nil {
				kept = map[string]json.RawMessage{}
			}
			kept[pointer] = bytes.Clone(value)
		}
	}
	return kept
}

// memberPath returns the names in a JSON pointer.
func memberPath(pointer string) []string {
	names := strings.Split(pointer, "/")
	for i, name := range names {
		names[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	}
	return names
}
