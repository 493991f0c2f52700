package rawjson

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// CheckMembers is [Check] and then, unless it refuses the document, [Members], in one pass over the document.
func CheckMembers(data []byte) (iter.Seq2[string, []byte], error) {
	c := checker{data: data, outer: make([]member, 0, 8)}
	if !c.check() {
		if err := Check(data); err != nil {
			return nil, err
		}
		return Members(data), nil
	}
	return func(yield func(string, []byte) bool) {
		for _, m := range c.outer {
			// Names were unquoted before, so this can be.
			if name, _ := unquote(m.name.of(data)); !yield(name, m.value.of(data)) {
				return
			}
		}
	}, nil
}

// check reports whether [Check] accepts the document, in one pass and, unless objects are large or names have escapes,
// without allocating. Why a document is refused is for others to find out.
func (c *checker) check() bool {
	c.names = c.room[:0]
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
	names []span // of the members of all objects that are open, the innermost last; without quotes
	room  [32]span
	outer []member // those of the outermost object, if that is the document; kept if not nil
}

// value checks any value.
func (c *checker) value(i int) int {
	if i >= len(c.data) {
		return -1
	}
	switch b := c.data[i]; {
	case b == '"':
		end, _ := c.text(i)
		return end
	case b == '{':
		return c.nested(i, c.object)
	case b == '[':
		return c.nested(i, c.array)
	case b == 't':
		return c.literal(i, "true")
	case b == 'f':
		return c.literal(i, "false")
	case b == 'n':
		return c.literal(i, "null")
	}
	return c.number(i)
}

// nested checks an object or array, which the function checks from behind its opening bracket.
func (c *checker) nested(i int, check func(int) int) int {
	if c.depth == MaxDepth {
		return -1
	}
	c.depth++
	i = check(skipSpace(c.data, i+1))
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
	defer func() { c.names = c.names[:first] }()
	var many map[string]struct{}
	for {
		if !c.at(i, '"') {
			return -1
		}
		end, escaped := c.text(i)
		if end < 0 || !c.enter(span{i + 1, end - 1}, escaped, first, &many) {
			return -1
		}
		m := member{name: span{i, end}}
		if i = skipSpace(c.data, end); !c.at(i, ':') {
			return -1
		}
		m.value.start = skipSpace(c.data, i+1)
		if m.value.end = c.value(m.value.start); m.value.end < 0 {
			return -1
		}
		if c.depth == 1 && c.outer != nil {
			c.outer = append(c.outer, m)
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

// enter adds a name to those of the innermost object, which begin at first, and reports whether it is new. When there
// are many, or one has escapes, they are kept unescaped in a map.
func (c *checker) enter(name span, escaped bool, first int, many *map[string]struct{}) bool {
	if *many == nil && !escaped && len(c.names)-first < fewNames {
		text := name.of(c.data)
		for _, other := range c.names[first:] {
			if string(other.of(c.data)) == string(text) {
				return false
			}
		}
		c.names = append(c.names, name)
		return true
	}
	if *many == nil {
		*many = make(map[string]struct{})
		for _, other := range c.names[first:] {
			(*many)[string(other.of(c.data))] = struct{}{}
		}
	}
	text, ok := unquote(c.data[name.start-1 : name.end+1])
	if _, taken := (*many)[text]; taken || !ok {
		return false
	}
	(*many)[text] = struct{}{}
	return true
}

// text checks a string literal, and reports whether it has escapes.
func (c *checker) text(i int) (end int, escaped bool) {
	for i++; ; {
		i += plain(c.data[i:])
		if i >= len(c.data) {
			return -1, escaped
		}
		switch b := c.data[i]; {
		case b == '"':
			return i + 1, escaped
		case b == '\\':
			escaped = true
			i = c.escape(i)
		case b < ' ':
			return -1, escaped
		default:
			r, n := utf8.DecodeRune(c.data[i:])
			if r == utf8.RuneError && n <= 1 {
				return -1, escaped
			}
			i += n
		}
		if i < 0 {
			return -1, escaped
		}
	}
}

// escape checks an escape in a string.
func (c *checker) escape(i int) int {
	if i+1 >= len(c.data) {
		return -1
	}
	switch c.data[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	}
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

// equal marks, by their highest bits, the bytes of w that are b. Above the first, others may be marked as well.
func equal(w uint64, b byte) uint64 {
	w ^= low * uint64(b)
	return (w - low) &^ w & high
}

// plain counts the bytes at the beginning of data that stand for themselves in a string: ASCII, no quote, backslash or
// control character.
func plain(data []byte) int {
	i := 0
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		// A borrow can only mark a byte above one that is marked rightly.
		special := equal(w, '"') | equal(w, '\\') | w&high | (w-low*' ')&^w&high
		if special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for ; i < len(data); i++ {
		if b := data[i]; b < ' ' || b >= utf8.RuneSelf || b == '"' || b == '\\' {
			return i
		}
	}
	return i
}
