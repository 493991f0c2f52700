package address

import (
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// accountDigits is how many digits make a number an account, a telephone number or the like; plainDigits, how many a number without
// anything between them may have that is none.
const (
	accountDigits = 7
	plainDigits   = 8
)

var (
	// moments are dates and times, which hold many digits and lead nowhere.
	moments = pattern.New(`\b(?:\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:[Zz]|[+-]\d{2}:\d{2})?)?|` +
		`\d{1,2}[./]\d{1,2}[./]\d{2}(?:\d{2})?|\d{1,2}:\d{2}(?::\d{2})?)\b`)

	// printed are digits as they are printed in groups.
	printed = pattern.New(`\+?\d(?:[ ./()-]{0,3}\d)+`)

	// amounts are numbers with their thousands apart, and those with a fraction.
	amounts = pattern.New(`^[1-9]\d{0,2}(?:\.\d{3}){1,2}$|^\d+\.\d+$`)

	// bank is the form of an IBAN (ISO 13616) as it is printed.
	bank = pattern.New(`(?i)\b[a-z]{2}\d{2}(?:[ ./-]?[a-z0-9]){11,30}\b`)

	// tokens may be wallets, accounts and keys: letters and digits without a break.
	tokens = pattern.New(`[\pL\pN_-]{8,}`)

	// heads are fields that say to whom a mail goes, at the beginning of a line that is not the first (RFC 5322, 3.6; CWE-93).
	// Programs also end lines at separators of Unicode.
	heads = pattern.New(`(?i)[\r\n\v\f\x1c-\x1e\x{85}\x{2028}\x{2029}][ \t]*((?:resent-)?(?:to|cc|bcc|from|sender|reply-to|return-path)|` +
		`(?:disposition-notification|return-receipt|confirm-reading|x-confirm-reading|errors|apparently|mail-reply|mail-followup)-to)[ \t]*:[ \t]*\S`)

	// spelledDots is a name of which the dots are words or stand in brackets.
	spelledDots = pattern.New(`(?i)[a-z0-9-]+(?:(?:\s*[\[({]\s*(?:dot|punkt|point|punto|ponto|\.)\s*[\])}]\s*|\s+(?:dot|punkt|punto|ponto|\.)\s+)[a-z0-9-]+)+`)
	dots        = pattern.New(`(?i)\s*[\[({]\s*(?:dot|punkt|point|punto|ponto|\.)\s*[\])}]\s*|\s+(?:dot|punkt|punto|ponto|\.)\s+`)
)

// accounts adds telephone numbers, accounts and the like, also as they are printed.
func (s *scanner) accounts(folded string) {
	if digits(folded) >= accountDigits { // as each of them has
		s.numbers(folded)
	}
}

// numbers is accounts for a text of any form.
func (s *scanner) numbers(folded string) {
	text := moments().ReplaceAllString(folded, "~")
	for _, m := range bank().FindAllString(text, -1) {
		if name := digitsAndLetters(m); digits(name) > plainDigits && len(name) >= 15 {
			s.add(Place{Account, m, "", name})
		}
	}
	for _, m := range printed().FindAllString(text, -1) {
		n := digits(m)
		plain := n == len(m) || amounts().MatchString(m)
		if n < accountDigits || plain && n <= plainDigits || amounts().MatchString(m) && n <= 9 {
			continue
		}
		s.add(Place{Account, m, "", digitsAndLetters(m)})
	}
	for _, m := range tokens().FindAllString(text, -1) {
		if n := digits(m); n >= accountDigits && n < len(m) {
			s.add(Place{Account, m, "", digitsAndLetters(m)})
		}
	}
}

// headers adds lines that a mail program may take for its own.
func (s *scanner) headers(folded string) {
	if strings.ContainsAny(folded, ":%") {
		s.fields(folded)
	}
}

// fields is headers for a text of any form.
func (s *scanner) fields(folded string) {
	for _, text := range []string{folded, percentDecoded(folded)} {
		for _, m := range heads().FindAllStringSubmatch(text, -1) {
			s.add(Place{Header, strings.TrimLeft(m[0], "\r\n\v\f\x1c\x1d\x1e\u0085\u2028\u2029 \t"), "", ""})
		}
	}
}

// spelled adds names of which the dots are spelled out.
func (s *scanner) spelled(folded string) {
	if strings.ContainsAny(folded, "[({ \t\r\n\f") { // one of which stands before each of these dots
		s.spelledOut(folded)
	}
}

// spelledOut is spelled for a text of any form.
func (s *scanner) spelledOut(folded string) {
	for _, m := range spelledDots().FindAllString(folded, -1) {
		host := Host(dots().ReplaceAllString(m, "."))
		for ; isDomain(host); host = host[:strings.LastIndexByte(host, '.')] {
			if isPublicName(host) {
				s.add(Place{Web, m, host, host})
				break
			}
		}
	}
}

func digits(s string) (n int) {
	for i := range len(s) {
		if '0' <= s[i] && s[i] <= '9' {
			n++
		}
	}
	return n
}

// digitsAndLetters returns a number without separators, which only help readers.
func digitsAndLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" ./()-+", r) {
			return -1
		}
		return r
	}, strings.ToLower(s))
}
