package address

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold returns a text as programs that take digits and dots of all scripts read it.
func Fold(s string) string { return fold(s) }

// fold returns a text as IDNA and readers with good will see it: in compatible forms (UAX 15), digits of all scripts as those of ASCII, the
// four dots of IDNA as one (RFC 3490, 3.1), without invisible characters.
func fold(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u3002':
			return '.'
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector) || r == '\u034f' || r == '\u115f' || r == '\u3164':
			return -1
		case r >= 0x80 && unicode.Is(unicode.Nd, r):
			return '0' + digitOf(r)
		case r == '\u2010' || r == '\u2011' || r == '\u2012' || r == '\u2013' || r == '\u2014' || r == '\u2212':
			return '-'
		}
		return r
	}, norm.NFKC.String(s))
}

// digitOf returns the value of a decimal digit: those of one script stand in a row that begins with zero.
func digitOf(r rune) rune {
	zero := r
	for zero > 0 && r-zero < 9 && unicode.Is(unicode.Nd, zero-1) {
		zero--
	}
	return r - zero
}
