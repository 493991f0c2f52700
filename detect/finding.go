package detect

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// A Kind is the subject of a finding. Findings of a [Scanner] have the name of their rule as Kind.
type Kind string

// The kinds that the scanner of [Definitions] finds beside those of rules.
const (
	Hidden      Kind = "hidden-characters" // characters that people do not see and models read
	Instruction Kind = "instruction"       // an order to the model that has nothing to do with the subject of the text
	Secret      Kind = "secret-place"      // names of places where secrets are kept
)

// A Class is the sensitivity of a value that was found, in the words of SEP-1913's DataClass.
type Class string

// The classes.
const (
	Credentials Class = "credentials"
	Financial   Class = "financial"
	Personal    Class = "pii"
	Injection   Class = "injection" // no data, but text that speaks to the model
	Canary      Class = "canary"    // a value of the operator's that nothing should hold
)

// Classes returns the classes.
func Classes() []Class { return []Class{Credentials, Financial, Personal, Injection, Canary} }

// A Confidence says how likely a finding is right. The zero Confidence is Low.
type Confidence uint8

// The levels of confidence. Only High raises labels.
const (
	Low    Confidence = iota // a name and a value that may be one
	Medium                   // a known form that other values have too
	High                     // a prefix, a checksum or a structure that other values do not have
)

// String returns the level as rules and reports show it.
func (c Confidence) String() string { return [...]string{"low", "medium", "high"}[min(c, High)] }

// A Layer is an encoding that a value was found under.
type Layer string

// The layers.
const (
	Escapes Layer = "escapes" // of JSON, HTML and URLs, invisible characters, and digits and letters of other forms
	Base64  Layer = "base64"
	Hex     Layer = "hex"
)

// A Finding is one thing that was found in a text. It never holds a secret.
type Finding struct {
	Kind       Kind
	Why        string
	Offset     int // of the first byte, in the text
	Size       int // of the span in the text, in bytes: of the encoded form, where there is one
	Class      Class
	Confidence Confidence

	// ValueOffset and ValueSize are the span of the value, without the name that it is assigned to.
	ValueOffset, ValueSize int

	Layers []Layer // from the text inwards; none if the value stands there as it is
	Path   string  // of the member, as a JSON Pointer, if the text is JSON
	Digest string  // of values: "sha256:" and the hexadecimal SHA-256 of the salt and the value

	whole bool   // the value is all of an encoded member
	parts []span // of the value, where it stands in several strings; else nil
}

// A Level says how far text speaks to the model that reads it.
type Level string

// The levels.
const (
	Note      Level = "note"      // as documentation may, too
	Untrusted Level = "untrusted" // as honest data hardly does
	Malicious Level = "malicious" // as attacks do
)

// Level returns the level of a finding of class Injection, which its confidence tells, and none of others.
func (f Finding) Level() Level {
	if f.Class != Injection {
		return ""
	}
	return [...]Level{Note, Untrusted, Malicious}[min(f.Confidence, High)]
}

func (f Finding) end() int { return f.Offset + f.Size }

// digest returns the salted digest of a value.
func digest(salt, value []byte) string {
	h := sha256.New()
	h.Write(salt)
	h.Write(value)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// settled returns the findings without those that overlap with one that is better, which is more certain, or else
// longer, and beside them these others. Both are in the order of their places.
func settled(found []Finding) (kept, under []Finding) {
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(min(len(a.parts), 1), min(len(b.parts), 1)),
			cmp.Compare(len(a.Layers), len(b.Layers)),
			cmp.Compare(b.Size, a.Size), cmp.Compare(a.Offset, b.Offset))
	})
	kept = found[:0]
	for _, f := range found {
		better := func(k Finding) bool { return k.overlaps(f) && k.displaces(f) }
		if slices.ContainsFunc(kept, better) {
			under = append(under, f)
		} else {
			kept = append(kept, f)
		}
	}
	byPlace := func(a, b Finding) int { return cmp.Compare(a.Offset, b.Offset) }
	slices.SortStableFunc(kept, byPlace)
	slices.SortStableFunc(under, byPlace)
	return kept, under
}

// overlaps reports whether two findings have bytes in common.
func (f Finding) overlaps(other Finding) bool {
	if f.Offset >= other.end() || other.Offset >= f.end() {
		return false
	}
	for _, a := range f.spans() {
		for _, b := range other.spans() {
			if a.start < b.end && b.start < a.end {
				return true
			}
		}
	}
	return false
}

// spans returns the span of a finding, or those of its value where it stands in several strings.
func (f Finding) spans() []span {
	if f.parts != nil {
		return f.parts
	}
	return []span{{f.Offset, f.end()}}
}

// displaces reports whether a finding at the same place makes another one needless. No instruction and no name
// of a person makes a secret needless, or else an attacker could hide it.
func (f Finding) displaces(other Finding) bool {
	alike := func(test func(Finding) bool) bool { return test(f) == test(other) }
	return alike(func(f Finding) bool { return f.Class == Injection }) && alike(func(f Finding) bool { return f.Class == Canary }) &&
		alike(func(f Finding) bool { return f.Kind == Hidden })
}
