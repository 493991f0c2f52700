package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/signin"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/record"
)

const evilHost = "evil.example"

// port returns the port of a URL without a path.
func port(base string) string { return base[strings.LastIndexByte(base, ':')+1:] }

// outcome has the page run a fetch, and returns the status of what it may read, or "kept away".
func (b *tab) outcome(t *testing.T, fetch string) (said string) {
	t.Helper()
	b.run(t, chromedp.Evaluate(fetch+`.then((r) => r.type == "opaque" ? "not shown" : String(r.status)).catch(() => "kept away")`, &said,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return said
}

// blank serves a page without content, for scripts to run on.
func blank(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>a page</title>")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestBrowserRefuses(t *testing.T) {
	b := open(t, evilHost)
	s := serve(t, story())
	b.run(t, chromedp.Navigate(s.console.LoginLink()), chromedp.WaitVisible("#s-open"))
	var token string
	b.run(t, chromedp.Navigate(s.base+"/approvals"), chromedp.Value("input[name=form]", &token))
	other := blank(t)
	for _, from := range []string{"http://" + evilHost + ":" + port(other), other} { // another site, and the same site at another port
		for _, action := range []string{"/answer", "/accept", "/end", "/declassify", "/except"} {
			form := fmt.Sprintf(`const f = document.createElement("form"); f.method = "post"; f.action = %q;
				for (const [n, v] of Object.entries({id: "A", choice: "once", key: "k", why: "w", drop: "private", form: %q})) {
					const i = document.createElement("input"); i.name = n; i.value = v; f.append(i);
				} document.body.append(f); f.submit();`, s.base+action, token)
			b.run(t, chromedp.Navigate(from))
			b.goes(t, chromedp.Evaluate("{"+form+"}", nil))
			if text := b.text(t); !strings.Contains(text, "cross-origin") && !strings.Contains(text, "Not signed in") {
				t.Errorf("a form of %s to %s: %s", from, action, text)
			}
		}
		b.run(t, chromedp.Navigate(from))
		for _, fetch := range []string{
			fmt.Sprintf(`fetch(%q, {credentials: "include"})`, s.base+"/events"),
			fmt.Sprintf(`fetch(%q, {method: "POST", credentials: "include", body: new URLSearchParams({id: "A", choice: "once", form: %q})})`, s.base+"/answer", token),
		} {
			if said := b.outcome(t, fetch); said != "kept away" {
				t.Errorf("%s of %s: %s", fetch, from, said)
			}
		}
		b.outcome(t, fmt.Sprintf(`fetch(%q, {mode: "no-cors", method: "POST", credentials: "include", body: new URLSearchParams({id: "A", choice: "once", form: %q})})`, s.base+"/answer", token))
		var framed string
		b.run(t, chromedp.Evaluate(fmt.Sprintf(`new Promise((done) => { const f = document.createElement("iframe"); f.src = %q;
			f.onload = () => { try { done(f.contentDocument ? "seen" : "hidden") } catch { done("hidden") } }; document.body.append(f); })`, s.base+"/approvals"), &framed,
			func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		if framed != "hidden" {
			t.Errorf("a frame of %s: %s", from, framed)
		}
	}
	b.run(t, chromedp.Navigate("http://"+evilHost+":"+port(s.base)+"/"))
	if text := b.text(t); !strings.Contains(text, "not the host") {
		t.Errorf("under another name: %s", text)
	}
	b.run(t, chromedp.Navigate(s.base+"/approvals"))
	for _, form := range []string{`{id: "A", choice: "once"}`, `{id: "A", choice: "once", form: "0"}`} {
		if said := b.outcome(t, `fetch("/answer", {method: "POST", body: new URLSearchParams(`+form+`)})`); said != "403" {
			t.Errorf("without the token of the page: %s", said)
		}
	}
	if did := s.done(); did != nil {
		t.Errorf("done: %q", did)
	}
	b.check(t)
}

// A door is a gateway behind its HTTP binding, and counts what it lets in.
type door struct {
	base string
	in   atomic.Int64 // requests that were not refused
}

// gate serves a gateway; with a token, if it is not "".
func gate(t *testing.T, token string) *door {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	behind := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(behind.Close)
	g, err := gateway.New(gateway.Options{State: guard.NewState(nil, record.Discard()), Servers: []gateway.Server{{Name: "s", Spec: upstream.Spec{Name: "s", URL: behind.URL}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	var h http.Handler = g.Handler()
	if token != "" {
		h = signin.New(signin.Options{Tokens: []signin.Token{{Name: "local", Secret: token, Roles: signin.Roles()}}}).Require(signin.Agent, g.Handler())
	}
	d := &door{}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &seen{ResponseWriter: w}
		h.ServeHTTP(seen, r)
		if seen.status < 400 {
			d.in.Add(1)
		}
	}))
	t.Cleanup(front.Close)
	d.base = front.URL
	return d
}

// seen remembers the status of an answer.
type seen struct {
	http.ResponseWriter
	status int
}

func (s *seen) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func (s *seen) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// hello returns a fetch that sends initialize to an address, with more members of the request's options.
func hello(to, more string) string {
	return fmt.Sprintf(`fetch(%q, {method: "POST", body: JSON.stringify({jsonrpc: "2.0", id: 1, method: "initialize",
		params: {protocolVersion: "2025-06-18", capabilities: {}, clientInfo: {name: "c", version: "1"}}}), %s})`, to, more)
}

const proper = `"Content-Type": "application/json", "Accept": "application/json, text/event-stream"`

func TestBrowserAndGateway(t *testing.T) {
	b := open(t, evilHost)
	other := blank(t)
	for _, token := range []string{"", "secret"} {
		d := gate(t, token)
		signed := ""
		if token != "" {
			signed = `, "Authorization": "Bearer secret"`
		}
		for _, from := range []string{"http://" + evilHost + ":" + port(other), other} {
			b.run(t, chromedp.Navigate(from))
			for _, more := range []string{
				`headers: {` + proper + signed + `}`,
				`mode: "no-cors", headers: {"Content-Type": "text/plain"}`,
				`mode: "no-cors", headers: {"Accept": "application/json, text/event-stream"}`,
			} {
				if said := b.outcome(t, hello(d.base+"/mcp", more)); said == "200" {
					t.Errorf("%s from %s: %s", more, from, said)
				}
			}
			b.outcome(t, fmt.Sprintf(`fetch(%q, {mode: "no-cors", headers: {Accept: "text/event-stream"}})`, d.base+"/mcp"))
		}
		b.run(t, chromedp.Navigate("http://"+evilHost+":"+port(d.base)+"/mcp"))
		if said := b.outcome(t, hello("/mcp", `headers: {`+proper+signed+`}`)); said != "403" {
			t.Errorf("under another name, token %q: %s", token, said)
		}
		b.run(t, chromedp.Navigate(d.base+"/mcp"))
		if n := d.in.Load(); n != 0 {
			t.Errorf("%d requests of others were let in, token %q", n, token)
		}
		if token != "" {
			for _, header := range []string{"", `, "Authorization": "Bearer wrong"`, `, "Authorization": "Basic c2VjcmV0"`} {
				if said := b.outcome(t, hello("/mcp", `headers: {`+proper+header+`}`)); said != "401" {
					t.Errorf("without the token (%s): %s", header, said)
				}
			}
		}
		if said := b.outcome(t, hello("/mcp", `headers: {`+proper+signed+`}`)); said != "200" {
			t.Errorf("from its own origin, token %q: %s", token, said)
		}
	}
	b.check(t)
}
