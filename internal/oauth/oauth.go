// Package oauth gets the access tokens that servers over HTTP ask for (MCP revision 2025-11-25, Authorization): once
// with a person at a browser, or with a secret of the operator's alone.
//
//	vault := &oauth.Vault{Dir: dir}
//	grant, err := oauth.Login(ctx, server, &oauth.LoginOptions{Vault: vault, Open: openBrowser}) // weir login
//	spec.Auth = oauth.NewSource(server, vault)                                                     // weir run
//	spec.Auth = oauth.NewMachine(server)                                                           // without a person
//
// The authorization server is found by the protected resource's metadata (RFC 9728) and its own (RFC 8414). The client
// is the one that the operator configured, an https URL of a client's metadata document, or one that is registered for
// the occasion (RFC 7591). The code is bound to this process by PKCE with S256 and by a state, the tokens to the server
// by a resource indicator (RFC 8707), the answer to the authorization server by its iss (RFC 9207).
//
// What is promised:
//
//   - A token goes to the origin of the server that it was obtained for, in the Authorization header, and a refresh
//     token to the token endpoint that issued it. No redirect is followed to another origin, and none at all by a POST
//     request.
//   - A client's configured secret is shown to the configured issuer only.
//   - A server on a public address cannot have requests made to addresses that are not.
//   - Tokens and secrets are in no error and no log. Values that hold them do not print them.
//   - Several processes may use one grant at the same time: it is renewed by one of them, under a lock, and what was
//     renewed is on disk before it is used.
//   - Nothing but Login needs a person, and nothing but LoginOptions.Open reaches for a browser.
package oauth

import (
	"net/url"
	"strings"
	"time"
)

// A Server is a server over HTTP, and how the operator wants to log in there.
type Server struct {
	Name         string   // for messages
	URL          string   // http or https
	Issuer       string   // the only authorization server that may be used; "" is the one that the server names
	ClientID     string   // "" has a client registered; an https URL is that of a client's metadata document
	ClientSecret string   // of ClientID; needs an Issuer
	Scopes       []string // that are asked for, and no others; nil is the scopes that the server asks for
	RedirectPort int      // of 127.0.0.1, where the browser comes back to; 0 is any that is free
	Command      string   // that logs in, for messages
}

// leeway is how long before its end a token counts as expired: it has to arrive, and clocks differ.
const leeway = 30 * time.Second

// canonical returns a URL in the form by which servers are told apart: scheme and host in lower case, no default port.
func canonical(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; port != "" {
		u.Host = strings.TrimSuffix(u.Host, port)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	u.Fragment = ""
	return u.String()
}

// sameIssuer compares issuers as RFC 8414 has it, forgiving a slash at the end as many servers do.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// union returns the members of all lists, each once, in the order of their first appearance.
func union(lists ...[]string) (out []string) {
	seen := map[string]bool{}
	for _, list := range lists {
		for _, s := range list {
			if !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}
