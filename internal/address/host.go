package address

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// longestHost is the most bytes of a host that are looked at: more than any name has (RFC 1035, 2.3.4), even escaped.
const longestHost = 1 << 10

// names maps names to ASCII as browsers do (URL Standard, 3.3: UTS 46 without the checks that DNS does not need).
var names = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false))

// Host returns the one form of all spellings of a host: the ASCII form of a name (UTS 46) in lower case and without a closing dot,
// or an address in its usual form, from any notation of its numbers (URL Standard, 3.5). It is "" of a text that is no
// host.
func Host(raw string) string {
	if inner, ok := strings.CutPrefix(raw, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(strings.ToLower(inner))
		if !ok || err != nil || a.Is4() {
			return ""
		}
		return plainAddr(a)
	}
	if len(raw) > longestHost {
		return ""
	}
	if strings.Contains(raw, ":") {
		if a, ok := parseAddr(raw); ok {
			return plainAddr(a)
		}
	}
	name := percentDecoded(raw)
	if !isASCII(name) || strings.Contains(strings.ToLower(name), "xn--") {
		ascii, err := names.ToASCII(name)
		if err != nil {
			return ""
		}
		name = ascii
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if a, ok, number := Number(name); number {
		if !ok {
			return ""
		}
		return plainAddr(a)
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.ContainsFunc(label, isNoHostByte) {
			return ""
		}
	}
	return name
}

// plainAddr writes an address. One of IPv4 that is wrapped in one of IPv6 is itself; a zone is of this machine only.
func plainAddr(a netip.Addr) string { return a.Unmap().WithZone("").String() }

func isNoHostByte(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Number reads a host that is an IPv4 address by the rules of inet_aton, as the URL Standard (3.5) has them: one to four parts in
// decimal, octal or hexadecimal, of which the last fills the remaining bytes. Number is true of every name that ends in
// a number, for which no reader asks DNS.
func Number(name string) (a netip.Addr, ok, number bool) {
	name = strings.TrimSuffix(name, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	if _, isNumber := part(last); !isNumber && (last == "" || strings.Trim(last, "0123456789") != "") {
		return netip.Addr{}, false, false
	}
	parts := make([]string, 0, 4)
	for p := range strings.SplitSeq(name, ".") {
		if len(parts) == cap(parts) {
			return netip.Addr{}, false, true
		}
		parts = append(parts, p)
	}
	var whole uint64
	for i, p := range parts {
		n, isNumber := part(p)
		room := uint64(256)
		if i == len(parts)-1 {
			room = 1 << (8 * (5 - len(parts)))
		}
		if !isNumber || n >= room {
			return netip.Addr{}, false, true
		}
		if i == len(parts)-1 {
			whole |= n
		} else {
			whole |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(whole >> 24), byte(whole >> 16), byte(whole >> 8), byte(whole)}), true, true
}

// part reads one part of such an address.
func part(s string) (n uint64, ok bool) {
	base, digits, all := 10, s, "0123456789"
	switch {
	case len(s) >= 2 && (s[:2] == "0x" || s[:2] == "0X"):
		base, digits, all = 16, s[2:], "0123456789abcdefABCDEF"
	case len(s) >= 2 && s[0] == '0':
		base, digits, all = 8, s[1:], "01234567"
	}
	if s == "" || strings.Trim(digits, all) != "" {
		return 0, false
	}
	if digits == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(digits, base, 64)
	return n, err == nil
}

// parseAddr reads an IP address in its usual form. Most texts are none, and a look at their bytes takes less time than an error.
func parseAddr(s string) (netip.Addr, bool) {
	if !strings.Contains(s, ":") && strings.Trim(s, "0123456789.") != "" {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(s)
	return a, err == nil
}

// percentDecoded replaces each escape like %41 by its character (RFC 3986, 2.1), once.
func percentDecoded(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// isDomain reports whether a text has the form of a name with dots: labels of letters, digits and hyphens, the last one of
// letters or in the ASCII form of them.
func isDomain(s string) bool {
	if isASCII(s) && !strings.ContainsAny(s, ".%") {
		return false // nor has its host a dot then
	}
	host := Host(s)
	dot := strings.LastIndexByte(host, '.')
	if dot <= 0 {
		return false
	}
	last := host[dot+1:]
	if strings.HasPrefix(last, "xn--") {
		return true
	}
	return len(last) >= 2 && strings.Trim(last, "abcdefghijklmnopqrstuvwxyz") == ""
}

// Within reports whether a host in the form of [Host] is one of the domains or below one. An address is within itself only.
func Within(host string, domains []string) bool {
	for _, d := range domains {
		if d = Host(d); d == "" || host == "" {
			continue
		}
		if host == d {
			return true
		}
		if below, ok := strings.CutSuffix(host, d); ok && strings.HasSuffix(below, ".") {
			if _, isAddress := parseAddr(host); !isAddress {
				return true
			}
		}
	}
	return false
}
