package oauth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Secrets are posted, and a post goes nowhere but where it was sent to.
func TestNoRedirect(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("stranger got %s %s", r.Method, r.URL)
	}))
	defer stranger.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{stranger.URL, "/elsewhere"} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/token" {
					t.Errorf("followed to %s with %s", r.URL, r.Method)
				}
				http.Redirect(w, r, to, status)
			}))
			client := newClient(t.Context(), Server{URL: server.URL})
			c := &tokenClient{client, server.URL + "/token", "id", "s3cret", methodPost}
			if _, err := c.token(t.Context(), url.Values{"refresh_token": {"r3fresh"}}); err == nil || strings.Contains(err.Error(), "3cret") {
				t.Errorf("%d to %s: %v", status, to, err)
			}
			server.Close()
		}
	}
}

// Metadata may be redirected within its origin only.
func TestMetadataRedirect(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("stranger got %s", r.URL)
	}))
	defer stranger.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/out":
			http.Redirect(w, r, stranger.URL, http.StatusFound)
		case "/in":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		}
	}))
	defer server.Close()
	client := newClient(t.Context(), Server{URL: server.URL})
	for path, ok := range map[string]bool{"/out": false, "/in": true, "/loop": false} {
		resp, err := client.Get(server.URL + path)
		if (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
}

// A server on a public address cannot have addresses asked that are not. The address is one for documentation (RFC 5737).
func TestPublicServer(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer inside.Close()
	for _, c := range []struct {
		server Server
		ok     bool
	}{
		{Server{URL: "https://192.0.2.1/mcp"}, false},
		{Server{URL: "https://192.0.2.1/mcp", Issuer: inside.URL}, true},
		{Server{URL: "http://127.0.0.1:1/mcp"}, true},
	} {
		resp, err := newClient(t.Context(), c.server).Get(inside.URL)
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.server, err)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
	for addr, public := range map[string]bool{
		"8.8.8.8": true, "2001:4860:4860::8888": true, "10.0.0.1": false, "192.168.1.1": false, "100.64.0.1": false, "169.254.169.254": false,
		"127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false, "fd00::1": false, "fe80::1": false, "0.0.0.0": false,
	} {
		if got := publicAddr(netip.MustParseAddr(addr)); got != public {
			t.Errorf("%s: public %v", addr, got)
		}
	}
}

func TestSafeEndpoint(t *testing.T) {
	for raw, safe := range map[string]bool{
		"https://login.example/token": true, "http://127.0.0.1:1/token": true, "http://localhost/token": true, "http://[::1]/token": true,
		"http://login.example/token": false, "javascript:alert(1)": false, "https:///token": false, "": false, "file:///etc/passwd": false,
		"http://127.0.0.1.evil.example/": false, "http://localhost.evil.example/": false,
	} {
		if err := safeEndpoint(raw); (err == nil) != safe {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestParseToken(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		text string
		want *tokenAnswer
	}{
		{`{"access_token":"a","token_type":"bearer"}`, &tokenAnswer{access: "a"}},
		{`{"access_token":"a","token_type":"Bearer","expires_in":60,"refresh_token":"b","scope":"x  y"}`,
			&tokenAnswer{"a", "b", []string{"x", "y"}, now.Add(time.Minute)}},
		{`{"access_token":"a","token_type":"Bearer","expires_in":"60"}`, &tokenAnswer{access: "a", expires: now.Add(time.Minute)}},
		{`{"access_token":"a","token_type":"Bearer","expires_in":-1}`, &tokenAnswer{access: "a"}},
		{`{"access_token":"a","token_type":"Bearer","expires_in":1e300}`, &tokenAnswer{access: "a"}},
		{`{"access_token":"a","token_type":"Bearer","scope":"\" \\ ok"}`, &tokenAnswer{access: "a", scopes: []string{"ok"}}},
		{`{"access_token":"a","token_type":"mac"}`, nil},
		{`{"access_token":"a"}`, nil},
		{`{"access_token":"a\r\nX: y","token_type":"Bearer"}`, nil},
		{`{"access_token":"","token_type":"Bearer"}`, nil},
		{`{"access_token":"` + strings.Repeat("a", maxToken+1) + `","token_type":"Bearer"}`, nil},
		{`access_token=a`, nil},
		{``, nil},
	} {
		got, err := parseToken([]byte(c.text), now)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(tokenAnswer{}), cmpopts.EquateEmpty()); diff != "" || (err == nil) != (c.want != nil) {
			t.Errorf("%.80s: %v %s", c.text, err, diff)
		}
	}
}

// What an authorization server says of a refusal is repeated, but not the secrets that it was sent.
func TestRefusal(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		w.Write([]byte(`{"error":"invalid_grant","error_description":"` + r.FormValue("refresh_token") + ` of ` + r.FormValue("client_secret") + `"}`))
	}))
	defer server.Close()
	c := &tokenClient{newClient(t.Context(), Server{URL: server.URL}), server.URL, "id", "s3cret", methodPost}
	_, err := c.token(t.Context(), url.Values{"refresh_token": {"r3fresh"}})
	var r *refusal
	if !errors.As(err, &r) || !isOver(err) || err.Error() != `authorization server answers "invalid_grant": "[secret] of [secret]"` {
		t.Errorf("got %v", err)
	}
}

// FuzzParse checks that nothing that a stranger writes makes a parser panic, or give what its callers do not expect.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"access_token":"a","token_type":"bearer","expires_in":60,"refresh_token":"b","scope":"x y"}`, `{"error":"invalid_grant"}`,
		`Bearer resource_metadata="https://a/b", scope="x y", error=insufficient_scope`, `Basic realm="a", Bearer scope="b"`, `Bearer "`,
		`{"version":1,"server":"https://a/","secret":{"access_token":"a"}}`, `{"version":2}`, `null`, `[`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := parseToken([]byte(text), time.Now()); err == nil && (!isBearer(a.access) || len(a.scopes) > maxScopes) {
			t.Errorf("token %+v", a)
		}
		parseRefusal([]byte(text))
		c := parseChallenge(http.Header{"Www-Authenticate": {text}})
		for _, s := range c.scopes {
			if s == "" || len(s) > maxScope || strings.ContainsAny(s, " \"\\\n") {
				t.Errorf("scope %q", s)
			}
		}
		if g, err := parseGrant([]byte(text)); err == nil && g == nil {
			t.Error("neither a grant nor an error")
		}
	})
}
