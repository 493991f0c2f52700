package detect

import (
	"unicode"
	"unicode/utf8"
)

// Sizes of hidden text, in characters.
const (
	fewTags      = 8  // such as a flag has
	manySigns    = 12 // without a shape in a row, which can only be a code
	fewSelectors = 4  // of variation in a row
	manySplits   = 3  // words with characters inside that do not show
)

// hiddenAt looks at a run of characters that do not show.
func (r *reading) hiddenAt(start int) {
	if start < r.hidden {
		return
	}
	tags, selectors, signs, end := 0, 0, 0, start
	for end < len(r.text) {
		c, n := utf8.DecodeRune(r.text[end:])
		if !shapeless(c) {
			break
		}
		switch {
		case 0xe0000 <= c && c <= 0xe007f:
			tags++
		case 0xe0100 <= c && c <= 0xe01ef:
			selectors++
		}
		signs++
		end += n
	}
	r.hidden = end
	switch {
	case tags >= fewTags, selectors >= fewSelectors, signs >= manySigns:
		r.say(hiddenRun, start, end)
	case start > 0 && end < len(r.text) && latin(r.text[start-1]) && latin(r.text[end]):
		if r.splits++; r.splits >= manySplits {
			r.say(splitWords, start, end)
		}
	}
}

// shapeless reports whether a character does not show.
func shapeless(r rune) bool {
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// latin reports whether a byte is an ASCII letter: in other scripts, joiners inside of words have a meaning.
func latin(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }
