package detect

import "bytes"

// The kinds of numbers.
const (
	paymentCard = "payment-card"
	bankAccount = "iban"
)

// numbers looks for card numbers, bank accounts and addresses, at every group of two digits or more.
func numbers(w *scan, v *view) {
	text := v.text
	for start := twoDigits(text, 0); start >= 0; {
		end := start + 2
		for end < len(text) && isDigit(text[end]) {
			end++
		}
		digitGroup(w, v, start, end)
		start = twoDigits(text, end)
	}
}

// digitGroup looks at a group of digits. Its size and its neighbours tell most of them.
func digitGroup(w *scan, v *view, start, end int) {
	text, n, before, after := v.text, end-start, byte(0), byte(0)
	if start > 0 {
		before = text[start-1]
	}
	if end < len(text) {
		after = text[end]
	}
	if n >= 13 || n == 4 && (after == ' ' || after == '-') {
		if m, ok := cardAt(text, start, n); ok {
			w.judge(v, w.s.rule(paymentCard), m)
		}
	}
	if isUpper(before) {
		if m, ok := accountAt(text, start); ok {
			w.judge(v, w.s.rule(bankAccount), m)
		}
	}
	if n <= 3 && after == '.' {
		if m, ok := addressAt(text, start, n); ok {
			w.judge(v, w.s.rule(ipAddress), m)
		}
	}
	if n == 2 && (before == ':' || before == '-' || after == ':' || after == '-') {
		if m, ok := machineAt(text, start); ok {
			w.judge(v, w.s.rule(macAddress), m)
		}
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// rule returns the rule of a kind.
func (s *Scanner) rule(kind Kind) *Rule {
	for i := range s.rules {
		if s.rules[i].Kind == kind {
			return &s.rules[i]
		}
	}
	return nil
}

// cardAt reads a card number, in one piece or in the groups in which cards show it, from the group of n digits at
// start. Numbers in paths and assignments, as in URIs, are ids unless the name before them speaks of cards.
func cardAt(text []byte, start, n int) (m match, ok bool) {
	named := start > 0 && (text[start-1] == '=' || text[start-1] == '/') && namesCard(text[max(0, start-48):start-1])
	if start > 0 && !named && (wordByte[text[start-1]] || bytes.IndexByte([]byte(".-_+/="), text[start-1]) >= 0) {
		return m, false
	}
	var digits [19]byte
	size, end := 0, start
	grouped := n == 4 && start+4 < len(text) && (text[start+4] == ' ' || text[start+4] == '-')
	for end < len(text) && size < len(digits) {
		c := text[end]
		if isDigit(c) {
			digits[size] = c - '0'
			size++
		} else if !grouped || c != text[start+4] || end+1 >= len(text) || !isDigit(text[end+1]) {
			break
		}
		end++
	}
	if end < len(text) && (wordByte[text[end]] || bytes.IndexByte([]byte("-_+/="), text[end]) >= 0 && !(named && text[end] == '/') ||
		text[end] == '.' && end+1 < len(text) && isDigit(text[end+1])) {
		return m, false
	}
	number := digits[:size]
	if !issued(number) || !luhn(number) || exampleCard(number) || grouped && (!inGroups(text[start:end]) || listed(text, start, end)) {
		return m, false
	}
	m = match{start: start, end: end, secret: start, last: end, confidence: Medium}
	if grouped || named || nearCard(text[max(0, start-48):start]) {
		m.confidence = High
	} else if size > 16 || size == 13 {
		return m, false
	}
	return m, true
}

// inGroups reports whether digits stand in groups of four, of which the last may be shorter or longer, or as American
// Express and Diners Club write them.
func inGroups(text []byte) bool {
	sizes, n := "", byte(0)
	for _, c := range append(text[:len(text):len(text)], ' ') {
		if isDigit(c) {
			n++
			continue
		}
		sizes += string('0' + rune(n))
		n = 0
	}
	switch sizes {
	case "4444", "465", "464", "44443":
		return true
	}
	return false
}

// listed reports whether digits in groups are part of a longer list of such groups, as of hexadecimal numbers.
func listed(text []byte, start, end int) bool {
	group := func(g []byte) bool {
		for _, c := range g {
			if digitOf[c] > 15 {
				return false
			}
		}
		return len(g) == 4
	}
	return start >= 5 && group(text[start-5:start-1]) || end+5 <= len(text) && group(text[end+1:end+5])
}

// issued reports whether a card number begins as an issuer's does and is as long (ISO/IEC 7812).
func issued(d []byte) bool {
	if len(d) < 13 {
		return false
	}
	two, three, four := int(d[0])*10+int(d[1]), 0, 0
	three = two*10 + int(d[2])
	four = three*10 + int(d[3])
	switch n := len(d); {
	case d[0] == 4: // Visa
		return n == 13 || n == 16 || n == 19
	case 51 <= two && two <= 55, 2221 <= four && four <= 2720: // Mastercard
		return n == 16
	case two == 34, two == 37: // American Express
		return n == 15
	case two == 36, two == 38, two == 39, 300 <= three && three <= 305: // Diners Club
		return n == 14
	case four == 6011, 644 <= three && three <= 649, two == 65, two == 62, 3528 <= four && four <= 3589: // Discover, UnionPay, JCB
		return n >= 16
	}
	return false
}

// luhn checks the last digit (ISO/IEC 7812-1, annex B).
func luhn(d []byte) bool {
	sum := 0
	for i := range d {
		n := int(d[len(d)-1-i])
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

// exampleCard reports whether a number is one of those that payment services publish for tests, which repeat few
// digits.
func exampleCard(d []byte) bool {
	var counts [10]int
	most := 0
	for _, c := range d {
		counts[c]++
		most = max(most, counts[c])
	}
	if 2*most >= len(d) {
		return true
	}
	known := []string{"378282246310005", "371449635398431", "378734493671000", "30569309025904", "38520000023237", "3530111333300000",
		"5105105105105100",
		"4012888888881881", "6011000990139424", "5200828282828210", "2223003122003222", "6011111111111117", "4917610000000000"}
	for _, k := range known {
		if len(k) != len(d) {
			continue
		}
		same := true
		for i := range d {
			same = same && k[i]-'0' == d[i]
		}
		if same {
			return true
		}
	}
	return false
}

// nearCard reports whether the text before a number speaks of cards.
func nearCard(before []byte) bool {
	folded := bytes.ToLower(before)
	for _, word := range []string{"card", "visa", "amex", "american express", "diners", "credit", "debit", "carte", "karte", "tarjeta"} {
		if bytes.Contains(folded, []byte(word)) {
			return true
		}
	}
	return false
}

// cardNames are words for cards and their numbers, as the names of parameters and the segments of paths have them.
var cardNames = map[string]bool{
	"card": true, "cards": true, "cardnumber": true, "cardno": true, "cardnum": true, "creditcard": true, "creditcards": true, "debitcard": true,
	"paymentcard": true, "pan": true, "cc": true, "ccn": true, "ccnum": true, "ccnumber": true, "visa": true, "mastercard": true, "amex": true,
	"carte": true, "karte": true, "kreditkarte": true, "tarjeta": true,
}

// namesCard reports whether the name at the end of a text has a word for cards. Words of a name begin with a capital
// letter or behind a mark.
func namesCard(text []byte) bool {
	text = bytes.TrimRight(text, `\ `) // of "\/" in JSON, and before a "="
	from := len(text)
	for from > 0 && (wordByte[text[from-1]] || bytes.IndexByte([]byte("-_.[]%"), text[from-1]) >= 0) {
		from--
	}
	for i := from; i <= len(text); i++ {
		ends := i == len(text) || !isLetter(text[i])
		if !ends && (i == from || !isUpper(text[i]) || isUpper(text[i-1])) {
			continue
		}
		if cardNames[string(bytes.ToLower(text[from:i]))] {
			return true
		}
		if from = i; ends {
			from++
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || isUpper(c) }

// accountAt reads an IBAN (ISO 13616) whose check digits stand at a place.
func accountAt(text []byte, digits int) (m match, ok bool) {
	start := digits - 2
	if start < 0 || !isUpper(text[start]) || !isUpper(text[start+1]) || start > 0 && wordByte[text[start-1]] {
		return m, false
	}
	size := accountSize(string(text[start:digits]))
	n, end := 0, start
	for end < len(text) && n < size {
		switch c := text[end]; {
		case isDigit(c), isUpper(c):
		case c == ' ' && n%4 == 0:
			end++
			continue
		default:
			return m, false
		}
		n++
		end++
	}
	if size == 0 || n < size || end < len(text) && wordByte[text[end]] {
		return m, false
	}
	return match{start: start, end: end, secret: start, last: end, confidence: High}, checkDigits(text[start:end])
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// checkDigits checks an IBAN by ISO 7064, MOD 97-10: the first four characters count as the last.
func checkDigits(account []byte) bool {
	plain := bytes.ReplaceAll(account, []byte{' '}, nil)
	rest := 0
	for i := range plain {
		if c := plain[(i+4)%len(plain)]; isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest == 1
}

// accountSize returns how many characters an IBAN of a country has, by the registry of SWIFT; 0 if it has none.
func accountSize(country string) int {
	const sizes = "" +
		"AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 " +
		"EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 " +
		"IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 " +
		"NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 " +
		"SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
	for i := 0; i+4 <= len(sizes); i += 5 {
		if sizes[i:i+2] == country {
			return int(sizes[i+2]-'0')*10 + int(sizes[i+3]-'0')
		}
	}
	return 0
}
