package guard

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a small value.
const (
	smallText   = 8 // characters
	smallNumber = 8 // digits
)

// dates are the forms of dates and times that count as small.
var dates = []string{
	time.DateOnly, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339, "15:04", "15:04:05",
}

// small reports whether a value is too small to carry much: a truth value, a number of few digits, a date or time, or a
// text of few characters.
func small(text string) bool {
	if utf8.RuneCountInString(text) <= smallText || text == "false" {
		return true
	}
	digits, dots, others := 0, 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '.':
			dots++
		case c != '-':
			others++
		}
	}
	if others == 0 && digits <= smallNumber && dots <= 1 && strings.LastIndexByte(text, '-') <= 0 {
		return true
	}
	if len(text) > len("2006-01-02T15:04:05+07:00") || text[0] < '0' || text[0] > '9' {
		return false
	}
	for _, layout := range dates {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

// hostOf returns the host of a URL, or the domain of a mail address, in lower case; "" of anything else.
func hostOf(text string) string {
	rest, _ := strings.CutPrefix(strings.TrimSpace(text), "mailto:")
	at := strings.LastIndexByte(rest, '@')
	if at > 0 && isDomain(rest[at+1:]) && !strings.ContainsAny(rest[:at], `/\?#:`) { // else it may be a URL of another host
		return strings.ToLower(rest[at+1:])
	}
	return siteOf(text)
}

// isDomain reports whether a text has the form of a domain name: labels of letters, digits and hyphens, the last one of
// letters.
func isDomain(s string) bool {
	if len(s) > 253 || strings.IndexByte(s, '.') < 0 {
		return false
	}
	labels := strings.Split(s, ".")
	for i, label := range labels {
		letters := 0
		for _, c := range []byte(strings.ToLower(label)) {
			switch {
			case 'a' <= c && c <= 'z', c >= utf8.RuneSelf:
				letters++
			case '0' <= c && c <= '9' || c == '-':
			default:
				return false
			}
		}
		if label == "" || (i == len(labels)-1 && (letters < 2 || letters != len(label))) {
			return false
		}
	}
	return true
}

// within reports whether a host is one of the domains or below one.
func within(host string, domains []string) bool {
	for _, d := range domains {
		if host == d || strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return false
}

// accountDigits is how many digits make a token an account, a telephone number or the like.
const accountDigits = 7

// addresses returns what in a text leads somewhere: links, addresses, accounts.
func addresses(text string) (found []string) {
	tokens := strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`<>()[]{},;|*", r) })
	for _, token := range tokens {
		token = strings.Trim(token, ".:!?")
		digits := 0
		for i := range len(token) {
			if '0' <= token[i] && token[i] <= '9' {
				digits++
			}
		}
		if strings.Contains(token, "://") || strings.Contains(token, "@") || hostOf(token) != "" || (digits >= accountDigits && !small(token)) {
			found = append(found, token)
		}
	}
	return found
}
