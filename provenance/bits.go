package provenance

import (
	"iter"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// Bits are code lengths: how many bits a value takes in a code that can tell each from any other. By Kraft's inequality
// the shares 2^-bits of all values are at most one together, so no more than 2^n rows of values have n bits, and
// whoever is given one of these learns at most n bits.
//
// A value is a copy of one piece that a source holds word for word (wholeBits, where it is and how long), or a row of
// tokens (rowBits): signs of ASCII (8 bits each), any other characters (23), copies (copyBits for each of the two
// sources, the user and the data), and the end (3). 128/2^8, 1114112/2^23, 2/2^4 and 1/2^3 are less than one together.
// A value that is a sentence, with a capital at its beginning or a full stop at its end, may be told as the text
// without these (sentenceBits): there are three forms of sentences. The rest of the code is for who knows more of the
// value's form.
const (
	wholeBits = 3
	rowBits   = 2
	asciiBits = 8
	otherBits = 23
	copyBits  = 4
	endBits   = 3

	sentenceBits    = 4
	longestSentence = 1 << 10 // bytes; a longer text has too many bits anyway
)

// sentences yields the texts that a sentence may have been before it got its capital and its full stop.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(text) > longestSentence || !strings.Contains(text, " ") && !isWord(text) {
			return
		}
		small, stopped := text, strings.TrimSuffix(text, ".")
		if first := text[0]; 'A' <= first && first <= 'Z' {
			small = string(first+'a'-'A') + text[1:]
		}
		if small != text && !yield(small) || stopped != text && !yield(stopped) {
			return
		}
		if small != text && stopped != text {
			yield(small[:len(stopped)])
		}
	}
}

// isWord reports whether a text is one word of Latin letters.
func isWord(text string) bool {
	return text != "" && strings.IndexFunc(text, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' }) < 0
}

// letters returns the bits of a text that is written sign by sign.
func letters(text []byte) (n int) {
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			n += asciiBits
			i++
			continue
		}
		_, size := utf8.DecodeRune(text[i:])
		n += otherBits
		i += size
	}
	return n
}

// A price is the cost of a row of tokens up to a place in the value.
type price struct {
	bits int // so far
	to   int // the end of the last copy in the value

	whole int // as one copy; zero if it is none
}

// pointer returns the bits of a place among so many, and of a length in words (in the gamma code of Elias) with or
// without the marks around it.
func pointer(places, words int) int { return bits.Len(uint(places)) + 2*bits.Len(uint(words)) + 1 }

// pay adds a copy of the piece, with the text between it and the last one, if that is cheaper than its letters.
func (p *price) pay(v *value, from, to, pointer int) {
	if from < p.to {
		return
	}
	if from == 0 && to == len(v.text) {
		p.whole = wholeBits + pointer
	}
	p.bits += letters(v.text[p.to:from]) + min(copyBits+pointer, letters(v.text[from:to]))
	p.to = to
}

func (p *price) total(v *value) int {
	row := rowBits + p.bits + letters(v.text[p.to:]) + endBits
	if p.whole > 0 {
		return min(p.whole, row)
	}
	return row
}

// words counts the words of a piece.
func (v *value) words(p piece) (n int) {
	for i := p.start; i < p.end; i++ {
		if v.ends[i] {
			n++
		}
	}
	return max(n, 1)
}

// A bill has the prices of a value for a receiver who does not know the untrusted content, and for one who does.
type bill struct{ hidden, known price }

// take adds a piece, if a copy of it can be told by where it stands.
func (b *bill) take(x *Index, v *value, p piece) {
	if p.loose || p.kinds&(Private|Novel) != 0 {
		return
	}
	at := pointer(len(x.data.text), v.words(p))
	if p.kinds == User {
		at = pointer(x.user.words, v.words(p))
	}
	if p.kinds&Untrusted == 0 {
		b.hidden.pay(v, p.from, p.to, at)
	}
	b.known.pay(v, p.from, p.to, at)
}
