package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weir-mcp/weir/internal/oauth"
	"github.com/weir-mcp/weir/internal/oauth/oauthtest"
	"github.com/weir-mcp/weir/internal/upstream"
)

// A rig is a protected server and a vault.
type rig struct {
	*oauthtest.Server
	vault  *oauth.Vault
	server oauth.Server
}

func newRig(t *testing.T, s *oauthtest.Server) *rig {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.URL = web.URL
	return &rig{s, &oauth.Vault{Dir: filepath.Join(t.TempDir(), "tokens")},
		oauth.Server{Name: "files", URL: web.URL + "/mcp", Command: "weir login files"}}
}

// browser goes where it is sent, and on from there.
func browser(ctx context.Context, page string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	return nil
}

func (r *rig) login(t *testing.T) *oauth.Grant {
	t.Helper()
	g, err := oauth.Login(t.Context(), r.server, &oauth.LoginOptions{Vault: r.vault, Open: browser})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// conn connects to the protected server as weir run does.
func (r *rig) conn(t *testing.T, auth upstream.Authorizer) (*upstream.Conn, error) {
	t.Helper()
	conn, err := upstream.Dial(t.Context(), upstream.Spec{Name: "files", URL: r.server.URL, Auth: auth}, upstream.Hello{Protocol: "2025-11-25"}, nil)
	if err == nil {
		t.Cleanup(func() { conn.Close() })
	}
	return conn, err
}

// whoami calls the protected tool.
func whoami(t *testing.T, conn *upstream.Conn) error {
	t.Helper()
	m, err := conn.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"whoami"}`))
	if err == nil && m.Error != nil {
		err = m.Failure()
	}
	return err
}

func TestLogin(t *testing.T) {
	r := newRig(t, &oauthtest.Server{})
	source := oauth.NewSource(r.server, r.vault)
	if _, err := r.conn(t, source); !errors.Is(err, upstream.ErrLogin) || !strings.Contains(err.Error(), "weir login files") {
		t.Fatalf("before login: %v", err)
	}
	before := r.Count("/mcp")
	if _, err := r.conn(t, source); !errors.Is(err, upstream.ErrLogin) || r.Count("/mcp") != before {
		t.Errorf("a server that wants a login was asked again: %v", err)
	}
	g := r.login(t)
	want := &oauth.Grant{
		Server: r.server.URL, Issuer: r.URL, Resource: r.server.URL, TokenURL: r.URL + "/token", RevokeURL: r.URL + "/revoke",
		Method: "none", Scopes: []string{"mcp", "offline_access"}, Place: oauth.File,
	}
	if diff := cmp.Diff(want, g, cmpopts.IgnoreFields(oauth.Grant{}, "ClientID", "Obtained", "Expires", "Secret")); diff != "" {
		t.Error(diff)
	}
	conn, err := r.conn(t, source) // the same source, which notices
	if err == nil {
		err = whoami(t, conn)
	}
	if err != nil {
		t.Fatal(err)
	}
	was, told, err := oauth.Logout(t.Context(), r.server, r.vault)
	if !was || !told || err != nil || r.Count("/revoke") != 1 {
		t.Errorf("logout: was %v, told %v, %v", was, told, err)
	}
	if err := whoami(t, conn); !errors.Is(err, upstream.ErrLogin) {
		t.Errorf("after logout: %v", err)
	}
	if _, err := r.conn(t, source); !errors.Is(err, upstream.ErrLogin) {
		t.Errorf("after logout: %v", err)
	}
}

func TestRenew(t *testing.T) {
	for name, spoil := range map[string]func(*rig){
		"the server refuses the token": func(r *rig) { r.Expire() },
		"the token has expired":        func(*rig) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := &oauthtest.Server{}
			if strings.Contains(name, "expired") {
				s.Life = time.Second // which is within the leeway
			}
			r := newRig(t, s)
			r.login(t)
			spoil(r)
			conn, err := r.conn(t, oauth.NewSource(r.server, r.vault))
			if err == nil {
				err = whoami(t, conn)
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Count("refresh_token") == 0 {
				t.Error("no token was renewed")
			}
		})
	}
}

// Many processes that find the token expired renew it once: a second use of a refresh token would end the grant.
func TestRenewTogether(t *testing.T) {
	r := newRig(t, &oauthtest.Server{})
	r.login(t)
	const processes = 8
	var wg sync.WaitGroup
	errs := make([]error, processes)
	conns := make([]*upstream.Conn, processes)
	for i := range conns {
		vault := &oauth.Vault{Dir: r.vault.Dir}
		conn, err := r.conn(t, oauth.NewSource(r.server, vault))
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = conn
	}
	r.Expire()
	for i, conn := range conns {
		wg.Go(func() { errs[i] = whoami(t, conn) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := r.Count("refresh_token"); got != 1 {
		t.Errorf("renewed %d times", got)
	}
}

func TestRevoked(t *testing.T) {
	r := newRig(t, &oauthtest.Server{})
	r.login(t)
	source := oauth.NewSource(r.server, r.vault)
	conn, err := r.conn(t, source)
	if err != nil {
		t.Fatal(err)
	}
	r.Revoke()
	if err := whoami(t, conn); !errors.Is(err, upstream.ErrLogin) {
		t.Fatalf("revoked: %v", err)
	}
	if err := conn.Err(); !errors.Is(err, upstream.ErrLogin) || !errors.Is(err, upstream.ErrClosed) {
		t.Errorf("connection: %v", err)
	}
	g, err := r.vault.Load(t.Context(), r.server.URL)
	if err != nil || g.Usable(time.Now()) {
		t.Errorf("kept %+v, %v", g, err)
	}
	r.login(t)
	if conn, err = r.conn(t, source); err == nil {
		err = whoami(t, conn)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestStepUp(t *testing.T) {
	r := newRig(t, &oauthtest.Server{Scope: "write"})
	r.login(t)
	source := oauth.NewSource(r.server, r.vault)
	conn, err := r.conn(t, source)
	if err != nil {
		t.Fatal(err)
	}
	if err := whoami(t, conn); err == nil || !strings.Contains(err.Error(), `"write"`) || !strings.Contains(err.Error(), "weir login files") {
		t.Fatalf("too little: %v", err)
	}
	if conn.Err() != nil {
		t.Errorf("connection ended: %v", conn.Err())
	}
	g := r.login(t)
	if diff := cmp.Diff([]string{"mcp", "offline_access", "write"}, g.Scopes); diff != "" {
		t.Error(diff)
	}
	if err := whoami(t, conn); err != nil {
		t.Error(err)
	}
}

func TestMachine(t *testing.T) {
	s := &oauthtest.Server{Secret: "s3cret:&", Life: time.Second, Scope: "write"}
	r := newRig(t, s)
	r.server.ClientID, r.server.ClientSecret, r.server.Issuer = "machine", s.Secret, r.URL
	conn, err := r.conn(t, oauth.NewMachine(r.server))
	if err != nil {
		t.Fatal(err)
	}
	if err := whoami(t, conn); err != nil { // which needs a scope more
		t.Error(err)
	}
	fetched := r.Count("client_credentials")
	if err := whoami(t, conn); err != nil || r.Count("client_credentials") != fetched+1 {
		t.Errorf("an expired token: %v, fetched %d times and then %d", err, fetched, r.Count("client_credentials"))
	}
	if files, _ := os.ReadDir(r.vault.Dir); len(files) != 0 {
		t.Errorf("kept %v", files)
	}
	wrong := r.server
	wrong.ClientSecret = "other"
	if _, err := r.conn(t, oauth.NewMachine(wrong)); err == nil || !strings.Contains(err.Error(), "invalid_client") || strings.Contains(err.Error(), "other") {
		t.Errorf("wrong secret: %v", err)
	}
}

// A secret is shown to the configured issuer only, whoever the server names.
func TestIssuer(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("stranger got %s %s", r.Method, r.URL)
	}))
	defer stranger.Close()
	s := &oauthtest.Server{Secret: "s3cret", Issuer: stranger.URL}
	r := newRig(t, s)
	r.server.ClientID, r.server.ClientSecret, r.server.Issuer = "machine", s.Secret, r.URL
	if _, err := r.conn(t, oauth.NewMachine(r.server)); err == nil || !strings.Contains(err.Error(), "not the configured issuer") {
		t.Errorf("machine: %v", err)
	}
	_, err := oauth.Login(t.Context(), r.server, &oauth.LoginOptions{Vault: r.vault, Open: browser})
	if err == nil || !strings.Contains(err.Error(), "not the configured issuer") {
		t.Errorf("login: %v", err)
	}
}

func TestNotAsked(t *testing.T) {
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			http.NotFound(w, r)
		}
	}))
	defer open.Close()
	_, err := oauth.Login(t.Context(), oauth.Server{Name: "open", URL: open.URL + "/mcp"},
		&oauth.LoginOptions{Vault: &oauth.Vault{Dir: t.TempDir()}, Open: browser})
	if !errors.Is(err, oauth.ErrNotAsked) {
		t.Errorf("got %v", err)
	}
}

// No error, and nothing that is printed, holds a token.
func TestSilence(t *testing.T) {
	r := newRig(t, &oauthtest.Server{NoRefresh: true})
	g := r.login(t)
	source := oauth.NewSource(r.server, r.vault)
	conn, err := r.conn(t, source)
	if err != nil {
		t.Fatal(err)
	}
	r.Expire()
	text := fmt.Sprintf("%v %v %+v %#v", whoami(t, conn), *g, g, g)
	_, err = r.conn(t, plainToken(g.Secret.Access)) // the server quotes what it was sent
	text += fmt.Sprint(err)
	if err == nil || strings.Contains(text, g.Secret.Access) {
		t.Errorf("%v: %s", err, text)
	}
}

// A plainToken is an Authorizer with one token.
type plainToken string

func (p plainToken) Token(context.Context) (string, error) { return string(p), nil }
func (p plainToken) Refused(context.Context, string, *http.Response) (bool, error) {
	return false, nil
}

// BenchmarkToken is what a login costs each request: a look at its file.
func BenchmarkToken(b *testing.B) {
	v := &oauth.Vault{Dir: b.TempDir()}
	if err := v.Save(b.Context(), grant(oauth.File)); err != nil {
		b.Fatal(err)
	}
	s := oauth.NewSource(oauth.Server{URL: grant(oauth.File).Server}, v)
	b.ReportAllocs()
	for b.Loop() {
		if token, err := s.Token(b.Context()); err != nil || token != "acc3ss" {
			b.Fatal(token, err)
		}
	}
}
