package oauth

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
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
			client := newClient(Server{URL: server.URL})
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
	client := newClient(Server{URL: server.URL})
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

// A server outside cannot have addresses inside asked, by whatever names it calls them.
func TestPublicServer(t *testing.T) {
	asked := 0
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer inner.Close()
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	for _, c := range []struct {
		server Server
		ok     bool
	}{
		{Server{URL: "https://192.0.2.1/mcp"}, false}, // for documentation (RFC 5737)
		{Server{URL: "https://192.0.2.1/mcp", Issuer: inner.URL}, true},
		{Server{URL: "https://evil.example/mcp"}, false},
		{Server{URL: "https://localhost.evil.example/mcp"}, false},
		{Server{URL: "http://127.0.0.1:1/mcp"}, true},
		{Server{URL: "http://localhost:1/mcp"}, true},
	} {
		for _, named := range []string{inner.URL, "http://localhost:" + port} {
			resp, err := newClient(c.server).Get(named)
			if (err == nil) != c.ok || err != nil && !errors.Is(err, errInside) {
				t.Errorf("%+v names %s: %v", c.server, named, err)
			}
			if err == nil {
				resp.Body.Close()
			}
		}
	}
	if asked != 6 {
		t.Errorf("%d requests came through, want 6", asked)
	}
}

// Which servers are inside follows from their names alone.
func TestInside(t *testing.T) {
	for raw, want := range map[string]bool{
		"http://127.0.0.1/": true, "http://[::1]:80/": true, "https://10.1.2.3/": true, "https://100.64.0.1/": true, "https://[fd00::1]/": true,
		"http://0x7f.1/": true, "http://[::ffff:10.0.0.1]/": true, "http://wiki/": true, "https://wiki.corp/": true, "https://nas.local/": true,
		"https://mcp.example.com/": false, "https://evil.example/": false, "https://93.184.216.34/": false, "https://192.0.2.1/": false,
		"https://[64:ff9b::7f00:1]/": false, "https://[2002:7f00:1::]/": false, "https://localhost.evil.example/": false, "https:///": false, ":": false, "": false,
	} {
		if got := inside(raw); got != want {
			t.Errorf("%s: inside is %v", raw, got)
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
	c := &tokenClient{newClient(Server{URL: server.URL}), server.URL, "id", "s3cret", methodPost}
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
