package rawjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// check reports whether [Check] accepts the document, in one pass and, unless objects are large or names have escapes,
// without allocating. Why a document is refused is for others to find out.
func (c *checker) check() bool {
	i := c.value(skipSpace(c.data, 0))
	return i >= 0 && skipSpace(c.data, i) == len(c.data)
}

// fewNames is how many members of an object are compared with each other one by one; more are hashed.
const fewNames = 8

// A checker is one pass over a document. Its methods take the index where something begins and return the one behind
// its end, or -1 if it must be refused.
type checker struct {
	data  []byte
	depth int
	names []span   // of the members of all objects that are open, the innermost last; without quotes
	outer []Member // those of the outermost object, if that is the document; kept if not nil
	inner []Member // those of the object in it that is open, if the document is large

	known *Names // the names to compare with; nil: nothing is odd
	odd   bool   // whether a name is, or may be
	marks int    // how many names are, or may be, marked
}

// value checks any value.
func (c *checker) value(i int) int {
	if i >= len(c.data) {
		return -1
	}
	switch b := c.data[i]; {
	case b == '"':
		end, _, _ := c.text(i)
		return end
	case b == '{', b == '[':
		return c.nested(i)
	case b == 't':
		return c.literal(i, "true")
	case b == 'f':
		return c.literal(i, "false")
	case b == 'n':
		return c.literal(i, "null")
	}
	return c.number(i)
}

// nested checks an object or array.
func (c *checker) nested(i int) int {
	if c.depth == MaxDepth {
		return -1
	}
	c.depth++
	inside := skipSpace(c.data, i+1)
	if c.data[i] == '{' {
		first := len(c.names)
		i = c.object(inside)
		c.names = c.names[:first]
	} else {
		i = c.array(inside)
	}
	c.depth--
	return i
}

func (c *checker) array(i int) int {
	if c.at(i, ']') {
		return i + 1
	}
	for {
		if i = c.value(i); i < 0 {
			return -1
		}
		i = skipSpace(c.data, i)
		switch {
		case c.at(i, ','):
			i = skipSpace(c.data, i+1)
		case c.at(i, ']'):
			return i + 1
		default:
			return -1
		}
	}
}

func (c *checker) object(i int) int {
	if c.at(i, '}') {
		return i + 1
	}
	first := len(c.names)
	var many map[string]string
	for {
		if !c.at(i, '"') {
			return -1
		}
		end, escaped, wide := c.text(i)
		c.odd = c.odd || escaped || wide
		if end < 0 || !c.enter(span{i + 1, end - 1}, escaped, first, &many) {
			return -1
		}
		m := member{name: span{i, end}}
		if c.known != nil && (escaped || c.known.marks(c.data[i+1:end-1])) {
			c.marks++
		}
		before := c.marks
		if i = skipSpace(c.data, end); !c.at(i, ':') {
			return -1
		}
		m.value.start = skipSpace(c.data, i+1)
		if m.value.end = c.value(m.value.start); m.value.end < 0 {
			return -1
		}
		if c.depth <= 2 && c.outer != nil {
			c.keep(m, escaped, c.marks == before)
		}
		i = skipSpace(c.data, m.value.end)
		switch {
		case c.at(i, ','):
			i = skipSpace(c.data, i+1)
		case c.at(i, '}'):
			return i + 1
		default:
			return -1
		}
	}
}

// keep adds a member to those of the outermost object, or of one in it.
func (c *checker) keep(m member, escaped, bare bool) {
	if c.depth == 2 && (len(c.data) < largeDocument || len(c.inner) > fewInside) {
		return
	}
	name := c.data[m.name.start+1 : m.name.end-1 : m.name.end-1]
	if escaped {
		text, _ := unquote(m.name.of(c.data)) // enter has done so before
		name = []byte(text)
	}
	kept := Member{Name: name, Value: m.value.of(c.data), At: m.value.start, Bare: bare && c.known != nil}
	if c.depth == 2 {
		c.inner = append(c.inner, kept)
		return
	}
	if c.data[m.value.start] == '{' && len(c.inner) <= fewInside {
		kept.Inside = c.inner
	}
	c.inner = nil
	c.outer = append(c.outer, kept)
}

// enter adds a name to those of the innermost object, which begin at first, and reports whether it is new. When there
// are many, or one has escapes, they are kept unescaped in a map.
func (c *checker) enter(name span, escaped bool, first int, many *map[string]string) bool {
	if *many == nil && !escaped && len(c.names)-first < fewNames {
		text := name.of(c.data)
		for _, other := range c.names[first:] {
			if other.end-other.start != len(text) {
				continue
			}
			if string(other.of(c.data)) == string(text) {
				return false
			}
			c.odd = c.odd || c.known != nil && foldsASCII(other.of(c.data), text)
		}
		c.odd = c.odd || c.known != nil && c.known.suspects(text)
		c.names = append(c.names, name)
		return true
	}
	if *many == nil {
		*many = make(map[string]string)
		for _, other := range c.names[first:] {
			c.add(*many, string(other.of(c.data)))
		}
	}
	text, ok := unquote(c.data[name.start-1 : name.end+1])
	return ok && c.add(*many, text)
}

// add adds a name to a map of names by their folded form, and reports whether it is new. Further names of the same form
// are there behind a byte that no name has.
func (c *checker) add(names map[string]string, name string) bool {
	fold := Fold(name)
	first, taken := names[fold]
	if !taken {
		names[fold] = name
		c.odd = c.odd || c.known != nil && c.known.Misspells(name)
		return true
	}
	_, again := names["\xff"+name]
	c.odd = true
	names["\xff"+name] = name
	return first != name && !again
}

// text checks a string literal, and reports whether it has escapes, and whether there is more than ASCII in it.
func (c *checker) text(i int) (end int, escaped, wide bool) {
	data := c.data
	for i++; i < len(data); {
		for i+16 <= len(data) {
			words := data[i : i+16]
			if marks := special(binary.LittleEndian.Uint64(words)); marks != 0 {
				i += bits.TrailingZeros64(marks) / 8
				break
			}
			if marks := special(binary.LittleEndian.Uint64(words[8:])); marks != 0 {
				i += 8 + bits.TrailingZeros64(marks)/8
				break
			}
			i += 16
		}
		if i == len(data) {
			break // without an end
		}
		switch b := data[i]; {
		case b == '"':
			return i + 1, escaped, wide
		case b == '\\':
			escaped = true
			if i+1 < len(data) && short[data[i+1]] {
				i += 2
			} else {
				i = c.unicode(i)
			}
		case b < ' ':
			return -1, escaped, wide
		case b < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n <= 1 {
				return -1, escaped, wide
			}
			wide = true
			i += n
		}
		if i < 0 {
			return -1, escaped, wide
		}
	}
	return -1, escaped, wide
}

// short are the bytes that make an escape with just a backslash before them.
var short = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// unicode checks an escape \uXXXX in a string, or two that make a surrogate pair.
func (c *checker) unicode(i int) int {
	r := c.unit(i)
	switch {
	case r < 0:
		return -1
	case !utf16.IsSurrogate(r):
		return i + 6
	case utf16.DecodeRune(r, c.unit(i+6)) == utf8.RuneError:
		return -1
	}
	return i + 12
}

// unit returns the code unit of an escape \uXXXX, -1 if there is none.
func (c *checker) unit(i int) rune {
	if i+6 > len(c.data) || c.data[i] != '\\' || c.data[i+1] != 'u' {
		return -1
	}
	var r rune
	for _, b := range c.data[i+2 : i+6] {
		switch {
		case '0' <= b && b <= '9':
			r = r<<4 | rune(b-'0')
		case 'a' <= b|0x20 && b|0x20 <= 'f':
			r = r<<4 | rune(b|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}

func (c *checker) literal(i int, text string) int {
	if len(c.data)-i < len(text) || string(c.data[i:i+len(text)]) != text {
		return -1
	}
	return i + len(text)
}

func (c *checker) number(i int) int {
	if c.at(i, '-') {
		i++
	}
	if c.at(i, '0') {
		i++
	} else if i = c.digits(i); i < 0 {
		return -1
	}
	if c.at(i, '.') {
		if i = c.digits(i + 1); i < 0 {
			return -1
		}
	}
	if c.at(i, 'e') || c.at(i, 'E') {
		if i++; c.at(i, '+') || c.at(i, '-') {
			i++
		}
		return c.digits(i)
	}
	return i
}

// digits checks one or more of them.
func (c *checker) digits(i int) int {
	start := i
	for i < len(c.data) && '0' <= c.data[i] && c.data[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func (c *checker) at(i int, b byte) bool { return i < len(c.data) && c.data[i] == b }

// Each byte of a word, for looking at eight bytes at once.
const (
	low  = 0x0101010101010101 // its lowest bit
	high = 0x8080808080808080 // its highest bit
)

// special marks, by their highest bits, the bytes of w that do not stand for themselves in a string: what is not ASCII,
// quote, backslash and control characters. Above the first, others may be marked as well, by a borrow. The highest bit
// of an ASCII byte is set only if what is taken from it is more.
func special(w uint64) uint64 {
	return (w | ((w ^ low*'"') - low) | ((w ^ low*'\\') - low) | (w - low*' ')) & high
}

// MaxDepth is how deep objects and arrays may be nested; [[]] has depth 2.
const MaxDepth = 1000
