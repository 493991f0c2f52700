package rawjson

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold returns the form that two names have in common if a decoder that ignores case may take the one for the other:
// that of Go's encoding/json, which folds by Unicode and so takes U+017F for s and U+212A for K, those of .NET and
// Java, which map to upper and lower case and back and so take U+0131 and U+0130 for i, and all that fold less.
func Fold(name string) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf {
			return strings.Map(foldRune, name)
		}
	}
	return name
}

func foldRune(r rune) rune {
	if r == 'ı' || r == 'İ' {
		return 'i'
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

// foldsASCII reports whether two names of ASCII letters fold to the same.
func foldsASCII(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if x, y := a[i], b[i]; x != y && (x|0x20 != y|0x20 || x|0x20 < 'a' || x|0x20 > 'z') {
			return false
		}
	}
	return true
}

// Names is a set of the member names that a protocol gives a meaning. It does not change.
type Names struct {
	exact  map[string]string  // by their folded form
	length [maxKnown][][]byte // by their length, for a look at every name of a document
	marked []string           // see Mark
}

// maxKnown bounds the length of the names that are looked for in every document.
const maxKnown = 64

// NewNames returns the set of these names, which are ASCII and differ by more than case.
func NewNames(names ...string) *Names {
	n := &Names{exact: make(map[string]string, len(names))}
	for _, name := range names {
		if _, ok := n.exact[Fold(name)]; ok {
			continue
		}
		n.exact[Fold(name)] = name
		if len(name) < maxKnown {
			n.length[len(name)] = append(n.length[len(name)], []byte(name))
		}
	}
	return n
}

// Mark returns the set with other names that [CheckMembers] looks for in the values of members.
func (n *Names) Mark(names ...string) *Names {
	marking := *n
	marking.marked = names
	return &marking
}

// marks reports whether a name without escapes is marked.
func (n *Names) marks(name []byte) bool {
	for _, marked := range n.marked {
		if string(name) == marked {
			return true
		}
	}
	return false
}

// Misspells reports whether a name folds to one of the set and is not that one.
func (n *Names) Misspells(name string) bool {
	exact, ok := n.exact[Fold(name)]
	return ok && exact != name
}

// suspects is Misspells for a name in ASCII.
func (n *Names) suspects(name []byte) bool {
	if len(name) >= maxKnown || len(name) == 0 {
		return false
	}
	for _, known := range n.length[len(name)] {
		if known[0]|0x20 == name[0]|0x20 && foldsASCII(known, name) {
			return string(known) != string(name)
		}
	}
	return false
}

// Folded reports whether an object has two names that fold to the same, or one that misspells a known name; known may
// be nil. It does not look inside of the members' values.
func Folded(object []byte, known *Names) bool {
	seen := map[string]bool{}
	for name := range Members(object) {
		fold := Fold(name)
		if seen[fold] || known != nil && known.Misspells(name) {
			return true
		}
		seen[fold] = true
	}
	return false
}
