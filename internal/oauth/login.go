package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// ErrNotAsked says that a server lets everybody in, as far as one can tell.
var ErrNotAsked = errors.New("the server asks for no login")

// ErrNoClient says that the authorization server wants a client that is registered there by hand.
var ErrNoClient = errors.New("the authorization server registers no clients: one has to be configured")

// LoginOptions say how a person logs in.
type LoginOptions struct {
	Vault  *Vault                                      // where the grant is kept
	Place  Place                                       // and its secrets; Keyring needs Vault.Ring, which may refuse; "" is File
	Open   func(ctx context.Context, url string) error // shows a page to the person; does not wait for them
	Scopes []string                                    // to ask for besides those that the server wants
}

// A login is one call of Login.
type login struct {
	server Server
	opts   *LoginOptions
	client *http.Client
	before *Grant // nil: none
}

// Login has a person log in to the server and keeps the grant, in the place of any before. ctx bounds it all, the
// person included.
func Login(ctx context.Context, s Server, opts *LoginOptions) (*Grant, error) {
	g, err := obtain(ctx, s, opts)
	if err == nil {
		err = replace(ctx, opts.Vault, g)
	}
	if err != nil {
		return nil, fmt.Errorf("logging in to %s: %w", s.Name, err)
	}
	return g, nil
}

// replace keeps a grant while no other process renews the one before.
func replace(ctx context.Context, v *Vault, g *Grant) error {
	unlock, err := v.Lock(ctx, g.Server)
	if err != nil {
		return err
	}
	defer unlock()
	return v.Save(ctx, g)
}

// obtain gets a grant.
func obtain(ctx context.Context, s Server, opts *LoginOptions) (*Grant, error) {
	l := &login{server: s, opts: opts, client: newClient(s)}
	if before, err := opts.Vault.Look(s.URL); err == nil && before != nil && before.Fits(s) {
		l.before = before
	}
	status, c, err := l.probe(ctx)
	if err != nil {
		return nil, err
	}
	a, err := discover(ctx, l.client, s, c)
	if status != http.StatusUnauthorized && status != http.StatusForbidden && (err != nil || a.legacy) {
		return nil, ErrNotAsked
	}
	if err != nil {
		return nil, err
	}
	back, err := listenRedirect(ctx, s.RedirectPort)
	if err != nil {
		return nil, err
	}
	defer back.listener.Close()
	who, err := identify(ctx, l.client, s, a, back.url())
	if err != nil {
		return nil, err
	}
	return l.authorize(ctx, a, who, back)
}

// probe asks the server for something without a token, to see its challenge. A ping begins nothing.
func (l *login) probe(ctx context.Context) (status int, c challenge, err error) {
	body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.server.URL, body)
	if err != nil {
		return 0, c, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	// The server is the operator's choice, wherever it is; the addresses that it names are not.
	client := &http.Client{
		Timeout: askWait, Transport: newTransport(&net.Dialer{Timeout: dialWait}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, c, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, parseChallenge(resp.Header), nil
}

// authorize sends the person to the authorization server and turns the code that they come back with into a grant.
func (l *login) authorize(ctx context.Context, a *authority, who *identity, back *redirect) (*Grant, error) {
	if err := safeEndpoint(a.AuthorizationEndpoint); err != nil {
		return nil, fmt.Errorf("authorization endpoint: %w", err)
	}
	var granted, wanted []string
	if l.before != nil {
		granted, wanted = l.before.Scopes, l.before.Wanted
	}
	scopes := a.askedScopes(l.server, granted, wanted, l.opts.Scopes)
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	config := oauth2.Config{
		ClientID: who.id, RedirectURL: back.url(), Scopes: scopes, Endpoint: oauth2.Endpoint{AuthURL: a.AuthorizationEndpoint},
	}
	page := config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", a.resource))
	answer, err := back.receive(ctx, state, func() error { return l.opts.Open(ctx, page) })
	if err != nil {
		return nil, err
	}
	code, err := code(answer, a)
	if err != nil {
		return nil, err
	}
	t := &tokenClient{l.client, a.TokenEndpoint, who.id, who.secret, who.method}
	token, err := t.token(ctx, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back.url()}, "code_verifier": {verifier}, "resource": {a.resource},
	})
	if err != nil {
		return nil, err
	}
	return l.grant(a, who, token, scopes), nil
}

// grant makes the grant that is kept.
func (l *login) grant(a *authority, who *identity, token *tokenAnswer, asked []string) *Grant {
	g := &Grant{
		Server: canonical(l.server.URL), Issuer: a.Issuer, Resource: a.resource, TokenURL: a.TokenEndpoint, RevokeURL: a.RevocationEndpoint,
		ClientID: who.id, Method: who.method, Obtained: time.Now().UTC().Round(0), Place: l.opts.Place,
	}
	if who.made {
		g.Secret.Client = who.secret
	}
	g.take(token, asked)
	return g
}

// take puts a new token in the place of the one before. A server may leave out a refresh token that stays the same.
func (g *Grant) take(token *tokenAnswer, asked []string) {
	g.Secret.Access, g.Expires = token.access, token.expires.UTC().Round(0)
	if token.refresh != "" {
		g.Secret.Refresh = token.refresh
	}
	if g.Scopes = asked; len(token.scopes) > 0 {
		g.Scopes = token.scopes
	}
}

// Logout forgets the grant for the server, and tells who gave it. It reports whether there was one. That the
// authorization server could not be told, or knows no way (RFC 7009), is no error: told reports it.
func Logout(ctx context.Context, s Server, v *Vault) (was, told bool, err error) {
	unlock, err := v.Lock(ctx, s.URL)
	if err != nil {
		return false, false, err
	}
	defer unlock()
	g, err := v.Load(ctx, s.URL)
	if gone := v.Remove(ctx, s.URL); gone != nil {
		return false, false, gone
	}
	if err != nil {
		return true, false, nil // an unreadable grant is gone
	}
	if g == nil {
		return false, false, nil
	}
	return true, revoke(ctx, s, g), nil
}

// revoke asks the authorization server to forget the grant, and reports whether it did.
func revoke(ctx context.Context, s Server, g *Grant) bool {
	form := url.Values{"token": {g.Secret.Refresh}, "token_type_hint": {"refresh_token"}}
	if g.Secret.Refresh == "" {
		form = url.Values{"token": {g.Secret.Access}, "token_type_hint": {"access_token"}}
	}
	if g.RevokeURL == "" || form.Get("token") == "" {
		return false
	}
	resp, err := g.client(newClient(s), s).post(ctx, g.RevokeURL, form)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// client returns the client that the grant was given to.
func (g *Grant) client(with *http.Client, s Server) *tokenClient {
	c := &tokenClient{with, g.TokenURL, g.ClientID, g.Secret.Client, g.Method}
	if c.secret == "" && s.ClientID == g.ClientID {
		c.secret = s.ClientSecret
	}
	return c
}
