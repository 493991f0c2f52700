package config

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/signin"
)

// list reads the elements of a list of mappings, which are named after it and their number.
func (r reader) list(m member, read func(member)) {
	list, ok := m.value.(*ast.SequenceNode)
	if !ok {
		r.wrong(m, "a list of mappings")
		return
	}
	for i, v := range list.Values {
		n := strconv.Itoa(i)
		e := member{name: m.name + "[" + n + "]", pointer: m.pointer + Pointer(n), at: placeOf(v), value: v}
		r.d.Set(e.pointer, e.at)
		read(e)
	}
}

// readTokens reads the tokens of principals.
func readTokens(r reader, m member) {
	h := &r.d.Config.HTTP
	r.list(m, func(m member) {
		t := NamedToken{Roles: []signin.Role{signin.Agent}}
		r.object(m, fields{
			"name": r.text(&t.Name), "token": r.text(&t.Secret), "roles": r.roles(&t.Roles), "expires": r.day(&t.Expires),
		})
		h.Tokens = append(h.Tokens, t)
	})
}

// readCertificates reads the principals of client certificates.
func readCertificates(r reader, m member) {
	h := &r.d.Config.HTTP
	r.list(m, func(m member) {
		c := ClientCertificate{Roles: []signin.Role{signin.Agent}}
		r.object(m, fields{"name": r.text(&c.Name), "roles": r.roles(&c.Roles)})
		h.Certificates = append(h.Certificates, c)
	})
}

// readOAuth reads the authorization server.
func readOAuth(r reader, m member) {
	o := &r.d.Config.HTTP.OAuth
	scopes := func(m member) {
		members, _ := r.entries(m)
		o.Scopes = map[string]signin.Role{}
		for _, e := range members {
			r.word(e, roleNames(), func(s string) error {
				o.Scopes[e.key] = signin.Role(s)
				return knownRole(s)
			})
		}
	}
	r.object(m, fields{
		"issuer": r.text(&o.Issuer), "audience": r.text(&o.Audience), "claim": r.text(&o.Claim), "scopes": scopes,
	})
}

// roles reads a list of roles.
func (r reader) roles(p *[]signin.Role) func(member) {
	return func(m member) {
		*p = nil
		readWords(r, m, roleNames(), func(s string) { *p = append(*p, signin.Role(s)) })
	}
}

func roleNames() (names []string) {
	for _, role := range signin.Roles() {
		names = append(names, string(role))
	}
	return names
}

func knownRole(s string) error {
	if !slices.Contains(roleNames(), s) {
		return strconv.ErrSyntax
	}
	return nil
}

// day reads a date, at whose end something ends, or a time of RFC 3339.
func (r reader) day(p *time.Time) func(member) {
	return func(m member) {
		s, ok := r.scalar(m, "a date, 2027-01-31, or a time of RFC 3339")
		if !ok {
			return
		}
		if t, err := time.Parse(time.DateOnly, s); err == nil {
			*p = t.AddDate(0, 0, 1)
			return
		}
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			r.d.Fault(m.at, "write a date, 2027-01-31, or a time of RFC 3339", "%s: bad date %.40q", m.name, s)
			return
		}
		*p = t
	}
}

var principalName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// checkPrincipals expands and checks who is let in over HTTP, beside the one token of http.token.
func checkPrincipals(d *Draft, opts Options) {
	h := &d.Config.HTTP
	seen := map[string]bool{}
	for i := range h.Tokens {
		t := &h.Tokens[i]
		at := d.Place(Pointer("http", "tokens", strconv.Itoa(i)))
		secret, flaws := expand(t.Secret, opts.Lookup)
		t.Secret = secret
		for _, f := range flaws {
			d.Fault(at, f.hint, "http.tokens: %s", f.msg)
		}
		switch {
		case !principalName().MatchString(t.Name):
			d.Fault(at, "give it a name of letters, digits and ._@-", "http.tokens: bad name %.80q", t.Name)
		case seen["name "+t.Name] || seen["secret "+secret] && len(flaws) == 0 || secret != "" && secret == h.Token:
			d.Fault(at, "give each principal a name and a token of its own", "http.tokens: the name or the token of %s is there twice", t.Name)
		case len(flaws) == 0 && !fitToken(secret):
			d.Fault(at, "use 16 or more letters, digits and punctuation", "http.tokens: the token of %s is not fit for one", t.Name)
		}
		seen["name "+t.Name], seen["secret "+secret] = true, true
	}
	for i, c := range h.Certificates {
		if c.Name == "" {
			d.Fault(d.Place(Pointer("http", "certificates", strconv.Itoa(i))), "write the URI, DNS name or mail address in the certificate",
				"http.certificates: a name is missing")
		}
	}
	tls := d.Place(Pointer("http", "tls"))
	if h.ClientCA != "" && h.Cert == "" {
		d.Fault(tls, "name cert and key too", "http.tls: client_ca needs TLS")
	}
	if len(h.Certificates) > 0 && h.ClientCA == "" {
		d.Fault(d.Place(Pointer("http", "certificates")), "name the authority in http.tls.client_ca", "http.certificates: no certificate is verified")
	}
	if h.Principals() && h.Token == NoToken {
		d.Fault(d.Place(Pointer("http", "token")), "remove token: none", "http.token: it lets everyone in, whatever their credentials")
	}
	if h.Principals() && len(d.Config.Own.Me) > 0 {
		d.Fault(d.Place(Pointer("me")), "remove me, or the credentials of principals below http",
			"me: it holds for one user, and several principals are let in")
	}
	checkOAuth(d, &h.OAuth)
}

// Principals reports whether principals have credentials of their own.
func (h *Listener) Principals() bool {
	return len(h.Tokens) > 0 || len(h.Certificates) > 0 || h.OAuth.Issuer != ""
}

func checkOAuth(d *Draft, o *OAuth) {
	at := d.Place(Pointer("http", "oauth"))
	if !d.Has(Pointer("http", "oauth")) {
		return
	}
	u, err := url.Parse(o.Issuer)
	if err != nil || !isIssuer(o.Issuer) || u.Fragment != "" {
		d.Fault(at, "write the https URL of the authorization server", "http.oauth: bad issuer %.200q", o.Issuer)
	}
	if o.Audience == "" {
		d.Fault(at, "write the URL by which hosts reach the endpoint, https://weir.example/mcp", "http.oauth: audience is missing")
	}
}
