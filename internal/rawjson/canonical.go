package rawjson

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxPlain is the size in bytes of the largest document that is looked at for being plain: most calls are smaller.
const maxPlain = 4 << 10

// appendPlain appends the canonical form of a document in which all strings stand for themselves: printable ASCII
// without escapes. It reports whether the document is one.
func appendPlain(dst, data []byte) ([]byte, bool) {
	if len(data) > maxPlain || !isPlain(data) {
		return dst, false
	}
	c := checker{data: data}
	if !c.check() {
		return dst, false
	}
	value, _ := root(data)
	return appendSorted(slices.Grow(dst, len(data)), value.of(data)), true
}

func isPlain(data []byte) bool {
	return !slices.ContainsFunc(data, func(b byte) bool { return b == '\\' || b >= utf8.RuneSelf })
}

// appendSorted appends a value of a plain document without white space, the members of objects sorted by name.
func appendSorted(dst, value []byte) []byte {
	switch value[0] {
	case '{':
		var room [8]member
		all := room[:0]
		members(value, 0, func(m member) bool {
			all = append(all, m)
			return true
		})
		slices.SortFunc(all, func(a, b member) int {
			return bytes.Compare(inside(value, a.name), inside(value, b.name))
		})
		dst = append(dst, '{')
		for i, m := range all {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, m.name.of(value)...), ':')
			dst = appendSorted(dst, m.value.of(value))
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		first := len(dst)
		for element := range Elements(value) {
			if len(dst) > first {
				dst = append(dst, ',')
			}
			dst = appendSorted(dst, element)
		}
		return append(dst, ']')
	}
	return append(dst, value...)
}

// inside returns the text between the quotes of a string.
func inside(data []byte, literal span) []byte { return data[literal.start+1 : literal.end-1] }

// Canonical returns a text that is the same for all documents that mean the same: no white space, members in the order
// of their names in UTF-16, strings escaped as RFC 8785 has it. Numbers, unlike there, keep their own text, so that two
// that differ beyond the precision of a float64 stay different; 1.0 and 1 differ. It returns nil for a document that
// Check would refuse for its syntax.
func Canonical(data []byte) []byte {
	if plain, ok := appendPlain(nil, data); ok {
		return plain
	}
	v := jsontext.Value(bytes.Clone(data))
	if v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) != nil {
		return nil
	}
	return v
}
