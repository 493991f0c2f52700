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
	if isPlain(s) {
		return Cut(s, limit)
	}
	return shown(s, limit, "")
}

// shown returns s as Text does, with a backslash before each of the escaped characters. The length of escapes counts,
// too: text of characters that do not print cannot push other text out of sight.
func shown(s string, limit int, escaped string) string {
	head, tail, missing := s, "", 0
	if n := utf8.RuneCountInString(s); limit > 0 && n > limit {
		head, tail = firstRunes(s, limit*2/3), lastRunes(s, limit/3)
		missing = n - limit*2/3 - limit/3
	}
	first, last := pieces(head, escaped), pieces(tail, escaped)
	if limit > 0 && width(first)+width(last) > 2*limit {
		if last == nil {
			first, last = first[:len(first)*2/3], first[len(first)*2/3:]
		}
		all := len(first) + len(last)
		for width(first) > limit*4/3 {
			first = first[:len(first)-1]
		}
		for width(last) > limit*2/3 {
			last = last[1:]
		}
		missing += all - len(first) - len(last)
	}
	if missing == 0 {
		return strings.Join(first, "")
	}
	return strings.Join(first, "") + fmt.Sprintf(" […%d characters…] ", missing) + strings.Join(last, "")
}

// pieces returns each character of s as it is shown.
func pieces(s, escaped string) (all []string) {
	alike, n := imitates([]rune(s)), -1
	for i, r := range s {
		n++
		switch _, size := utf8.DecodeRuneInString(s[i:]); {
		case r == utf8.RuneError && size == 1:
			all = append(all, fmt.Sprintf(`\x%02x`, s[i]))
		case !printsAsItself(r) || alike != nil && alike[n]:
			all = append(all, fmt.Sprintf(`\u{%x}`, r))
		case strings.ContainsRune(escaped, r):
			all = append(all, `\`+string(r))
		default:
			all = append(all, string(r))
		}
	}
	return all
}

func width(pieces []string) (n int) {
	for _, p := range pieces {
		n += utf8.RuneCountInString(p)
	}
	return n
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

// Quote returns s as Text does, in quotation marks. Quotation marks and backslashes in it have a backslash before them.
func Quote(s string, limit int) string {
	return `"` + shown(s, limit, `"\`) + `"`
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
	const blankBraille = 0x2800 // has no ink, and is no blank to Unicode
	unseen := r == blankBraille || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r)
	return r == ' ' || unicode.IsPrint(r) && !unseen
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
