package guard

import (
	"strings"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/speech"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// bare returns a host without the www that people leave out.
func bare(host string) string { return strings.TrimPrefix(host, "www.") }

// visit notes the sites that a request went to as ones that the session knows.
func (s *memory) visit(text string) {
	for _, host := range address.Read(text).Hosts() {
		if len(s.sites) < maxDestinations {
			s.sites[bare(host)] = true
		}
	}
}

// name notes what the user's words lead to: whole places, and the sites of those that are URLs.
func (s *memory) name(text string) {
	for _, p := range address.Named(text) {
		if len(s.named) >= maxDestinations {
			return
		}
		if p.Name != "" {
			s.named[p.Name] = true
		}
		if p.Kind == address.Web && p.Host != "" {
			s.sites[bare(p.Host)], s.wished[bare(p.Host)] = true, true
		}
	}
}

// place traces an argument that says where something goes. It is the user's if the user's wishes name it: it stands in them as it is, is
// another spelling of an address that does, or the id of a thing whose name does. What the user only forbade, quoted or used as a mere word is
// nobody's.
func (t *tracer) place(a policy.Argument) Value {
	v := t.value(a)
	switch {
	case v.Whole && speech.Names(t.memory.wishes, v.Text), t.spelt(v.Text), t.called(v.Text):
		v.From, v.Whole = provenance.User, true
	case v.From&provenance.User != 0:
		v.From = v.From&^provenance.User | provenance.Novel
	}
	return v
}

// spelt reports whether a value is nothing but addresses or accounts that the wishes hold, in whatever spelling of what has more than one.
func (t *tracer) spelt(text string) bool {
	text = strings.TrimSpace(text)
	r := address.Read(text)
	if !r.Sure {
		accounts := address.Find(text)
		return len(accounts) == 1 && accounts[0].Kind == address.Account && accounts[0].Text == text && t.memory.named[accounts[0].Name]
	}
	texts := make([]string, len(r.Places))
	for i, p := range r.Places {
		plain := p.Kind == address.Web || strings.EqualFold(strings.TrimPrefix(p.Text, "mailto:"), p.Name)
		if texts[i] = p.Text; !plain || !t.memory.named[p.Name] && !t.memory.named[home(p)] {
			return false
		}
	}
	for _, between := range []string{",", ", ", ";", "; "} {
		if strings.Join(texts, between) == text {
			return true
		}
	}
	return false
}

// home returns the site of which a URL is the first page, as people name it; "" if it is any other.
func home(p address.Place) string {
	for _, scheme := range []string{"https://", "http://"} {
		if site, ok := strings.CutPrefix(p.Name, scheme); ok && strings.HasPrefix(p.Text, scheme) {
			if site = strings.TrimSuffix(site, "/"); !strings.ContainsAny(site, "/?#@") {
				return site
			}
		}
	}
	return ""
}

// strange reports whether a request to the value would go to a site that only a stranger can have named: neither it, as a
// whole, nor its host is in the user's words or a trusted source's, and no earlier request of the session went to that host.
// What programs could take to several places is strange. Where the operator does not state that it is a destination, it has to
// look like one.
func (t *tracer) strange(v *Value) bool {
	if v.Whole && v.From.Only(provenance.User|provenance.Trusted) {
		return false
	}
	r := address.Read(v.Text)
	if !r.Sure {
		return t.stated || len(r.Places) > 0
	}
	for _, host := range r.Hosts() {
		if !t.memory.sites[bare(host)] && !address.Within(host, t.domains) {
			return true
		}
	}
	return false
}
