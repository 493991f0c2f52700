package expression

import (
	"net/netip"
	"net/url"
	"path"
	"strings"
)

// PathUnder is path.under: whether p is the directory dir or inside it, by its text alone. Dots are resolved first, so no ..
// leads out; links are not looked at. A relative path is inside a relative directory only. A backslash parts names in some
// systems and is a letter in others: p has to be inside by both readings, unless dir is written in the way of Windows.
func PathUnder(p, dir string) bool {
	if p == "" || dir == "" || strings.ContainsRune(p, 0) {
		return false
	}
	windows := strings.Contains(dir, `\`) || hasDrive(dir)
	if !windows && !under(p, dir) {
		return false
	}
	if !windows && !strings.Contains(p, `\`) {
		return true
	}
	return under(strings.ReplaceAll(p, `\`, "/"), strings.ReplaceAll(dir, `\`, "/"))
}

func under(p, dir string) bool {
	p, dir = path.Clean(p), path.Clean(dir)
	switch {
	case path.IsAbs(p) != path.IsAbs(dir) || hasDrive(p) != hasDrive(dir):
		return false
	case dir == "/":
		return true
	case dir == ".":
		return p != ".." && !strings.HasPrefix(p, "../")
	case dir == ".." || strings.HasPrefix(dir, "../"):
		return false
	}
	return p == dir || strings.HasPrefix(p, dir+"/")
}

// hasDrive reports whether the path begins with the letter of a drive.
func hasDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z'
}

// PathExt is path.ext: the extension of the last name in p with its dot, in lower case; "" if it has none.
func PathExt(p string) string {
	name := p[strings.LastIndexAny(p, `/\`)+1:]
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return strings.ToLower(name[i:])
	}
	return ""
}

// parseURL reads an absolute URL that every reader takes alike: nothing that some would trim, fold or turn into a slash.
func parseURL(s string) (*url.URL, bool) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return nil, false
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Opaque != "" {
		return nil, false
	}
	host := u.Hostname()
	if host == "" || strings.ContainsFunc(host, func(r rune) bool { return r > 0x7e || r == '%' }) {
		return nil, false
	}
	return u, true
}

// URLHost is url.host: the host of an absolute URL without its port, in lower case and without a closing dot; "" if there is
// none or if two readers of the URL could see different ones.
func URLHost(s string) string {
	u, ok := parseURL(s)
	if !ok {
		return ""
	}
	return normalHost(u.Hostname())
}

// URLScheme is url.scheme: the scheme of an absolute URL in lower case; "" if s is none.
func URLScheme(s string) string {
	u, ok := parseURL(s)
	if !ok {
		return ""
	}
	return strings.ToLower(u.Scheme)
}

// URLPath is url.path: the path of an absolute URL, decoded and with its dots resolved, "/" at least; "" if s is no such URL.
func URLPath(s string) string {
	u, ok := parseURL(s)
	if !ok {
		return ""
	}
	return path.Clean("/" + u.Path)
}

func normalHost(h string) string { return strings.ToLower(strings.TrimSuffix(h, ".")) }

// HostWithin is host.within: whether host is the domain or below it. An address in numbers is within itself only.
func HostWithin(host, domain string) bool {
	host, domain = normalHost(host), normalHost(domain)
	if host == "" || domain == "" || strings.HasPrefix(domain, ".") {
		return false
	}
	if host == domain {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	return strings.HasSuffix(host, "."+domain) && isName(host)
}

// isName reports whether the host is made of labels as domain names have them.
func isName(host string) bool {
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		}) {
			return false
		}
	}
	return true
}

// EmailDomain is email.domain: the domain of one address, as in ann@example.com or Ann <ann@example.com>, in lower case;
// "" if there are several addresses, or if two readers could see different ones.
func EmailDomain(s string) string {
	s = strings.Trim(s, " \t")
	if inner, ok := strings.CutSuffix(s, ">"); ok {
		name, address, found := strings.Cut(inner, "<")
		if !found || strings.ContainsAny(name, "<>@,;:\"()[]\\\r\n\x00") {
			return ""
		}
		s = address
	}
	local, domain, ok := strings.Cut(s, "@")
	domain = normalHost(domain)
	// % and ! in the local part are routes to other hosts for some mailers.
	if !ok || local == "" || !isName(domain) || strings.ContainsFunc(local, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("<>,;:\"()[]\\%!@", r)
	}) {
		return ""
	}
	return domain
}
