package detect

import (
	"bytes"
	"unicode/utf8"
)

// Kinds of numbers of machines.
const (
	ipAddress  = "ip-address"
	macAddress = "mac-address"
)

// Sizes of mail addresses and phone numbers.
const (
	mostLocal  = 64
	mostDomain = 253
	mostPhone  = 28
)

// localByte are the bytes of mail addresses before the sign.
var localByte = func() set {
	s := setOf("azAZ09")
	for _, c := range "._%+-" {
		s[c] = true
	}
	return s
}()

// findMail finds the mail address whose sign stands from start to end.
func findMail(_ *scan, v *view, start, end int) (m match, ok bool) {
	text := v.text
	from, last := start, end
	for from > 0 && start-from < mostLocal && localByte[text[from-1]] {
		from--
	}
	for last < len(text) && last-end < mostDomain && (wordByte[text[last]] && text[last] != '_' || text[last] == '-' || text[last] == '.') {
		last++
	}
	for last > end && (text[last-1] == '.' || text[last-1] == '-') {
		last--
	}
	local, domain := text[from:start], text[end:last]
	dot := bytes.LastIndexByte(domain, '.')
	if len(local) == 0 || local[0] == '.' || dot < 1 || isDigit(domain[0]) || !lettersOnly(domain[dot+1:]) || len(domain)-dot < 3 {
		return m, false
	}
	local, domain = bytes.ToLower(local), bytes.ToLower(domain)
	url := from > 1 && string(text[from-2:from]) == "//"
	if url || nobody(local) || reserved(domain, domain[dot+1:]) {
		return m, false
	}
	return match{start: from, end: last, secret: from, last: last, confidence: Medium}, true
}

func lettersOnly(text []byte) bool {
	for _, c := range text {
		if !latin(c) {
			return false
		}
	}
	return true
}

// nobody reports whether the part of a mail address before the sign is of a role or a program, and of no person.
func nobody(local []byte) bool {
	local, _, _ = bytes.Cut(local, []byte{'+'})
	for _, role := range [...]string{
		"noreply", "no-reply", "no_reply", "donotreply", "do-not-reply", "notifications", "git", "info", "support", "admin",
		"help", "contact", "sales", "security", "postmaster", "webmaster", "abuse", "hello", "team", "root", "user", "username",
		"you", "me", "name", "office", "hostmaster", "mailer-daemon", "service", "billing", "press", "jobs", "privacy", "legal",
		"dev", "list", "lists", "announce", "bugs", "feedback", "opensource", "conduct", "foo", "bar", "test", "email", "mail",
		"someone", "john.doe", "jane.doe",
	} {
		if string(local) == role {
			return true
		}
	}
	return false
}

// reserved reports whether a domain is kept for examples (RFC 2606), of this machine, or the name of a file.
func reserved(domain, top []byte) bool {
	for _, name := range [...]string{"example.com", "example.org", "example.net", "users.noreply.github.com", "domain.com", "email.com", "company.com"} {
		if string(domain) == name || bytes.HasSuffix(domain, []byte("."+name)) {
			return true
		}
	}
	for _, name := range [...]string{
		"example", "test", "invalid", "localhost", "local", "internal", "lan", "png", "jpg", "jpeg", "gif", "svg", "webp", "js",
		"ts", "css", "py", "go", "json", "html", "md", "txt", "so", "service",
	} {
		if string(top) == name {
			return true
		}
	}
	return false
}

// findPhone finds the phone number behind a plus sign, or behind a word for one that stands from start to end.
func findPhone(_ *scan, v *view, start, end int) (m match, ok bool) {
	text := v.text
	if start > 0 && wordByte[text[start-1]] {
		return m, false
	}
	from, least := start, 9
	if text[start] != '+' {
		if from, ok = mentioned(text, end); !ok || from == len(text) || text[from] == '+' {
			return m, false
		}
		least = 8
	}
	last, digits, groups := dialled(text, from)
	if len(digits) < least || len(digits) > 15 || last < len(text) && wordByte[text[last]] || !differ(digits) {
		return m, false
	}
	if text[start] == '+' && !dials(digits) || text[start] != '+' && (groups < 2 && digits[0] != 0 || groups == 3 && len(digits) == 8) {
		return m, false
	}
	return match{start: from, end: last, secret: from, last: last, confidence: Medium}, true
}

// dialled reads the digits of a phone number in groups, from a place on.
func dialled(text []byte, from int) (last int, digits []int, groups int) {
	last = from
	gap := 2 // bytes between groups
	for i := from; i < min(len(text), from+mostPhone); i++ {
		c := text[i]
		switch {
		case isDigit(c):
			if gap > 0 {
				groups++
			}
			digits, last, gap = append(digits, int(c-'0')), i+1, 0
		case c == '+' && i == from:
		case bytes.IndexByte([]byte(" -./()"), c) >= 0 && gap < 3:
			gap++
		default:
			return last, digits, groups
		}
	}
	return last, digits, groups
}

// dials reports whether an international number begins with the code of a country, and is no number of a film.
func dials(d []int) bool {
	two := d[0]*10 + d[1]
	switch d[0] {
	case 0:
		return false
	case 1: // North America: the area and the exchange begin with 2 to 9
		return len(d) == 11 && d[1] >= 2 && d[4] >= 2 && numberOf(d[4:9]) != 55501
	case 7:
		return len(d) == 11
	case 2:
		return two != 28
	case 8:
		return two != 83 && two != 89
	}
	return true
}

// mentioned returns where the value begins that follows its name, which ends at end.
func mentioned(text []byte, end int) (from int, ok bool) {
	i := skip(text, end, 2, plural)
	if i < len(text) && (fringe[text[i]]&blanks != 0 || text[i] == '_' || text[i] >= utf8.RuneSelf) {
		for _, word := range [...]string{" number", " no.", " nr.", " no", " nr", " is", "_number", "号", "번호는"} {
			if n := len(word); i+n <= len(text) && equal(text[i:i+n], word, true) {
				i += n
				break
			}
		}
	}
	from = skip(text, i, 6, between)
	return from, from > i
}

// addressAt reads an IPv4 address of the public network that begins with the n digits at start.
func addressAt(text []byte, start, n int) (m match, ok bool) {
	if n > 3 || start > 0 && (wordByte[text[start-1]] || bytes.IndexByte([]byte(".-:/"), text[start-1]) >= 0 && text[start-1] != '/') {
		return m, false
	}
	var parts [4]int
	at := start
	for i := range parts {
		from := at
		for at < len(text) && at-from < 3 && isDigit(text[at]) {
			parts[i] = parts[i]*10 + int(text[at]-'0')
			at++
		}
		if at == from || parts[i] > 255 || at-from > 1 && text[from] == '0' {
			return m, false
		}
		if i < 3 {
			if at == len(text) || text[at] != '.' {
				return m, false
			}
			at++
		}
	}
	if at < len(text) && (wordByte[text[at]] || text[at] == '.' && at+1 < len(text) && isDigit(text[at+1])) || !public(parts) {
		return m, false
	}
	return match{start: start, end: at, secret: start, last: at, confidence: Low}, true
}

// public reports whether an address is of no special purpose (RFC 6890).
func public(p [4]int) bool {
	switch {
	case p[0] == 0, p[0] == 10, p[0] == 127, p[0] >= 224, p[0] == 169 && p[1] == 254, p[0] == 172 && p[1]&0xf0 == 16,
		p[0] == 192 && (p[1] == 168 || p[1] == 0), p[0] == 100 && p[1]&0xc0 == 64,
		p[0] == 198 && (p[1]&0xfe == 18 || p[1] == 51 && p[2] == 100), p[0] == 203 && p[1] == 0 && p[2] == 113:
		return false
	}
	return p[3] != 0
}

// machineAt reads the MAC address that a group of two digits at start is of.
func machineAt(text []byte, start int) (m match, ok bool) {
	end := start + 2
	pair := func(at int) bool {
		return at >= 0 && at+2 <= len(text) && digitOf[text[at]] <= 15 && digitOf[text[at+1]] <= 15
	}
	sign := byte(0)
	joint := func(at int) bool {
		if at < 0 || at >= len(text) || text[at] != ':' && text[at] != '-' || sign != 0 && text[at] != sign {
			return false
		}
		sign = text[at]
		return true
	}
	from, groups := start, 1
	for groups < 7 && joint(from-1) && pair(from-3) {
		from, groups = from-3, groups+1
	}
	for groups < 7 && joint(end) && pair(end+1) {
		end, groups = end+3, groups+1
	}
	more := func(at int) bool { return at >= 0 && at < len(text) && (wordByte[text[at]] || text[at] == sign) }
	if groups != 6 || more(from-1) || more(end) {
		return m, false
	}
	return match{start: from, end: end, secret: from, last: end, confidence: Low}, true
}
