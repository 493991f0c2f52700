package rawjson

import (
	"bytes"
	"iter"
	"strings"
)

// Get returns the value at the path of member names, without the white space around it, and false if there is none. The
// empty path is the whole document. Only objects are entered.
func Get(data []byte, path ...string) (value []byte, ok bool) {
	at, ok := locate(data, path)
	if !ok {
		return nil, false
	}
	return at.of(data), true
}

// Members iterates over the members of an object in their order, with unescaped names. It yields nothing for anything
// else. A name that does not unescape ends it; Check refuses those.
func Members(data []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		members(data, skipSpace(data, 0), func(m member) bool {
			name, ok := unquote(m.name.of(data))
			return ok && yield(name, m.value.of(data))
		})
	}
}

// Pick returns an object of those members of an object that have one of the names, in their order. It takes one scan,
// after which questions about these members cost nothing, however large the others are. Anything but an object it
// returns as it is.
func Pick(data []byte, names ...string) []byte {
	if Kind(data) != '{' {
		return data
	}
	picked := []byte{'{'}
	members(data, skipSpace(data, 0), func(m member) bool {
		for _, name := range names {
			if named(m.name.of(data), name) {
				if len(picked) > 1 {
					picked = append(picked, ',')
				}
				picked = append(append(append(picked, m.name.of(data)...), ':'), m.value.of(data)...)
				break
			}
		}
		return true
	})
	return append(picked, '}')
}

// Select calls yield for those members of an object that have one of the names, in their order, until it returns false.
// It takes one scan, for any number of names. For anything but an object it does nothing.
func Select(data []byte, names []string, yield func(name string, value []byte) bool) {
	members(data, skipSpace(data, 0), func(m member) bool {
		name, ok := oneOf(m.name.of(data), names)
		return !ok || yield(name, m.value.of(data))
	})
}

// oneOf returns the one of the names that the string literal reads.
func oneOf(literal []byte, names []string) (name string, ok bool) {
	body := literal[1 : len(literal)-1]
	if bytes.IndexByte(body, '\\') >= 0 {
		text, ok := unquote(literal)
		if !ok {
			return "", false
		}
		body = []byte(text)
	}
	for _, name := range names {
		if string(body) == name {
			return name, true
		}
	}
	return "", false
}

// HasName reports whether an object in the document, at any depth, has a member with one of the names. It takes one
// scan. Of text that is no JSON it may report either.
func HasName(data []byte, names ...string) bool {
	for i := nextQuote(data, 0); i < len(data); i = nextQuote(data, i) {
		end := skipString(data, i)
		if end < 0 {
			return true
		}
		if colon := skipSpace(data, end); colon < len(data) && data[colon] == ':' {
			for _, name := range names {
				if named(data[i:end], name) {
					return true
				}
			}
		}
		i = end
	}
	return false
}

// Elements iterates over the elements of an array. It yields nothing for anything else.
func Elements(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := enter(data, skipSpace(data, 0), '[')
		for i >= 0 && i < len(data) && data[i] != ']' {
			end := skipValue(data, i)
			if end < 0 || !yield((span{i, end}).of(data)) {
				return
			}
			i = next(data, end, ']')
		}
	}
}

// locate returns the place of the value at the path. It reads no further than that.
func locate(data []byte, path []string) (at span, ok bool) {
	if len(path) == 0 {
		return root(data)
	}
	at.start = skipSpace(data, 0)
	for _, name := range path {
		s, ok := find(data, at.start, name)
		if !ok {
			return span{}, false
		}
		at = s.value
	}
	return at, true
}

// A slot is where a member is, or would be added, in its object.
type slot struct {
	member
	before  int // where the member before it ends; -1 if there is none
	closing int // the index of the object's closing brace; -1 if the member was found, or if there is no whole object
}

// find looks for the member of that name in the object at i.
func find(data []byte, i int, name string) (s slot, ok bool) {
	s.before = -1
	s.closing = members(data, i, func(m member) bool {
		if ok = named(m.name.of(data), name); ok {
			s.member = m
		} else {
			s.before = m.value.end
		}
		return !ok
	})
	return s, ok
}

// named reports whether the string literal reads name. An escape is two to six times as long as its character,
// so lengths settle most comparisons, and none costs more than the name is long.
func named(literal []byte, name string) bool {
	body := literal[1 : len(literal)-1]
	if len(body) < len(name) || len(body) > 6*len(name) {
		return false
	}
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body) == name
	}
	text, ok := unquote(literal)
	return ok && text == name
}

// HasMembers reports whether data is an object with a member.
func HasMembers(data []byte) bool {
	for range Members(data) {
		return true
	}
	return false
}

// Pointer returns the JSON pointer (RFC 6901) to a value below an object or an array, by the names of members and the
// numbers of elements on the way.
func Pointer(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}
