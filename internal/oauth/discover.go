package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// An authority is who issues the tokens of a server, and for what.
type authority struct {
	*oauthex.AuthServerMeta
	resource string   // whose tokens they are (RFC 8707)
	scopes   []string // that the server asks for
	legacy   bool     // nothing but the server's address says that it is this one
}

// A challenge is the content of the WWW-Authenticate headers of a server about bearer tokens (RFC 6750, 3; RFC 9728,
// 5.1).
type challenge struct {
	metadata string // URL of the protected resource's metadata; ""
	err      string // "insufficient_scope"; ""
	scopes   []string
}

// parseChallenge reads the headers of a response. A header that cannot be read counts as absent.
func parseChallenge(header http.Header) (c challenge) {
	all, err := oauthex.ParseWWWAuthenticate(header.Values("WWW-Authenticate"))
	if err != nil {
		return c
	}
	for _, one := range all {
		if one.Scheme != "bearer" {
			continue
		}
		if c.metadata == "" {
			c.metadata = one.Params["resource_metadata"]
		}
		if c.err == "" {
			c.err = one.Params["error"]
		}
		if len(c.scopes) == 0 {
			c.scopes = scopesOf(one.Params["scope"])
		}
	}
	return c
}

// The bounds of a list of scopes, which is the server's.
const (
	maxScope  = 256 // bytes
	maxScopes = 100
)

// scopesOf splits a list of scopes, without words that cannot be one (RFC 6749, 3.3).
func scopesOf(list string) []string {
	scopes := slices.DeleteFunc(strings.Fields(list), func(s string) bool {
		return len(s) > maxScope || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
	})
	return scopes[:min(len(scopes), maxScopes)]
}

// discover finds out who issues the server's tokens (revision 2025-11-25, Authorization Server Location).
func discover(ctx context.Context, client *http.Client, s Server, c challenge) (*authority, error) {
	resource, legacy, err := findResource(ctx, client, s, c)
	if err != nil {
		return nil, err
	}
	issuer, err := chooseIssuer(s, resource.AuthorizationServers)
	if err != nil {
		return nil, err
	}
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, client)
	switch {
	case err != nil:
		return nil, fmt.Errorf("looking up the authorization server: %w", err)
	case meta == nil && !legacy:
		return nil, fmt.Errorf("the authorization server %.200q says nothing of itself", issuer)
	case meta == nil:
		// Revision 2025-03-26, Fallbacks for Servers without Metadata Discovery. It asks for PKCE all the same.
		meta = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token",
			RegistrationEndpoint: issuer + "/register", CodeChallengeMethodsSupported: []string{"S256"},
		}
	}
	if !slices.Contains(meta.CodeChallengeMethodsSupported, "S256") {
		return nil, errors.New("the authorization server does not support PKCE with S256")
	}
	a := &authority{meta, resource.Resource, c.scopes, legacy}
	if len(a.scopes) == 0 {
		a.scopes = resource.ScopesSupported
	}
	return a, nil
}

// findResource returns the metadata of the protected resource. A server of revision 2025-03-26 has none, and is its own
// authorization server.
func findResource(ctx context.Context, client *http.Client, s Server, c challenge) (m *oauthex.ProtectedResourceMetadata, legacy bool, err error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, false, err
	}
	root := &url.URL{Scheme: u.Scheme, Host: u.Host}
	const wellKnown = "/.well-known/oauth-protected-resource"
	places := []struct{ at, of string }{
		{root.String() + wellKnown + "/" + strings.TrimLeft(u.EscapedPath(), "/"), s.URL},
		{root.String() + wellKnown, root.String()},
	}
	if c.metadata != "" {
		places = slices.Insert(places, 0, struct{ at, of string }{c.metadata, s.URL})
	}
	var failed error
	for _, p := range places {
		m, err := oauthex.GetProtectedResourceMetadata(ctx, p.at, p.of, client)
		switch {
		case err == nil && len(m.AuthorizationServers) == 0:
			return nil, false, errors.New("the server's metadata names no authorization server")
		case err == nil:
			return m, false, nil
		case failed == nil:
			failed = err
		}
	}
	if c.metadata != "" {
		return nil, false, fmt.Errorf("looking up the authorization server: %w", failed)
	}
	return &oauthex.ProtectedResourceMetadata{Resource: s.URL, AuthorizationServers: []string{root.String()}}, true, nil
}

// chooseIssuer returns the configured one of the authorization servers that the server names, or the first.
func chooseIssuer(s Server, named []string) (string, error) {
	if s.Issuer == "" {
		return named[0], nil
	}
	for _, issuer := range named {
		if sameIssuer(issuer, s.Issuer) {
			return issuer, nil
		}
	}
	return "", fmt.Errorf("the server names the authorization server %.200q, and not the configured issuer", named[0])
}

// askedScopes returns the scopes to ask for: the operator's, or those that the server wants and that were granted
// before.
func (a *authority) askedScopes(s Server, before ...[]string) []string {
	if s.Scopes != nil {
		return s.Scopes
	}
	scopes := union(append(before, a.scopes)...)
	if slices.Contains(a.ScopesSupported, "offline_access") { // SEP-2207: or there may be no refresh token
		scopes = union(scopes, []string{"offline_access"})
	}
	return scopes
}
