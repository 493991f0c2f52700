// Package plain shows text of other people and programs, so that it can neither hide anything nor pass for another
// text: every character that does not print as itself becomes visible, and a long text is cut in the middle.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s in about limit characters, or all of it if limit is 0, and escapes characters that do not print as
// themselves: control characters, line breaks, bidirectional and zero-width characters and unusual spaces as \u{hex},
// bytes that are not UTF-8 as \xhex. It also escapes letters that could pass for an ASCII letter: see imitates. The
// result is one line.
func Text(s string, limit int) string {
	s = Cut(s, limit)
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	alike, n := imitates([]rune(s)), -1
	for i, r := range s {
		n++
		if _, size := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else if printsAsItself(r) && (alike == nil || !alike[n]) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// Cut returns s in about limit characters, or all of it if limit is 0: a longer text is cut in the middle, with how
// much is missing. Nothing else of it changes: it is not fit to be shown.
func Cut(s string, limit int) string {
	n := utf8.RuneCountInString(s)
	if limit <= 0 || n <= limit {
		return s
	}
	head, tail := limit*2/3, limit/3
	return firstRunes(s, head) + fmt.Sprintf(" […%d characters…] ", n-head-tail) + lastRunes(s, tail)
}

// Quote returns s as Text does, in quotation marks.
func Quote(s string, limit int) string {
	return `"` + strings.ReplaceAll(Text(s, limit), `"`, `\"`) + `"`
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func printsAsItself(r rune) bool {
	return r == ' ' || unicode.IsPrint(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && !unicode.Is(unicode.Variation_Selector, r)
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

func lastRunes(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}
