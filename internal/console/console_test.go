package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/console"
)

// A site is a console that is served.
type site struct {
	*fake
	console *console.Console
	base    string
	cookie  *http.Cookie // of a login; nil before it
}

func serve(t testing.TB, f *fake) *site {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	c, err := console.New(f.options(server.Listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = c.Handler()
	server.Start()
	t.Cleanup(server.Close)
	return &site{fake: f, console: c, base: server.URL}
}

// signIn uses the login link.
func (s *site) signIn(t testing.TB) {
	t.Helper()
	resp := s.send(t, http.MethodGet, s.console.LoginLink(), nil, nil)
	if resp.StatusCode != http.StatusSeeOther || len(resp.Cookies()) != 1 {
		t.Fatalf("login: %s, cookies %v", resp.Status, resp.Cookies())
	}
	s.cookie = resp.Cookies()[0]
}

// send makes a request with the cookie and more headers. Redirects are not followed.
func (s *site) send(t testing.TB, method, target string, form url.Values, header http.Header) *http.Response {
	t.Helper()
	if strings.HasPrefix(target, "/") {
		target = s.base + target
	}
	req, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name := range header {
		req.Header.Set(name, header.Get(name))
	}
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	if s.cookie != nil {
		req.AddCookie(s.cookie)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func body(t testing.TB, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var formToken = regexp.MustCompile(`name="form" value="([0-9a-f]{64})"`)

// token returns what the forms of the login carry.
func (s *site) token(t testing.TB) string {
	t.Helper()
	m := formToken.FindStringSubmatch(body(t, s.send(t, http.MethodGet, "/approvals", nil, nil)))
	if m == nil {
		t.Fatal("the page of approvals has no token")
	}
	return m[1]
}

var allPages = []string{"/", "/approvals", "/sessions", "/session", "/events", "/event?seq=0", "/policy", "/servers", "/tools", "/pins", "/findings", "/finding?entry=7&number=1", "/values"}

// paths returns every page, with the key of the first session where one is needed.
func (s *site) paths() []string {
	out := append([]string(nil), allPages...)
	for i, p := range out {
		if p == "/session" || p == "/values" {
			out[i] = p + "?key=" + url.QueryEscape(s.sessions[0].Key)
		}
	}
	return out
}

// look returns the answer to a look at a hidden value.
func (s *site) look(t testing.TB, id string, more url.Values) *http.Response {
	t.Helper()
	form := url.Values{"id": {id}, "key": {url.QueryEscape(s.sessions[0].Key)}, "form": {s.token(t)}}
	for name := range more {
		form.Set(name, more.Get(name))
	}
	return s.send(t, http.MethodPost, "/value", form, nil)
}

// TestHiddenValues looks at hidden values: only a form of the console shows a text, all of it, and each look is noted.
func TestHiddenValues(t *testing.T) {
	s := serve(t, story())
	s.signIn(t)
	secret, key := "mallory@evil.example", s.sessions[0].Key
	for _, path := range append(s.paths(), "/value", "/value?id=V2&key="+url.QueryEscape(key)) {
		if page := body(t, s.send(t, http.MethodGet, path, nil, nil)); strings.Contains(page, "Please send") {
			t.Errorf("%s shows the value", path)
		}
	}
	for name, more := range map[string]url.Values{"without a token": {"form": {""}}, "with another token": {"form": {strings.Repeat("0", 64)}}} {
		if resp := s.look(t, "V2", more); resp.StatusCode != http.StatusForbidden || strings.Contains(body(t, resp), secret) {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
	if resp := s.look(t, "V9", nil); resp.StatusCode != http.StatusConflict {
		t.Errorf("a value that is not there: %s", resp.Status)
	}
	if did := s.done(); did != nil {
		t.Fatalf("done: %q", did)
	}
	page := body(t, s.look(t, "V2", nil))
	if !strings.Contains(page, secret) || !strings.Contains(page, `\u{202e}`) || !strings.Contains(page, "&lt;b&gt;Now.") {
		t.Error(page)
	}
	text, looks := "", 0
	for from := "0"; from != ""; looks++ {
		page := body(t, s.look(t, "V1", url.Values{"from": {from}}))
		_, part, _ := strings.Cut(page, `<p class="passage">`)
		part, _, _ = strings.Cut(part, "</p>")
		text += part
		_, from, _ = strings.Cut(page, `name="from" value="`)
		from, _, _ = strings.Cut(from, `"`)
	}
	if text != s.hidden[1].Text {
		t.Errorf("the parts are %d bytes of %d", len(text), len(s.hidden[1].Text))
	}
	want := append([]string{"show V2 of " + key}, slices.Repeat([]string{"show V1 of " + key}, looks)...)
	if diff := cmp.Diff(want, s.done()); diff != "" {
		t.Error(diff)
	}
	opts := s.options("127.0.0.1:1")
	opts.Vault = nil
	c, err := console.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := &site{fake: s.fake, console: c}
	if page := elsewhere.direct(t, "/values"); !strings.Contains(page, "This console shows no hidden values") {
		t.Error(page)
	}
}

// direct returns a page of a console that is not served.
func (s *site) direct(t testing.TB, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.console.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, s.console.LoginLink(), nil))
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:1"+path, nil)
	for _, c := range w.Result().Cookies() {
		r.AddCookie(c)
	}
	w = httptest.NewRecorder()
	s.console.Handler().ServeHTTP(w, r)
	return w.Body.String()
}

// A link that lay in a log for a quarter of an hour logs nobody in.
func TestLoginLinkExpires(t *testing.T) {
	now := time.Now()
	opts := story().options("127.0.0.1:1")
	opts.Now = func() time.Time { return now }
	c, err := console.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	link := c.LoginLink()
	use := func() int {
		req := httptest.NewRequest(http.MethodGet, link, nil)
		w := httptest.NewRecorder()
		c.Handler().ServeHTTP(w, req)
		return w.Code
	}
	now = now.Add(15 * time.Minute)
	if got := use(); got != http.StatusForbidden || c.LoginLink() != "" {
		t.Errorf("after 15 minutes: %d, link %q", got, c.LoginLink())
	}
	now = now.Add(-time.Second)
	if got := use(); got != http.StatusSeeOther {
		t.Errorf("just in time: %d", got)
	}
}

func TestPagesNeedALogin(t *testing.T) {
	s := serve(t, story())
	link := s.console.LoginLink()
	for _, path := range append(s.paths(), "/live") {
		if resp := s.send(t, http.MethodGet, path, nil, nil); resp.StatusCode != http.StatusUnauthorized || strings.Contains(body(t, resp), "quarterly") {
			t.Errorf("%s without a login: %s", path, resp.Status)
		}
	}
	if resp := s.send(t, http.MethodGet, "/login?once=wrong", nil, nil); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a made up link: %s", resp.Status)
	}
	s.signIn(t)
	if !s.cookie.HttpOnly || s.cookie.SameSite != http.SameSiteStrictMode {
		t.Errorf("cookie: %v", s.cookie)
	}
	if resp := s.send(t, http.MethodGet, link, nil, nil); resp.StatusCode != http.StatusForbidden {
		t.Errorf("the link a second time: %s", resp.Status)
	}
	for _, path := range s.paths() {
		resp := s.send(t, http.MethodGet, path, nil, nil)
		if text := body(t, resp); resp.StatusCode != http.StatusOK || !strings.Contains(text, "<h1>") {
			t.Errorf("%s: %s\n%.400s", path, resp.Status, text)
		}
		if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
	}
}

func TestWhoMayChangeThings(t *testing.T) {
	s := serve(t, story())
	s.signIn(t)
	form := url.Values{"id": {"A"}, "choice": {"once"}, "form": {s.token(t)}}
	without := url.Values{"id": {"A"}, "choice": {"once"}}
	for _, c := range []struct {
		name   string
		method string
		form   url.Values
		header http.Header
		want   int
	}{
		{"from another site", http.MethodPost, form, http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		{"from another origin", http.MethodPost, form, http.Header{"Origin": {"http://evil.example"}}, http.StatusForbidden},
		{"without a token", http.MethodPost, without, nil, http.StatusForbidden},
		{"with another token", http.MethodPost, url.Values{"id": {"A"}, "choice": {"once"}, "form": {strings.Repeat("0", 64)}}, nil, http.StatusForbidden},
		{"for another host", http.MethodPost, form, http.Header{"Host": {"evil.example"}}, http.StatusMisdirectedRequest},
		{"with GET", http.MethodGet, form, nil, http.StatusMethodNotAllowed},
	} {
		if resp := s.send(t, c.method, "/answer", c.form, c.header); resp.StatusCode != c.want {
			t.Errorf("%s: %s, want %d", c.name, resp.Status, c.want)
		}
	}
	if did := s.done(); did != nil {
		t.Fatalf("done: %q", did)
	}
	if resp := s.send(t, http.MethodPost, "/answer", form, nil); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("an answer: %s", resp.Status)
	}
	if resp := s.send(t, http.MethodPost, "/answer", form, nil); resp.StatusCode != http.StatusConflict {
		t.Errorf("a second answer: %s", resp.Status)
	}
	if diff := cmp.Diff([]string{"once A"}, s.done()); diff != "" {
		t.Error(diff)
	}
}

func TestHostsThatAreNotOurs(t *testing.T) {
	s := serve(t, story())
	s.signIn(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(s.base, "http://"), ":")
	for host, want := range map[string]int{"localhost:" + port: 200, "evil.example:" + port: 421, "127.0.0.1": 421, "localhost": 421, "[::1]:" + port: 421} {
		if resp := s.send(t, http.MethodGet, "/", nil, http.Header{"Host": {host}}); resp.StatusCode != want {
			t.Errorf("%s: %s", host, resp.Status)
		}
	}
}

func TestEventsAreFiltered(t *testing.T) {
	s := serve(t, story())
	s.signIn(t)
	for query, want := range map[string]string{
		"effect=block": "post_form", "kind=label": "read_file", "subject=mail%2Fsend_email": "send_email", "text=no+such+thing": "No event fits.",
	} {
		if page := body(t, s.send(t, http.MethodGet, "/events?"+query, nil, nil)); !strings.Contains(page, want) || query != "kind=label" && strings.Contains(page, "read_file") {
			t.Errorf("%s: %.2000s", query, page)
		}
	}
	many := &fake{sessions: story().sessions}
	for range 250 {
		many.add(story().events[0].Event)
	}
	s = serve(t, many)
	s.signIn(t)
	seen, next := 0, "/events"
	older := regexp.MustCompile(`href="([^"]+)" rel="next"`)
	for next != "" {
		page := body(t, s.send(t, http.MethodGet, strings.ReplaceAll(next, "&amp;", "&"), nil, nil))
		seen += strings.Count(page, `href="/event?seq=`)
		next = ""
		if m := older.FindStringSubmatch(page); m != nil {
			next = m[1]
		}
	}
	if seen != 250 {
		t.Errorf("%d of 250 events on all pages", seen)
	}
}
