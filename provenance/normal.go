package provenance

import (
	"unicode"
	"unicode/utf8"
)

// The classes of ASCII bytes for normalisation, other than letters and digits.
const (
	separates = 0 // ends a word
	special   = 1 // may begin an escape, or a character beyond ASCII
)

// fold maps bytes to themselves in lower case if they are letters or digits, else to separates or special.
var fold = foldTable()

func foldTable() (t [256]byte) {
	for c := range t {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z':
			t[c] = byte(c)
		case 'A' <= c && c <= 'Z':
			t[c] = byte(c) + 'a' - 'A'
		case c == '%', c == '&', c == '\\', c >= utf8.RuneSelf:
			t[c] = special
		}
	}
	return t
}

// A glyph is one normalised character.
type glyph struct {
	r     rune // 0: it separates words
	skip  bool // it is nothing at all
	alone bool // it is a word of its own, as an ideograph is
	width int  // bytes that it takes in the text
}

// next returns the glyph at i, where text is not over.
func next(text []byte, i int) glyph {
	c := text[i]
	if f := fold[c]; f > special {
		return glyph{r: rune(f), width: 1}
	} else if f == separates {
		return glyph{width: 1}
	}
	if c >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(text[i:])
		return classify(r, n)
	}
	if r, n := escape(text, i); n > 0 {
		return classify(r, n)
	}
	return glyph{width: 1}
}

// Where scripts begin that do not separate words with spaces.
const (
	firstThai      = 0x0E00
	lastThai       = 0x0EFF
	firstIdeograph = 0x2E80
	fullWidthFrom  = 0xFF01 // '!' to '~' in full width, in the order of ASCII
	fullWidthTo    = 0xFF5E
)

// classify returns the glyph of a character that takes n bytes.
func classify(r rune, n int) glyph {
	if fullWidthFrom <= r && r <= fullWidthTo {
		r += '!' - fullWidthFrom
	}
	if r < utf8.RuneSelf {
		if f := fold[r]; f > special {
			return glyph{r: rune(f), width: n}
		}
		return glyph{width: n, skip: r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != 0}
	}
	switch {
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		return glyph{r: unicode.ToLower(r), width: n, alone: r >= firstIdeograph || (firstThai <= r && r <= lastThai)}
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Variation_Selector):
		return glyph{width: n, skip: true}
	}
	return glyph{width: n}
}

// A form is the normalised form of a value.
type form struct {
	norm   []byte  // letters and digits, in UTF-8
	raw    []int32 // where each byte of norm comes from in the value
	end    []int32 // where the character ends in the value
	begins []bool  // whether a word begins there
	ends   []bool  // whether a word ends there
}

// newForm returns an empty form with room for n bytes.
func newForm(n int) form {
	places, marks := make([]int32, 2*n), make([]bool, 2*n)
	return form{
		norm: make([]byte, 0, n),
		raw:  places[:0:n], end: places[n:n],
		begins: marks[:0:n], ends: marks[n:n],
	}
}

// normal returns the normalised form of a value.
func normal(value []byte) form {
	f := newForm(len(value))
	inWord := false
	var buf [utf8.UTFMax]byte
	for i := 0; i < len(value); {
		g := next(value, i)
		switch {
		case g.skip:
		case g.r == 0:
			inWord = false
			f.finish()
		default:
			if g.alone {
				f.finish()
			}
			n := utf8.EncodeRune(buf[:], g.r)
			for k := range n {
				f.norm = append(f.norm, buf[k])
				f.raw = append(f.raw, int32(i))
				f.end = append(f.end, int32(i+g.width))
				f.begins = append(f.begins, k == 0 && (!inWord || g.alone))
				f.ends = append(f.ends, g.alone && k == n-1)
			}
			inWord = !g.alone
		}
		i += g.width
	}
	f.finish()
	return f
}

// finish ends the word at the end of the form.
func (f *form) finish() {
	if n := len(f.ends); n > 0 {
		f.ends[n-1] = true
	}
}
