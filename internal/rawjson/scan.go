package rawjson

import "bytes"

const space = " \t\r\n"

// skipSpace returns the index of the first byte at or after i that is not white space.
func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}

// nearby is how many bytes of a string are looked at one by one before a search, which is faster but slower to start.
const nearby = 16

// skipString returns the index behind the string literal at i, or -1 if it has no end.
func skipString(data []byte, i int) int {
	i++
	for stop := min(i+nearby, len(data)); i < stop; i++ {
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	for i < len(data) {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return -1
		}
		// A quote counts if the backslashes before it pair up. No backslash is walked over twice.
		end := i + n
		first := end
		for first > i && data[first-1] == '\\' {
			first--
		}
		i = end + 1
		if (end-first)%2 == 0 {
			return i
		}
	}
	return -1
}

// nextQuote returns the index of the first quote at or after i, or the length of the data.
func nextQuote(data []byte, i int) int {
	for stop := min(i+nearby, len(data)); i < stop; i++ {
		if data[i] == '"' {
			return i
		}
	}
	if n := bytes.IndexByte(data[i:], '"'); n >= 0 {
		return i + n
	}
	return len(data)
}

// skipValue returns the index behind the value at i, or -1 if there is none.
func skipValue(data []byte, i int) int {
	if i >= len(data) {
		return -1
	}
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		return skipNested(data, i)
	}
	start := i
	for i < len(data) && !delimits(data[i]) {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// The meaning of a byte outside of strings for the nesting.
const (
	neutral = iota
	quotes
	opens
	closes
)

// nesting says it for each byte. A table is faster here than a switch.
var nesting = [256]uint8{'"': quotes, '{': opens, '[': opens, '}': closes, ']': closes}

// skipNested returns the index behind the object or array at i, or -1 if it has no end.
func skipNested(data []byte, i int) int {
	for depth := 0; i < len(data); i++ {
		what := nesting[data[i]]
		if what == neutral {
			continue
		}
		switch what {
		case quotes:
			if i = skipString(data, i) - 1; i < 0 {
				return -1
			}
		case opens:
			depth++
		case closes:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// delimits reports whether c ends a number or a literal.
func delimits(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', '"', '{', '}', '[', ']':
		return true
	}
	return false
}

// A span is the place of a value: data[start:end].
type span struct{ start, end int }

func (s span) of(data []byte) []byte { return data[s.start:s.end:s.end] }

// A member is the place of one member of an object. The name includes its quotes.
type member struct{ name, value span }

// root returns the place of the document's value.
func root(data []byte) (s span, ok bool) {
	start := skipSpace(data, 0)
	end := skipValue(data, start)
	return span{start, end}, end >= 0
}

// members calls yield for each member of the object at i until it returns false. It returns the index of the object's
// closing brace, or -1 if yield stopped it or data[i:] is no whole object.
func members(data []byte, i int, yield func(member) bool) (closing int) {
	for i = enter(data, i, '{'); i >= 0 && i < len(data); i = next(data, i, '}') {
		if data[i] == '}' {
			return i
		}
		if data[i] != '"' {
			return -1
		}
		m := member{name: span{i, skipString(data, i)}}
		if m.name.end < 0 {
			return -1
		}
		i = skipSpace(data, m.name.end)
		if i >= len(data) || data[i] != ':' {
			return -1
		}
		m.value.start = skipSpace(data, i+1)
		if m.value.end = skipValue(data, m.value.start); m.value.end < 0 || !yield(m) {
			return -1
		}
		i = m.value.end
	}
	return -1
}

// enter returns the index of the first thing inside the object or array that opens at i, be it only its end; -1 if none
// opens there.
func enter(data []byte, i int, opening byte) int {
	if i >= len(data) || data[i] != opening {
		return -1
	}
	return skipSpace(data, i+1)
}

// next returns the index of the token that follows the value that ends at i: the thing behind a comma, or the closing
// bracket; -1 if neither is there.
func next(data []byte, i int, closing byte) int {
	i = skipSpace(data, i)
	switch {
	case i >= len(data):
		return -1
	case data[i] == ',':
		return skipSpace(data, i+1)
	case data[i] == closing:
		return i
	}
	return -1
}
