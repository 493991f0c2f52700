package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/oauth"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/setup"
)

// A loginReport is how things stand with the login to one server.
type loginReport struct {
	Name     string      `json:"name"`
	State    string      `json:"state"`
	Issuer   string      `json:"issuer,omitempty"`
	Scopes   []string    `json:"scopes,omitempty"`
	Obtained time.Time   `json:"obtained,omitzero"`
	Expires  time.Time   `json:"expires,omitzero"` // of the access token, which is renewed if the state is "logged in"
	Place    oauth.Place `json:"kept_in,omitempty"`
	Error    string      `json:"error,omitempty"`
}

// The states of a login.
const (
	loggedIn    = "logged in"
	notLoggedIn = "not logged in" // which the server may not ask for
	needsLogin  = "needs login"   // there was one, and it is of no use any more
	noLogin     = "no login"      // nobody can log in
)

// listLogins shows which servers of the configuration have a login. It asks no server.
func listLogins(ctx context.Context, env *home.Env, flags *loginFlags) error {
	s, err := setup.Load(env, flags.config, "")
	if err != nil {
		return err
	}
	vault, err := env.Vault()
	if err != nil {
		return err
	}
	reports := []loginReport{}
	width := 0
	for _, one := range s.Config.Servers {
		if one.URL != "" && !one.Disabled {
			reports = append(reports, reportLogin(ctx, vault, one))
			width = max(width, len(one.Name))
		}
	}
	if flags.asJSON {
		return writeJSON(env.Stdout, map[string]any{"servers": reports})
	}
	var b strings.Builder
	for _, r := range reports {
		fmt.Fprintf(&b, "%-*s  %s\n", width, r.Name, plain.Text(r.text(time.Now()), 0))
	}
	if len(reports) == 0 {
		b.WriteString("no server has a url\n")
	}
	_, err = io.WriteString(env.Stdout, b.String())
	return err
}

// reportLogin looks up the login to one server.
func reportLogin(ctx context.Context, vault *oauth.Vault, s config.Server) loginReport {
	r := loginReport{Name: s.Name, State: noLogin}
	if !setup.WantsLogin(s) {
		return r
	}
	r.State = notLoggedIn
	g, err := vault.Load(ctx, s.URL)
	switch {
	case err != nil:
		r.State, r.Error = needsLogin, err.Error()
	case g == nil:
	case !g.Fits(setup.OAuthServer(s, "")):
		r.State, r.Error = needsLogin, "the login was for another client or issuer"
	default:
		r.Issuer, r.Scopes, r.Obtained, r.Expires, r.Place = g.Issuer, g.Scopes, g.Obtained, g.Expires, g.Place
		r.State = loggedIn
		if !g.Usable(time.Now()) {
			r.State = needsLogin
		}
	}
	return r
}

// text says it for people.
func (r loginReport) text(now time.Time) string {
	parts := []string{r.State}
	if r.Issuer != "" {
		parts = append(parts, "at "+r.Issuer+" since "+app.Moment(r.Obtained, now))
	}
	if len(r.Scopes) > 0 {
		parts = append(parts, "scopes "+strings.Join(r.Scopes, " "))
	}
	if r.Place != "" {
		parts = append(parts, "in the "+string(r.Place))
	}
	if r.Error != "" {
		parts = append(parts, r.Error)
	}
	return strings.Join(parts, ", ")
}
