package provenance

import (
	"strings"
	"unicode/utf8"
)

// A value is the text that is traced.
type value struct {
	text []byte
	form
}

// A piece is a part of a value that stands in a source. It is none if end is zero.
type piece struct {
	start, end int   // in the value's normalised form
	from, to   int   // in the value
	at         int   // where it begins in the text of its source
	kinds      Kinds // the kinds of the piece's source
	source     Source
	place      int  // where it was found, in bytes since the shelf was new
	loose      bool // it is not the same text, only the same letters and digits
}

// wordEnd returns where the word ends that begins at i.
func (f *form) wordEnd(i int) int {
	for i < len(f.ends) && !f.ends[i] {
		i++
	}
	return min(i+1, len(f.ends))
}

// verbatim returns the longest piece that begins with the word at i and stands in text at the place byte for byte, and
// for which neither text has it inside of something longer.
func (v *value) verbatim(i int, text []byte, at int) (best piece) {
	from, begin := int(v.raw[i]), at
	for from > 0 && begin > 0 && v.text[from-1] == text[begin-1] && mark(v.text[from-1]) {
		from, begin = from-1, begin-1
	}
	if !opens(v.text, from) || !opens(text, begin) {
		return piece{}
	}
	p, q, k := int(v.raw[i]), at, i
	for p < len(v.text) && q < len(text) && v.text[p] == text[q] {
		p, q = p+1, q+1
		for k < len(v.end) && int(v.end[k]) < p {
			k++
		}
		atEnd := k < len(v.end) && v.ends[k] && int(v.end[k]) <= p && !cutsWord(text, q)
		if atEnd && closes(v.text, p) && closes(text, q) {
			best = piece{start: i, end: k + 1, from: from, to: p, at: begin}
		}
	}
	if all := len(v.norm); int(v.end[all-1]) <= p && p > best.to && skipWhite(v.text, p) == len(v.text) && ended(text, begin, q) {
		best = piece{start: i, end: all, from: from, to: p, at: begin} // with the marks that end it, as the slash of a URL
	}
	return best
}

// similar returns the longest piece that begins at i, has the letters and digits of text at the place, and ends where a
// word ends in both, or else is long enough to stand out inside of words.
func (v *value) similar(i int, text []byte, at int) (best piece) {
	budget := at + 256 + 16*(len(v.text)-int(v.raw[i])) // a bound on skipped characters
	j, end := i, 0
	for p := at; p < min(len(text), budget); {
		g := next(text, p)
		if text[p] == between {
			text = text[:p] // the end of the text of this source
			g = glyph{}
		}
		if !g.skip && (g.r == 0 || g.alone) && j > i && v.ends[j-1] {
			end = j
		}
		if g.r != 0 {
			n := v.has(j, g.r)
			if n == 0 {
				break
			}
			j += n
			if g.alone && v.ends[j-1] {
				end = j
			}
		}
		p += g.width
		if p >= len(text) && v.ends[max(j-1, 0)] {
			end = j
		}
		if j == len(v.norm) && end == j {
			break
		}
	}
	if end == 0 && j-i >= standsOut {
		end = j
	}
	if end <= i {
		return piece{}
	}
	return piece{start: i, end: end, from: int(v.raw[i]), to: int(v.end[end-1]), at: at, loose: true}
}

// standsOut is how many normalised bytes a piece needs to count where it begins or ends inside a word.
const standsOut = 12

// has reports whether the character stands at j of the normalised form: the length of its encoding, or zero.
func (v *value) has(j int, r rune) int {
	if r < utf8.RuneSelf {
		if j < len(v.norm) && v.norm[j] == byte(r) {
			return 1
		}
		return 0
	}
	encoded := string(r)
	if len(v.norm)-j < len(encoded) || string(v.norm[j:j+len(encoded)]) != encoded {
		return 0
	}
	return len(encoded)
}

func white(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func skipWhite(text []byte, i int) int {
	for i < len(text) && white(text[i]) {
		i++
	}
	return i
}

// mark reports whether a byte is visible and neither letter nor digit.
func mark(c byte) bool { return c > ' ' && fold[c] <= special && c < 0x7F }

func alnum(c byte) bool { return fold[c] > special || c >= 0x80 }

// cutsWord reports whether a word goes on at i.
func cutsWord(text []byte, i int) bool {
	return i < len(text) && i > 0 && alnum(text[i-1]) && alnum(text[i])
}

// opens reports whether something may begin at i that is not the rest of a longer name, address or number.
func opens(text []byte, i int) bool {
	if i == 0 {
		return true
	}
	switch c := text[i-1]; c {
	case '.', '_', '-', '/', '+', '%', '=', '&', '?', '~', '\\':
		return false
	case '@':
		return i == 1 || white(text[i-2]) // a mention, not the host of an address
	default:
		return !alnum(c)
	}
}

// closes reports whether something may end at i that is not the beginning of a longer name, address or number.
func closes(text []byte, i int) bool {
	if i >= len(text) {
		return true
	}
	after := i+1 < len(text) && (alnum(text[i+1]) || strings.IndexByte("*([{$%_/", text[i+1]) >= 0)
	switch c := text[i]; c {
	case '/', '@', '_', '%', '=', '&', '\\', '+', '~':
		return false
	case '.', '-', ',', ':', '?', '#', '\'':
		return !after || (c == '\'' && i+2 < len(text) && !alnum(text[i+2])) || (c == '\'' && i+2 == len(text))
	default:
		return !alnum(c)
	}
}

// pairs are the signs that end what the sign before them began.
var pairs = map[byte]byte{'"': '"', '\'': '\'', '`': '`', '(': ')', '[': ']', '{': '}', '<': '>'}

// ended reports whether a name that begins at begin and ends in marks ends at i, and no pattern such as logs/*.gz goes on: with the text, before
// white space, at the end of a sentence, or at the quote or bracket that was opened right before the name.
func ended(text []byte, begin, i int) bool {
	if i < len(text) && begin > 0 && pairs[text[begin-1]] == text[i] {
		return true
	}
	for i < len(text) && strings.IndexByte(`.,;:!)'">`, text[i]) >= 0 {
		i++
	}
	return i >= len(text) || white(text[i]) || text[i] == between
}
