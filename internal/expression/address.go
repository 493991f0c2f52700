package expression

import (
	"net/url"
	"path"
	"strings"

	"github.com/weir-mcp/weir/internal/address"
)

// PathUnder is path.under: whether p is the directory dir or inside it, by its text alone. Dots are resolved first, so
// no .. leads out; links are not looked at. A relative path is inside a relative directory only. A backslash parts
// names in some systems and is a letter in others: p has to be inside by both readings, unless dir is written in the
// way of Windows.
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

// parseURL reads an absolute URL that every reader takes alike: nothing that some would trim, fold or turn into a
// slash.
func parseURL(s string) (*url.URL, bool) {
	if address.URL(s) == "" {
		return nil, false
	}
	u, err := url.Parse(s)
	return u, err == nil && u.Scheme != "" && u.Host != "" && u.Opaque == ""
}

// URLHost is url.host: the host of an absolute URL without its port, in the one form that all its spellings have (a
// name in lower case and without a closing dot, an address in its usual numbers); "" if there is none or if two readers
// of the URL could see different ones.
func URLHost(s string) string {
	if _, ok := parseURL(s); !ok {
		return ""
	}
	return address.URL(s)
}

// URLScheme is url.scheme: the scheme of an absolute URL in lower case; "" if s is none.
func URLScheme(s string) string {
	u, ok := parseURL(s)
	if !ok {
		return ""
	}
	return strings.ToLower(u.Scheme)
}

// URLPath is url.path: the path of an absolute URL, decoded and with its dots resolved, "/" at least; "" if s is no
// such URL.
func URLPath(s string) string {
	u, ok := parseURL(s)
	if !ok {
		return ""
	}
	return path.Clean("/" + u.Path)
}

// HostWithin is host.within: whether host is the domain or below it, in any spelling. A numeric address is within
// itself only.
func HostWithin(host, domain string) bool {
	return address.Within(address.Host(host), []string{domain})
}

// HostInternal is host.internal: whether the host is, or may be by its form, of the user's own machine or network. ""
// is.
func HostInternal(host string) bool { return address.Internal(host) }

// EmailDomain is email.domain: the domain of one address, as in ann@example.com or Ann <ann@example.com>, in lower
// case; "" if there are several addresses, or if two readers could see different ones.
func EmailDomain(s string) string {
	r := address.Read(s)
	if r.Host() == "" || r.Places[0].Kind != address.Mail {
		return ""
	}
	return r.Host()
}

// URLReference is url.reference: whether it is the address of a page of documentation or of a package, at a site of a
// list, whose publisher alone learns who reads it.
func URLReference(s string) bool { return address.IsReference(s) }
