package signin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/weir-mcp/weir/internal/signin"
	"github.com/weir-mcp/weir/internal/streamable"
)

// now is the time of the tests.
var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// seen returns a handler that tells which principal a request is of.
func seen(t *testing.T) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "" {
			t.Errorf("the token went on: %q", got)
		}
		info := streamable.InfoOf(r)
		who := info.Principal
		if info.AgentOnly {
			who += " as an agent"
		}
		w.Header().Set("Who", who)
	})
}

func TestTokens(t *testing.T) {
	door := signin.New(signin.Options{Now: func() time.Time { return now }, Tokens: []signin.Token{
		{Name: "local", Secret: "secret", Roles: signin.Roles()},
		{Name: "token:ci", Secret: "of-the-ci", Roles: []signin.Role{signin.Agent}, Expires: now.Add(time.Hour)},
		{Name: "token:old", Secret: "of-the-past", Roles: []signin.Role{signin.Agent}, Expires: now},
		{Name: "token:auditor", Secret: "of-the-auditor", Roles: []signin.Role{signin.Auditor}},
		{Name: "token:admin", Secret: "of-the-admin", Roles: []signin.Role{signin.Admin}},
		{Name: "token:none", Secret: "", Roles: signin.Roles()},
	}})
	h := door.Require(signin.Agent, seen(t))
	for _, c := range []struct {
		name, method string
		sent         []string
		status       int
		who          string
	}{
		{"the token", "POST", []string{"Bearer secret"}, 200, "local"},
		{"scheme in another case", "POST", []string{"bearer  secret "}, 200, "local"},
		{"of an agent", "GET", []string{"Bearer of-the-ci"}, 200, "token:ci as an agent"},
		{"of an admin", "POST", []string{"Bearer of-the-admin"}, 200, "token:admin"},
		{"expired", "POST", []string{"Bearer of-the-past"}, 401, ""},
		{"without the role", "POST", []string{"Bearer of-the-auditor"}, 403, ""},
		{"none", "POST", nil, 401, ""},
		{"an empty one", "POST", []string{"Bearer "}, 401, ""},
		{"another", "POST", []string{"Bearer secrets"}, 401, ""},
		{"the beginning of it", "GET", []string{"Bearer secre"}, 401, ""},
		{"another scheme", "POST", []string{"Basic secret"}, 401, ""},
		{"no scheme", "DELETE", []string{"secret"}, 401, ""},
		{"twice", "POST", []string{"Bearer secret", "Bearer secret"}, 401, ""},
		{"preflight", "OPTIONS", nil, 200, ""},
	} {
		r := httptest.NewRequest(c.method, "/mcp", nil)
		r.Header["Authorization"] = c.sent
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("Who") != c.who || (w.Code >= 400) != (w.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%s: %d %v, want %d %q", c.name, w.Code, w.Header(), c.status, c.who)
		}
	}
	nobody := httptest.NewRecorder()
	signin.New(signin.Options{}).Require(signin.Agent, seen(t)).ServeHTTP(nobody, httptest.NewRequest("POST", "/mcp", nil))
	if nobody.Code != 401 {
		t.Errorf("without credentials configured: %d", nobody.Code)
	}
}

// A provider is an authorization server: metadata and keys.
type provider struct {
	*httptest.Server
	key     *ecdsa.PrivateKey
	id      string
	fetched atomic.Int32 // the keys
	down    atomic.Bool
}

func newProvider(t *testing.T) *provider {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: key, id: "k1"}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case p.down.Load():
			http.Error(w, "down", http.StatusInternalServerError)
		case r.URL.Path == "/keys":
			p.fetched.Add(1)
			json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: p.id, Algorithm: "ES256", Use: "sig"}}})
		case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-authorization-server"):
			json.NewEncoder(w).Encode(map[string]any{
				"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token",
				"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			})
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// token signs claims; a claim that is nil is left out.
func (p *provider) token(t *testing.T, kind string, changed map[string]any) string {
	t.Helper()
	return sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: p.id}}, kind, p.claims(changed))
}

func (p *provider) claims(changed map[string]any) map[string]any {
	all := map[string]any{
		"iss": p.URL, "aud": "https://weir.example/mcp", "sub": "ann", "email": "ann@example.com", "exp": now.Add(time.Hour).Unix(), "iat": now.Unix(),
		"scope": "openid weir:agent weir:approve",
	}
	for k, v := range changed {
		if all[k] = v; v == nil {
			delete(all, k)
		}
	}
	return all
}

func sign(t *testing.T, key jose.SigningKey, kind string, claims map[string]any) string {
	t.Helper()
	opts := &jose.SignerOptions{}
	if kind != "" {
		opts.WithType(jose.ContentType(kind))
	}
	signer, err := jose.NewSigner(key, opts)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOAuth(t *testing.T) {
	p, other := newProvider(t), newProvider(t)
	clock := func() time.Time { return now }
	door := signin.New(signin.Options{Now: clock, OAuth: &signin.OAuth{Issuer: p.URL, Audience: "https://weir.example/mcp"},
		Tokens: []signin.Token{{Name: "token:ann", Secret: "named-by-the-operator", Roles: []signin.Role{signin.Agent}}}})
	h := door.Require(signin.Agent, seen(t))
	public, err := json.Marshal(jose.JSONWebKey{Key: p.key.Public(), KeyID: p.id})
	if err != nil {
		t.Fatal(err)
	}
	type claims = map[string]any
	for _, c := range []struct {
		name, token string
		status      int
		who         string
	}{
		{"an access token", p.token(t, "at+jwt", nil), 200, "oauth:ann"},
		{"of a server that names no type", p.token(t, "", nil), 200, "oauth:ann"},
		{"several audiences", p.token(t, "JWT", claims{"aud": []string{"x", "https://weir.example/mcp"}}), 200, "oauth:ann"},
		{"an agent alone", p.token(t, "at+jwt", claims{"scope": "weir:agent"}), 200, "oauth:ann as an agent"},
		{"scopes in a list", p.token(t, "at+jwt", claims{"scope": nil, "scp": []string{"weir:agent"}}), 200, "oauth:ann as an agent"},
		{"scopes in scp", p.token(t, "at+jwt", claims{"scope": nil, "scp": "weir:admin"}), 200, "oauth:ann"},
		{"a named token", "named-by-the-operator", 200, "token:ann as an agent"},
		{"without a scope", p.token(t, "at+jwt", claims{"scope": nil}), 403, ""},
		{"scope of another role", p.token(t, "at+jwt", claims{"scope": "weir:audit"}), 403, ""},
		{"scope that begins like one", p.token(t, "at+jwt", claims{"scope": "weir:agents"}), 403, ""},
		{"expired", p.token(t, "at+jwt", claims{"exp": now.Add(-time.Minute).Unix()}), 401, ""},
		{"without an end", p.token(t, "at+jwt", claims{"exp": nil}), 401, ""},
		{"not yet", p.token(t, "at+jwt", claims{"nbf": now.Add(time.Hour).Unix()}), 401, ""},
		{"of another issuer", p.token(t, "at+jwt", claims{"iss": "https://id.example"}), 401, ""},
		{"signed by another server", other.token(t, "at+jwt", claims{"iss": p.URL}), 503, ""}, // its keys were read just now, and may have changed since
		{"for another audience", p.token(t, "at+jwt", claims{"aud": "https://other.example/mcp"}), 401, ""},
		{"for none", p.token(t, "at+jwt", claims{"aud": nil}), 401, ""},
		{"an id token by its type", p.token(t, "id_token", nil), 401, ""},
		{"an id token by its claims", p.token(t, "JWT", claims{"nonce": "n"}), 401, ""},
		{"of nobody", p.token(t, "at+jwt", claims{"sub": nil}), 401, ""},
		{"a name that is none", p.token(t, "at+jwt", claims{"sub": "ann\x00agent only"}), 401, ""},
		{"bound to a certificate", p.token(t, "at+jwt", claims{"cnf": claims{"x5t#S256": "AAAA"}}), 401, ""},
		{"bound to a key", p.token(t, "at+jwt", claims{"cnf": claims{"jkt": "AAAA"}}), 401, ""},
		{"signed with the public key as a secret", sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: public}, "at+jwt", p.claims(nil)), 401, ""},
		{"unsigned", unsigned(t, p.claims(nil)), 401, ""},
		{"no JWT", "eyJh.eyJh.x", 401, ""},
	} {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+c.token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("Who") != c.who {
			t.Errorf("%s: %d %q %s, want %d %q", c.name, w.Code, w.Header().Get("Who"), w.Body, c.status, c.who)
		}
		challenge := w.Header().Get("WWW-Authenticate")
		if w.Code >= 400 && w.Code != 503 && !strings.Contains(challenge, `resource_metadata="https://weir.example/.well-known/oauth-protected-resource/mcp"`) {
			t.Errorf("%s: challenge %s", c.name, challenge)
		}
	}
}

func unsigned(t *testing.T, claims map[string]any) string {
	t.Helper()
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt"}`)) + "." + base64.RawURLEncoding.EncodeToString(body) + "."
}

// While the keys of the authorization server cannot be read nobody comes in, and it is not asked again for each token that
// anybody sends; keys that are known go on counting.
func TestKeys(t *testing.T) {
	var err error
	p := newProvider(t)
	p.down.Store(true)
	var clock atomic.Int64
	door := signin.New(signin.Options{Now: func() time.Time { return now.Add(time.Duration(clock.Load())) },
		OAuth: &signin.OAuth{Issuer: p.URL, Audience: "https://weir.example/mcp", Claim: "email"}})
	h := door.Require(signin.Agent, seen(t))
	send := func(token string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	good := p.token(t, "at+jwt", nil)
	if w := send(good); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("without the keys: %d", w.Code)
	}
	p.down.Store(false)
	if w := send(good); w.Code != http.StatusServiceUnavailable {
		t.Errorf("at once again: %d", w.Code)
	}
	clock.Add(int64(time.Minute))
	if w := send(good); w.Code != 200 || w.Header().Get("Who") != "oauth:ann@example.com" {
		t.Errorf("later: %d %v", w.Code, w.Header())
	}
	fetched := p.fetched.Load()
	old := p.id
	for range 100 {
		p.id = rand.Text()
		if w := send(p.token(t, "at+jwt", nil)); w.Code != 401 && w.Code != http.StatusServiceUnavailable {
			t.Errorf("a key that nobody has: %d", w.Code)
		}
	}
	if n := p.fetched.Load() - fetched; n > 1 {
		t.Errorf("asked %d times", n)
	}
	p.id = old
	p.down.Store(true)
	if w := send(good); w.Code != 200 {
		t.Errorf("while the server is down: %d", w.Code)
	}
	p.down.Store(false)
	p.id = "k2"
	clock.Add(int64(time.Minute))
	rotated := send(p.token(t, "at+jwt", nil))
	for deadline := time.Now().Add(time.Minute); rotated.Code != 200 && time.Now().Before(deadline); { // a request for the keys that failed may just be ending
		rotated = send(p.token(t, "at+jwt", nil))
	}
	if rotated.Code != 200 {
		t.Errorf("after a rotation: %d", rotated.Code)
	}
	withdrawn := p.token(t, "at+jwt", nil)
	if p.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	p.id = "k3"
	clock.Add(int64(20 * time.Minute))
	if w := send(withdrawn); w.Code == 200 {
		t.Error("a token of a key that was withdrawn counts")
	}
}

func TestCertificates(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	make := func(c *x509.Certificate) *x509.Certificate {
		c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(1), now, now.Add(time.Hour)
		raw, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := x509.ParseCertificate(raw)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	agent := make(&x509.Certificate{URIs: []*url.URL{{Scheme: "spiffe", Host: "acme", Path: "/agent"}}, Subject: pkix.Name{CommonName: "boss"}})
	boss := make(&x509.Certificate{Subject: pkix.Name{CommonName: "boss"}})
	stranger := make(&x509.Certificate{Subject: pkix.Name{CommonName: "stranger"}})
	p := newProvider(t)
	late := false
	clock := func() time.Time {
		if late {
			return now.Add(2 * time.Hour)
		}
		return now
	}
	door := signin.New(signin.Options{Now: clock, OAuth: &signin.OAuth{Issuer: p.URL, Audience: "https://weir.example/mcp"},
		Certificates: []signin.Certificate{{Name: "spiffe://acme/agent", Roles: []signin.Role{signin.Agent}}, {Name: "boss", Roles: signin.Roles()}}})
	sum := sha256.Sum256(agent.Raw)
	mine := p.token(t, "at+jwt", map[string]any{"cnf": map[string]any{"x5t#S256": base64.RawURLEncoding.EncodeToString(sum[:])}})
	for _, c := range []struct {
		name     string
		shown    *x509.Certificate
		verified bool
		token    string
		status   int
		who      string
	}{
		{"by its URI", agent, true, "", 200, "cert:spiffe://acme/agent as an agent"},
		{"by its common name", boss, true, "", 200, "cert:boss"},
		{"that nobody has named", stranger, true, "", 401, ""},
		{"that was not verified", boss, false, "", 401, ""},
		{"beside a bad token", boss, true, "x", 401, ""},
		{"that a token is bound to", agent, true, mine, 200, "oauth:ann"},
		{"that a token is not bound to", boss, true, mine, 401, ""},
	} {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c.shown}}
		if c.verified {
			r.TLS.VerifiedChains = [][]*x509.Certificate{{c.shown}}
		}
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		w := httptest.NewRecorder()
		door.Require(signin.Agent, seen(t)).ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("Who") != c.who {
			t.Errorf("%s: %d %q, want %d %q", c.name, w.Code, w.Header().Get("Who"), c.status, c.who)
		}
	}
	late = true
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{boss}, VerifiedChains: [][]*x509.Certificate{{boss}}}
	w := httptest.NewRecorder()
	if door.Require(signin.Agent, seen(t)).ServeHTTP(w, r); w.Code != 401 {
		t.Errorf("a certificate that has expired since it was shown: %d", w.Code)
	}
}

func TestMetadata(t *testing.T) {
	if signin.New(signin.Options{}).Metadata() != nil {
		t.Error("metadata without an authorization server")
	}
	door := signin.New(signin.Options{OAuth: &signin.OAuth{Issuer: "https://id.example", Audience: "https://weir.example/mcp",
		Scopes: map[string]signin.Role{"use": signin.Agent, "decide": signin.Approver}}})
	w := httptest.NewRecorder()
	door.Metadata().ServeHTTP(w, httptest.NewRequest("GET", signin.MetadataPath+"/mcp", nil))
	want := `{"authorization_servers":["https://id.example"],"bearer_methods_supported":["header"],"resource":"https://weir.example/mcp",` +
		`"resource_name":"Weir","scopes_supported":["use","decide"]}`
	if w.Body.String() != want {
		t.Errorf("got %s", w.Body)
	}
}
