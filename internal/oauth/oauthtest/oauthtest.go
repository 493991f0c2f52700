// Package oauthtest is an OAuth authorization server and a protected MCP server in one, for tests.
//
//	s := &oauthtest.Server{}
//	web := httptest.NewServer(s)
//	s.URL = web.URL
//
// The MCP endpoint is at /mcp. Its one tool, whoami, says which login it was called by. Whoever comes to the
// authorization endpoint is logged in at once, so a client that follows redirects is a user with a browser. It checks
// what a strict server would: PKCE, the redirect URI, the resource, that a code and a refresh token are used once. A
// refresh token that comes a second time ends the whole grant, as RFC 9700 (4.14.2) asks for.
package oauthtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Server is an authorization server and the server that it protects. The zero Server is ready once URL is set. Its
// options must not change while it serves.
type Server struct {
	URL       string        // of itself, without a path
	Life      time.Duration // of an access token; 0 is an hour, less than 0 says nothing of its end
	NoRefresh bool          // give no refresh tokens
	Secret    string        // of the client "machine", which may use client credentials and needs no registration
	Issuer    string        // that the resource names; "" is URL
	Scope     string        // that a call of whoami needs; "" is none

	mu      sync.Mutex
	clients map[string]client
	codes   map[string]code
	tokens  map[string]token  // access tokens that are good
	refresh map[string]string // good refresh tokens: the family that they belong to
	used    map[string]string // refresh tokens that were good
	seen    []http.Header     // of requests to the MCP endpoint
	counts  map[string]int    // requests by path, and by grant type at /token
}

type client struct {
	secret    string
	redirects []string // none: any
}

type code struct{ client, redirect, challenge, scope string }

type token struct{ family, scope string }

// Headers returns the headers of all requests to the MCP endpoint.
func (s *Server) Headers() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Count returns how many requests there were to a path, or at /token with a grant type.
func (s *Server) Count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[what]
}

// Expire makes all access tokens bad.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Revoke makes all tokens bad.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
	clear(s.refresh)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts, s.clients, s.codes = map[string]int{}, map[string]client{}, map[string]code{}
		s.tokens, s.refresh, s.used = map[string]token{}, map[string]string{}, map[string]string{}
		s.clients["machine"] = client{secret: s.Secret}
	}
	s.counts[r.URL.Path]++
	handle := map[string]http.HandlerFunc{
		"/mcp": s.mcp, "/authorize": s.authorize, "/token": s.token, "/register": s.register, "/revoke": s.revoke,
		"/.well-known/oauth-protected-resource/mcp": s.resource, "/.well-known/oauth-authorization-server": s.metadata,
	}[r.URL.Path]
	if handle == nil {
		http.NotFound(w, r)
		return
	}
	handle(w, r)
}

func (s *Server) resource(w http.ResponseWriter, _ *http.Request) {
	issuer := s.Issuer
	if issuer == "" {
		issuer = s.URL
	}
	answer(w, http.StatusOK, map[string]any{
		"resource": s.URL + "/mcp", "authorization_servers": []string{issuer}, "scopes_supported": []string{"mcp"},
	})
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"registration_endpoint": s.URL + "/register", "revocation_endpoint": s.URL + "/revoke", "response_types_supported": []string{"code"},
		"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"}, "scopes_supported": []string{"mcp", "offline_access"},
	})
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Redirects []string `json:"redirect_uris"`
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil || len(asked.Redirects) == 0 {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_redirect_uri"})
		return
	}
	id := "client-" + rand.Text()
	s.clients[id] = client{redirects: asked.Redirects}
	answer(w, http.StatusCreated, map[string]any{
		"client_id": id, "token_endpoint_auth_method": "none", "redirect_uris": asked.Redirects,
	})
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	c, ok := s.clients[q.Get("client_id")]
	redirect := q.Get("redirect_uri")
	if !ok || c.redirects != nil && !slices.Contains(c.redirects, redirect) {
		http.Error(w, "unknown client or redirect URI", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}, "iss": {s.URL}}
	if q.Get("code_challenge_method") != "S256" || q.Get("resource") != s.URL+"/mcp" || q.Get("response_type") != "code" {
		back.Set("error", "invalid_request")
	} else {
		id := "code-" + rand.Text()
		s.codes[id] = code{q.Get("client_id"), redirect, q.Get("code_challenge"), q.Get("scope")}
		back.Set("code", id)
	}
	http.Redirect(w, r, redirect+"?"+back.Encode(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	refuse := func(why string) { answer(w, http.StatusBadRequest, map[string]any{"error": why}) }
	if r.ParseForm() != nil || r.Form.Get("resource") != s.URL+"/mcp" {
		refuse("invalid_target")
		return
	}
	s.counts[r.Form.Get("grant_type")]++
	id, secret, basic := r.BasicAuth()
	if basic { // RFC 6749, 2.3.1
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.Form.Get("client_id"), r.Form.Get("client_secret")
	}
	if c, ok := s.clients[id]; !ok || c.secret != secret {
		refuse("invalid_client")
		return
	}
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		c, ok := s.codes[r.Form.Get("code")]
		delete(s.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if !ok || c.client != id || c.redirect != r.Form.Get("redirect_uri") || c.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			refuse("invalid_grant")
			return
		}
		s.issue(w, token{"family-" + rand.Text(), c.scope}, !s.NoRefresh)
	case "refresh_token":
		s.renew(w, r.Form.Get("refresh_token"), refuse)
	case "client_credentials":
		if secret == "" {
			refuse("unauthorized_client")
			return
		}
		s.issue(w, token{"machine", r.Form.Get("scope")}, false)
	default:
		refuse("unsupported_grant_type")
	}
}

// renew takes a refresh token, once.
func (s *Server) renew(w http.ResponseWriter, old string, refuse func(string)) {
	if family := s.used[old]; family != "" { // stolen: who has which of the two?
		for t, f := range s.refresh {
			if f == family {
				delete(s.refresh, t)
			}
		}
	}
	family, ok := s.refresh[old]
	if !ok {
		refuse("invalid_grant")
		return
	}
	delete(s.refresh, old)
	s.used[old] = family
	s.issue(w, token{family, "mcp"}, true)
}

func (s *Server) issue(w http.ResponseWriter, t token, again bool) {
	access := "access-" + rand.Text()
	s.tokens[access] = t
	given := map[string]any{"access_token": access, "token_type": "Bearer", "scope": t.scope}
	life := s.Life
	if life == 0 {
		life = time.Hour
	}
	if life > 0 {
		given["expires_in"] = int(life.Seconds())
	}
	if again {
		fresh := "refresh-" + rand.Text()
		s.refresh[fresh] = t.family
		given["refresh_token"] = fresh
	}
	answer(w, http.StatusOK, given)
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	delete(s.refresh, r.FormValue("token"))
	delete(s.tokens, r.FormValue("token"))
	w.WriteHeader(http.StatusOK)
}

// mcp is the protected server, in the revision 2025-11-25, without a session.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request) {
	s.seen = append(s.seen, r.Header.Clone())
	scheme, access, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	t, ok := s.tokens[access]
	if scheme != "Bearer" || !ok {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer resource_metadata=%q", s.URL+"/.well-known/oauth-protected-resource/mcp"))
		http.Error(w, "no such token: "+access, http.StatusUnauthorized)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if m.Method == "tools/call" && s.Scope != "" && !slices.Contains(strings.Fields(t.scope), s.Scope) {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, s.Scope))
		http.Error(w, "scope", http.StatusForbidden)
		return
	}
	result := map[string]any{
		"initialize": map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": "protected", "version": "1"}},
		"tools/list": map[string]any{"tools": []any{map[string]any{"name": "whoami", "inputSchema": map[string]any{"type": "object"},
			"annotations": map[string]any{"readOnlyHint": true, "openWorldHint": false}}}},
		"tools/call": map[string]any{"content": []any{map[string]any{"type": "text", "text": "family " + t.family}}},
		"ping":       map[string]any{},
	}[m.Method]
	switch {
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case result == nil:
		answer(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "unknown"}})
	default:
		answer(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
	}
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
