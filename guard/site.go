package guard

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/weir-mcp/weir/provenance"
)

// siteOf returns the host of a URL with or without its scheme, in lower case; "" of anything else, and where programs could
// read the text differently.
func siteOf(text string) string {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "//") {
		if u, err := url.Parse(text); err == nil && u.Host != "" && u.Scheme != "" {
			return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
		}
	}
	if domain, _, _ := strings.Cut(text, "/"); isDomain(domain) {
		return strings.ToLower(domain)
	}
	return ""
}

// bare returns a host without the www that people leave out.
func bare(host string) string { return strings.TrimPrefix(host, "www.") }

// visit notes a site as one that the session knows.
func (s *memory) visit(text string) {
	if host := siteOf(text); host != "" && len(s.sites) < maxDestinations {
		s.sites[bare(host)] = true
	}
}

// strange reports whether a request to the value would go to a site that only a stranger can have named: neither it, as a
// whole, nor its host is in the user's words or a trusted source's, and no earlier request of the session went to that host.
// Where the operator does not state that it is a destination, it has to look like one.
func (t *tracer) strange(v *Value, domains []string) bool {
	if v.Whole && v.From.Only(provenance.User|provenance.Trusted) {
		return false
	}
	host := siteOf(v.Text)
	if host == "" {
		return t.stated || leadsOut(v.Text)
	}
	return !t.memory.sites[bare(host)] && !within(host, domains)
}

// leadsOut reports whether a text without a host that everybody reads alike may still be a URL: it has a scheme, a port or a
// number for a host.
func leadsOut(text string) bool {
	if strings.Contains(text, "//") {
		return true
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "/")
	if _, err := netip.ParseAddr(strings.Trim(first, "[]")); err == nil {
		return true
	}
	host, _, port := strings.Cut(first, ":")
	_, err := netip.ParseAddr(host)
	return err == nil || port && isDomain(host)
}
