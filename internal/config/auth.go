package config

import (
	"net/url"
	"strconv"
	"strings"
)

// The flows.
const (
	Browser           Flow = "browser"            // a person logs in
	ClientCredentials Flow = "client-credentials" // Weir for itself, by its secret
	NoFlow            Flow = "none"               // nobody: tokens are not asked for
)

// readAuth reads the section of that name.
func readAuth(r reader, a *Auth) func(member) {
	return func(m member) {
		r.object(m, fields{
			"flow": func(m member) {
				r.word(m, []string{string(Browser), string(ClientCredentials), string(NoFlow)}, a.setFlow)
			},
			"client_id":     r.text(&a.ClientID),
			"client_secret": r.text(&a.ClientSecret),
			"issuer":        r.text(&a.Issuer),
			"scopes":        r.texts(&a.Scopes),
			"redirect_port": r.port(&a.RedirectPort),
		})
	}
}

func (a *Auth) setFlow(s string) error {
	switch f := Flow(s); f {
	case Browser, ClientCredentials, NoFlow:
		a.Flow = f
		return nil
	}
	return strconv.ErrSyntax
}

// checkAuth checks the expanded section auth. No message quotes more of it than its members' names.
func checkAuth(c checker) {
	a, at := c.s.Auth, func(member string) Place { return c.at("auth", member) }
	if !c.d.Has(Pointer("servers", c.s.Name, "auth")) {
		return
	}
	for name := range c.s.Headers {
		if strings.EqualFold(name, "authorization") && a.Flow != NoFlow {
			c.fault(c.at("auth"), "remove one of them", "auth and an Authorization header")
		}
	}
	if u, err := url.Parse(c.s.URL); err == nil && u.Scheme == "http" && !Loopback(u.Hostname()) && a.Flow != NoFlow {
		c.fault(c.at("auth"), "use an https url", "auth: tokens would cross the network unencrypted")
	}
	if a.Issuer != "" && !isIssuer(a.Issuer) {
		c.fault(at("issuer"), "write it as the authorization server does, https://login.example", "auth.issuer: not an https URL")
	}
	for i, scope := range a.Scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			c.fault(c.at("auth", "scopes", strconv.Itoa(i)), "list them one by one, [read, write]", "auth.scopes: entry %d is no scope", i+1)
		}
	}
	if c.d.Has(Pointer("servers", c.s.Name, "auth", "scopes")) && a.Scopes == nil {
		c.fault(at("scopes"), "remove it to request the scopes that the server names", "auth.scopes: an empty list")
	}
	if a.ClientSecret != "" && a.ClientID == "" {
		c.fault(at("client_secret"), "add client_id", "auth.client_secret has no meaning without a client_id")
	}
	if a.ClientSecret != "" && a.Issuer == "" {
		c.fault(at("client_secret"), "add issuer: https://…", "auth.client_secret needs an issuer: a server could have it shown to anybody")
	}
	checkFlow(c, a, at)
}

// checkFlow checks that the flow has the settings that it needs, and no others.
func checkFlow(c checker, a Auth, at func(string) Place) {
	switch {
	case a.Flow == ClientCredentials && (a.ClientID == "" || a.ClientSecret == ""):
		c.fault(at("flow"), "add them, and the issuer", "auth.flow: client-credentials needs a client_id and a client_secret")
	case a.Flow == ClientCredentials && a.RedirectPort != 0:
		c.fault(at("redirect_port"), "remove it", "auth.redirect_port has no meaning without a browser")
	case a.Flow == NoFlow && (a.ClientID != "" || a.ClientSecret != "" || a.Issuer != "" || a.Scopes != nil || a.RedirectPort != 0):
		c.fault(at("flow"), "remove the others, or the flow", "auth.flow: none goes with nothing else")
	}
}

// isIssuer reports whether s can be the identifier of an authorization server (RFC 8414, 2).
func isIssuer(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" &&
		(u.Scheme == "https" || u.Scheme == "http" && Loopback(u.Hostname()))
}
