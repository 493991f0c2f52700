package detect

import (
	"bytes"
	"html"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// The escapes that a view undoes.
type escapes uint8

const (
	allEscapes  escapes = iota
	jsonEscapes         // only those of JSON: the text is JSON
)

// What a byte may begin that is read as something else.
const (
	nothing = iota
	escape
	foreign // the first byte of a character beyond ASCII that is folded or dropped
)

// triggers tells for each byte whether it may begin an escape or a character that is folded. Letters of most scripts
// stay as they are, and are passed without being decoded.
var triggers = func() (t [256]uint8) {
	for _, c := range `\&%` {
		t[c] = escape
	}
	for _, c := range []byte{
		0xc2, 0xcd, 0xd8, 0xd9, 0xdb, 0xdf, 0xe0, 0xe1, 0xe2, 0xe3, 0xea, 0xef, 0xf0, 0xf3,
	} {
		t[c] = foreign
	}
	return t
}()

// trigger returns the first place where a text may read differently for an agent than byte for byte, or -1.
func trigger(text []byte) int {
	for i := plain(text); i < len(text); i++ {
		switch triggers[text[i]] {
		case nothing:
			if i&7 == 7 {
				i += plain(text[i+1:])
			}
		case escape:
			if _, n := unescape(text[i:], allEscapes); n > 0 {
				return i
			}
		default:
			r, n := utf8.DecodeRune(text[i:])
			if folded(r) != r {
				return i
			}
			i += n - 1
		}
	}
	return -1
}

// flatten appends text from a place on without escapes, until there is a chunk of it. It returns the place where it
// stopped.
func flatten(buf []byte, marks []mark, text []byte, from int, how escapes) ([]byte, []mark, int) {
	marks = append(marks, mark{len(buf), from})
	i := from
	for i < len(text) && len(buf) < chunk {
		n := plainRun(text[i:min(len(text), i+chunk-len(buf))], how)
		buf = append(buf, text[i:i+n]...)
		if i += n; i >= len(text) || len(buf) >= chunk {
			break
		}
		r, size := rune(-1), 0
		switch triggers[text[i]] {
		case escape:
			r, size = unescape(text[i:], how)
		case foreign:
			r, size = utf8.DecodeRune(text[i:])
			if fold := folded(r); fold != r {
				r = fold
			} else {
				r = keep
			}
		}
		if size == 0 || r == keep { // it stands for itself
			size = max(size, 1)
			buf = append(buf, text[i:i+size]...)
			i += size
			continue
		}
		i += size
		switch {
		case r == dropped:
		case r < 0x100 && text[i-size] == '%': // a byte, of a character perhaps
			buf = append(buf, byte(r))
		default:
			buf = utf8.AppendRune(buf, r)
		}
		marks = append(marks, mark{len(buf), i})
	}
	return buf, marks, i
}

// plainRun returns how many bytes come before one that begins something else.
func plainRun(text []byte, how escapes) int {
	if how == jsonEscapes {
		if n := bytes.IndexByte(text, '\\'); n >= 0 {
			return n
		}
		return len(text)
	}
	i := plain(text)
	for i < len(text) && triggers[text[i]] == nothing {
		if i++; i&7 == 0 {
			i += plain(text[i:])
		}
	}
	return i
}

// Results of folding that are no characters.
const (
	dropped rune = -1
	keep    rune = -2
)

// unescape returns the character that the escape at the beginning of a text stands for, and the size of the escape; 0
// if it is none.
func unescape(text []byte, how escapes) (r rune, size int) {
	switch text[0] {
	case '\\':
		return backslash(text)
	case '%':
		if how == allEscapes {
			return number(text, 1, 2)
		}
	case '&':
		if how == allEscapes {
			return reference(text)
		}
	}
	return 0, 0
}

// backslash reads the escapes of JSON, JavaScript and C.
func backslash(text []byte) (rune, int) {
	if len(text) < 2 {
		return 0, 0
	}
	switch c := text[1]; c {
	case '"', '\'', '\\', '/', '`':
		return rune(c), 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't', 'b', 'f', 'v', 'a', '0':
		return ' ', 2
	case 'x':
		return number(text, 2, 2)
	case 'U':
		return number(text, 2, 8)
	case 'u':
		r, size := number(text, 2, 4)
		if size > 0 && utf16.IsSurrogate(r) && len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
			if low, n := number(text[6:], 2, 4); n > 0 {
				return utf16.DecodeRune(r, low), 12
			}
		}
		return r, size
	}
	return 0, 0
}

// number reads some hexadecimal digits behind a prefix.
func number(text []byte, prefix, digits int) (r rune, size int) {
	size = prefix + digits
	if len(text) < size {
		return 0, 0
	}
	for _, c := range text[prefix:size] {
		d := digitOf[c]
		if d > 15 {
			return 0, 0
		}
		r = r<<4 | rune(d)
	}
	return r, size
}

// digitOf is the value of each hexadecimal digit, and 255 for any other byte.
var digitOf = func() (t [256]uint8) {
	for i := range t {
		t[i] = 255
	}
	for i := range 16 {
		t["0123456789abcdef"[i]], t["0123456789ABCDEF"[i]] = uint8(i), uint8(i)
	}
	return t
}()

// maxReference is the size of the longest character reference that is read.
const maxReference = 34

// reference reads a character reference of HTML, numeric or by name, that stands for one character.
func reference(text []byte) (rune, int) {
	end := 1
	for end < len(text) && end < maxReference && (wordByte[text[end]] || end == 1 && text[end] == '#') {
		end++
	}
	if end < 3 || end == len(text) || text[end] != ';' {
		return 0, 0
	}
	read := html.UnescapeString(string(text[:end+1]))
	r, n := utf8.DecodeRuneInString(read)
	if n != len(read) {
		return 0, 0
	}
	if r == '\u00a0' {
		r = ' '
	}
	return r, end + 1
}

// folded returns the ASCII character that one beyond ASCII is read as, dropped if it does not show, and itself
// otherwise.
func folded(r rune) rune {
	switch {
	case r < utf8.RuneSelf, 0xae <= r && r < 0x2ff, 0x2010 <= r && r <= 0x2029, 0x2030 <= r && r <= 0x205f,
		0x2070 <= r && r <= 0x3163, 0x3165 <= r && r <= 0xa61f, 0x1f000 <= r && r <= 0x1fbef: // the most frequent ones, none of the others below
		return r
	case 0xe0020 <= r && r <= 0xe007e: // tag characters carry ASCII
		return r - 0xe0000
	case 0xff01 <= r && r <= 0xff5e: // fullwidth forms
		return r - 0xfee0
	case 0x1d400 <= r && r <= 0x1d6a3: // mathematical letters, in rows of 26 capitals and 26 small ones
		if n := (r - 0x1d400) % 52; n < 26 {
			return 'A' + n
		} else {
			return 'a' + n - 26
		}
	case 0x1d7ce <= r && r <= 0x1d7ff: // mathematical digits
		return '0' + (r-0x1d7ce)%10
	case unicode.Is(unicode.Nd, r):
		return digit(r)
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), unicode.Is(unicode.Variation_Selector, r):
		return dropped
	}
	return r
}

// digit returns the ASCII digit of the same value. Unicode has the decimal digits of a script in a row of ten, from
// zero on.
func digit(r rune) rune {
	for _, row := range unicode.Nd.R16 {
		if rune(row.Lo) <= r && r <= rune(row.Hi) {
			return '0' + (r-rune(row.Lo))%10
		}
	}
	for _, row := range unicode.Nd.R32 {
		if rune(row.Lo) <= r && r <= rune(row.Hi) {
			return '0' + (r-rune(row.Lo))%10
		}
	}
	return r
}
