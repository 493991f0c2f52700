package address

import (
	"strings"
)

// schemes are those of which the URL Standard (4.2) has a host follow, however many slashes and backslashes there are; and ftps, which
// programs take alike.
var schemes = map[string]bool{"http": true, "https": true, "ws": true, "wss": true, "ftp": true, "ftps": true}

// plainSchemes are those of which every program contacts the host of the authority, and no other: the rest names no
// second one, as the parameters of a database's URL can. A URL of any other scheme may lead anywhere.
var plainSchemes = map[string]bool{"http": true, "https": true, "ws": true, "wss": true, "ftp": true, "ftps": true, "sftp": true, "ssh": true, "git": true}

// schemeOf cuts a scheme (RFC 3986, 3.1) and its colon off; "" if there is none.
func schemeOf(s string) (scheme, rest string) {
	before, after, ok := strings.Cut(s, ":")
	if !ok || before == "" {
		return "", s
	}
	for i, c := range []byte(strings.ToLower(before)) {
		if c < 'a' || c > 'z' {
			if i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' {
				return "", s
			}
		}
	}
	return strings.ToLower(before), after
}

// cutAuthority cuts a text before the first of the marks.
func cutAuthority(s, marks string) (authority, rest string) {
	if i := strings.IndexAny(s, marks); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// hostPort takes the port off.
func hostPort(s string) (host string, ok bool) {
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") && (strings.HasPrefix(s, "[") || strings.Count(s, ":") == 1) {
		if port := s[i+1:]; len(port) > 5 || strings.Trim(port, "0123456789") != "" {
			return s[:i], false
		}
		s = s[:i]
	}
	return s, s != ""
}

// isOdd reports whether a character is one that some readers trim, drop, fold or turn into a slash.
func isOdd(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }

// URL returns the host of an absolute URL that every reader takes alike; "" if s is none.
func URL(s string) string {
	p, _ := sureURL(s)
	return p.Host
}

// sureURL reads an absolute URL with a host that every reader takes alike.
func sureURL(s string) (Place, bool) {
	if strings.ContainsFunc(s, isOdd) {
		return Place{}, false
	}
	scheme, rest := schemeOf(s)
	rest, ok := strings.CutPrefix(rest, "//")
	if !plainSchemes[scheme] || !ok {
		return Place{}, false
	}
	authority, rest := cutAuthority(rest, "/?#")
	user, host, isUser := strings.Cut(authority, "@")
	if !isUser {
		host, user = authority, ""
	}
	withPort := host
	host, ok = hostPort(host)
	if !ok || strings.ContainsAny(user+host, "%@,;'\"<>{}|^`") || !plainHost(host) {
		return Place{}, false
	}
	canonical := Host(host)
	name := scheme + "://" + strings.TrimSuffix(authority, withPort) + canonical + withPort[len(host):] + rest
	return Place{Web, s, canonical, name}, canonical != ""
}

// plainHost reports whether all readers of a host in ASCII see the same: parts of an address that begin with a zero are octal for some.
func plainHost(host string) bool {
	if _, _, number := Number(strings.ToLower(host)); !number {
		return true
	}
	for p := range strings.SplitSeq(host, ".") {
		if len(p) > 1 && p[0] == '0' && p[1] != 'x' && p[1] != 'X' {
			return false
		}
	}
	return true
}

// sureHost reads a name with dots or an address, with or without a port, a path, a query or a fragment.
func sureHost(s string) (Place, bool) {
	if strings.ContainsFunc(s, isOdd) || strings.ContainsAny(s, "@%") {
		return Place{}, false
	}
	authority, rest := cutAuthority(s, "/?#")
	host, ok := hostPort(authority)
	if !ok || !plainHost(host) || !isDomain(host) && !isAddr(host) {
		return Place{}, false
	}
	canonical := Host(host)
	return Place{Web, s, canonical, canonical + authority[len(host):] + rest}, canonical != ""
}

// isAddr reports whether a host is an address in its usual form.
func isAddr(host string) bool {
	inner, bracketed := strings.CutPrefix(host, "[")
	a, ok := parseAddr(strings.TrimSuffix(inner, "]"))
	return ok && (bracketed || a.Is4())
}

// urlHosts returns the hosts that readers may find in a possible URL: with slashes of either kind and in any number,
// without ignored characters, and with either end of the user's name.
func urlHosts(s string) (hosts []string) {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f {
			return -1
		}
		return r
	}, fold(s))
	for range 4 { // a URL may be in another: jdbc:postgresql://host
		scheme, rest := schemeOf(s)
		slashes := len(rest) - len(strings.TrimLeft(rest, `/\`))
		if scheme == "" && slashes < 2 || scheme != "" && slashes == 0 && !schemes[scheme] {
			if hosts = append(hosts, authorityHosts(s)...); scheme == "" || slashes > 0 {
				break
			}
			s = rest
			continue
		}
		hosts = append(hosts, authorityHosts(strings.TrimLeft(rest, `/\`))...)
		break
	}
	return hosts
}

// authorityHosts returns the possible hosts at the beginning of a text.
func authorityHosts(s string) (hosts []string) {
	for _, marks := range []string{`/\?#`, "/?#", "/"} {
		authority, _ := cutAuthority(s, marks)
		parts := strings.Split(authority, "@")
		for _, part := range []string{parts[0], parts[len(parts)-1], parts[min(1, len(parts)-1)]} {
			for several := range strings.FieldsFuncSeq(part, func(r rune) bool { return r == ',' || r == ';' }) {
				host, _ := hostPort(several)
				if before, _, ok := strings.Cut(host, ":"); ok && !strings.HasPrefix(host, "[") {
					host = before
				}
				if h := Host(host); h != "" {
					hosts = append(hosts, h)
				}
			}
		}
	}
	return hosts
}
