package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/upstream"
)

// A Machine is the [upstream.Authorizer] of a server where Weir is let in for itself: the client credentials grant (RFC
// 6749, 4.4; SEP-1046). Its tokens are in memory only.
type Machine struct {
	server Server

	turn    chan struct{} // holds a token while somebody reads or writes what follows
	found   *authority    // nil: not looked for yet
	scopes  []string      // asked for
	access  string
	expires time.Time // zero: not said
	fetched time.Time
}

var _ upstream.Authorizer = (*Machine)(nil)

// NewMachine returns the source of the server's tokens. The server has a client with a secret, and an issuer.
func NewMachine(s Server) *Machine { return &Machine{server: s, turn: make(chan struct{}, 1)} }

// Token implements [upstream.Authorizer].
func (m *Machine) Token(ctx context.Context) (string, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if m.access != "" && !m.expires.IsZero() && !time.Now().Add(leeway).Before(m.expires) {
		if err := m.fetch(ctx); err != nil {
			return "", err
		}
	}
	return m.access, nil
}

// Refused implements [upstream.Authorizer].
func (m *Machine) Refused(ctx context.Context, token string, resp *http.Response) (bool, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	c := parseChallenge(resp.Header)
	if resp.StatusCode == http.StatusForbidden && c.err != "insufficient_scope" {
		return false, nil
	}
	if m.access != "" && m.access != token {
		return true, nil // it was renewed while the request was on its way
	}
	more := union(m.scopes, c.scopes)
	if m.server.Scopes != nil {
		more = m.server.Scopes
	}
	if time.Since(m.fetched) < time.Minute && slices.Equal(more, m.scopes) {
		return false, fmt.Errorf("the server refuses the token that %.200q gave", m.server.Issuer)
	}
	client := newClient(m.server)
	found, err := discover(ctx, client, m.server, c)
	if err != nil {
		return false, fmt.Errorf("getting a token: %w", err)
	}
	m.found, m.scopes = found, more
	if m.server.Scopes == nil && len(more) == 0 {
		m.scopes = found.scopes
	}
	return true, m.fetch(ctx)
}

// fetch gets a token. The turn must be the caller's.
func (m *Machine) fetch(ctx context.Context) error {
	if m.server.ClientSecret == "" {
		return errors.New("getting a token: no client secret is configured")
	}
	t := &tokenClient{
		newClient(m.server), m.found.TokenEndpoint, m.server.ClientID, m.server.ClientSecret, secretMethod(m.found, m.server.ClientSecret),
	}
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {m.found.resource}}
	if len(m.scopes) > 0 {
		form.Set("scope", strings.Join(m.scopes, " "))
	}
	m.fetched = time.Now()
	token, err := t.token(ctx, form)
	if err != nil {
		m.access = ""
		return fmt.Errorf("getting a token: %w", err)
	}
	m.access, m.expires = token.access, token.expires
	return nil
}
