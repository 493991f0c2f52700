package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/upstream"
)

// renewWait bounds the renewal of a token. It goes on when who asked for it has left: the authorization server may have
// taken back the old refresh token already, so the answer must not be lost.
const renewWait = askWait + ringWait

// A Source is the [upstream.Authorizer] of a server where a person logs in. It begins without a token where there is no
// grant, notices when there is one, and renews it. It never logs in.
type Source struct {
	server Server
	vault  *Vault
	file   string // of the grant

	turn    chan struct{} // holds a token while somebody reads or writes what follows
	seen    sight         // the file from which grant was loaded
	grant   *Grant        // nil: none that fits
	asked   bool          // the server has refused a request without a token
	spurned string        // the access token that it has refused, and that could not be renewed
	renewed time.Time     // when a token was renewed last because the server refused it
}

var _ upstream.Authorizer = (*Source)(nil)

// NewSource returns the source of the server's tokens.
func NewSource(s Server, v *Vault) *Source {
	return &Source{server: s, vault: v, file: v.path(s.URL), turn: make(chan struct{}, 1)}
}

// enter waits for the turn of the caller.
func (s *Source) enter(ctx context.Context) (leave func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Token implements [upstream.Authorizer].
func (s *Source) Token(ctx context.Context) (string, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	if err := s.look(ctx); err != nil {
		return "", err
	}
	g := s.grant
	switch {
	case g == nil && !s.asked:
		return "", nil
	case g == nil:
		return "", s.needed("nobody has logged in")
	case g.Secret.Access != "" && g.Secret.Access == s.spurned:
		return "", s.needed("the server does not take the login any more")
	case g.valid(time.Now()):
		return g.Secret.Access, nil
	}
	if err := s.renew(ctx); err != nil {
		return "", err
	}
	return s.grant.Secret.Access, nil
}

// Refused implements [upstream.Authorizer].
func (s *Source) Refused(ctx context.Context, token string, resp *http.Response) (bool, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	if err := s.look(ctx); err != nil {
		return false, err
	}
	if resp.StatusCode == http.StatusForbidden {
		return false, s.tooLittle(ctx, parseChallenge(resp.Header))
	}
	s.asked = true
	switch {
	case s.grant == nil:
		return false, s.needed("nobody has logged in")
	case s.grant.Secret.Access != token && s.grant.Secret.Access != s.spurned:
		return true, nil // it was renewed while the request was on its way, or somebody has logged in
	case s.grant.Secret.Refresh == "" || time.Since(s.renewed) < time.Minute:
		s.spurned = s.grant.Secret.Access
		return false, s.needed("the server does not take the login any more")
	}
	s.renewed = time.Now()
	if err := s.renew(ctx); err != nil {
		return false, err
	}
	return true, nil
}

// look loads the grant if its file has changed.
func (s *Source) look(ctx context.Context) error {
	now := see(s.file)
	if now.same(s.seen) {
		return nil
	}
	g, err := s.vault.Load(ctx, s.server.URL)
	if err != nil {
		return err
	}
	if g != nil && !g.Fits(s.server) {
		g = nil // it was given to another client, or by another issuer than the configured one
	}
	s.grant, s.seen = g, now
	return nil
}

// renew gets a new access token for the refresh token, or loads the one that another process got.
func (s *Source) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewWait)
	defer cancel()
	unlock, err := s.vault.Lock(ctx, s.server.URL)
	if err != nil {
		return err
	}
	defer unlock()
	before := s.grant.Secret.Access
	if err := s.look(ctx); err != nil {
		return err
	}
	g := s.grant
	switch {
	case g == nil:
		return s.needed("somebody has logged out")
	case g.Secret.Access != before && g.valid(time.Now()):
		return nil
	case g.Secret.Refresh == "":
		return s.needed("the login has expired")
	}
	token, err := g.client(newClient(s.server), s.server).token(ctx, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {g.Secret.Refresh}, "resource": {g.Resource},
	})
	if err != nil && isOver(err) {
		return s.over(ctx, g, err)
	}
	if err != nil {
		return fmt.Errorf("renewing the login: %w", err)
	}
	next := *g
	next.take(token, g.Scopes)
	return s.keep(ctx, &next)
}

// over notes that a grant is of no use any more, for all processes.
func (s *Source) over(ctx context.Context, g *Grant, why error) error {
	next := *g
	next.Secret.Access, next.Secret.Refresh, next.Expires = "", "", time.Time{}
	if err := s.keep(ctx, &next); err != nil {
		return err
	}
	return s.needed("the login cannot be renewed: " + why.Error())
}

// keep saves a grant and goes on with it. The lock must be held.
func (s *Source) keep(ctx context.Context, g *Grant) error {
	if err := s.vault.Save(ctx, g); err != nil {
		return err
	}
	s.grant, s.seen = g, see(s.file)
	return nil
}

// tooLittle returns the remedy for a 403 for want of scopes (revision 2025-11-25, Step-Up Authorization Flow), and
// notes the scopes for the next login; nil for a 403 of another kind.
func (s *Source) tooLittle(ctx context.Context, c challenge) error {
	if c.err != "insufficient_scope" || s.grant == nil {
		return nil
	}
	more := "more rights"
	if len(c.scopes) > 0 {
		more = fmt.Sprintf("the scope %.200q", strings.Join(c.scopes, " "))
	}
	if s.server.Scopes != nil {
		return hosterror.New("it asks for rights that auth.scopes does not have").Because(errors.New(more))
	}
	if err := s.want(ctx, c.scopes); err != nil {
		return err
	}
	return hosterror.New("it asks for rights that were not granted: to grant them, run {}", hosterror.Configured(s.server.Command)).Because(errors.New(more))
}

// want notes scopes for the next login.
func (s *Source) want(ctx context.Context, scopes []string) error {
	unlock, err := s.vault.Lock(ctx, s.server.URL)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.look(ctx); err != nil || s.grant == nil {
		return err
	}
	next := *s.grant
	next.Wanted = union(s.grant.Wanted, scopes)
	if len(next.Wanted) == len(s.grant.Wanted) || len(next.Wanted) > maxScopes {
		return nil
	}
	return s.keep(ctx, &next)
}

// needed says that the user has to log in, and how.
func (s *Source) needed(why string) error {
	why = fmt.Sprintf("%.400q", why)
	return hosterror.New("login needed: run {}", hosterror.Configured(s.server.Command)).Because(fmt.Errorf("%w: %s", upstream.ErrLogin, why))
}
