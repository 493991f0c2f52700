package console_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

var (
	chromium    = flag.String("chromium", "", "test in a browser: this `PROGRAM`")
	screenshots = flag.String("screenshots", "", "write pictures of the main pages to this `DIRECTORY`")
)

// A tab is a page in a browser that notes what should not happen.
type tab struct {
	context.Context
	mu    sync.Mutex
	wrong []string
}

func open(t *testing.T) *tab {
	t.Helper()
	if *chromium == "" {
		t.Skip("no -chromium")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(*chromium), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"), chromedp.UserDataDir(profile(t)))
	alloc, cancelAlloc := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(cancelAlloc)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, cancelTime := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancelTime)
	b := &tab{Context: ctx}
	chromedp.ListenTarget(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *page.EventJavascriptDialogOpening:
			b.note("a dialog: %s", ev.Message)
		case *runtime.EventExceptionThrown:
			b.note("an exception: %s", ev.ExceptionDetails.Error())
		case *network.EventRequestWillBeSent:
			if u, err := url.Parse(ev.Request.URL); err == nil && u.Hostname() != "127.0.0.1" && u.Scheme != "about" && u.Hostname() != "evil.example" {
				b.note("a request: %s", ev.Request.URL)
			}
		}
	})
	b.run(t, network.Enable(), runtime.Enable())
	return b
}

func (b *tab) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

func (b *tab) run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(b, actions...); err != nil {
		t.Fatal(err)
	}
}

// check fails if anything happened that should not.
func (b *tab) check(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		t.Error(w)
	}
}

func (b *tab) text(t *testing.T) (text string) {
	t.Helper()
	b.run(t, chromedp.Text("body", &text, chromedp.ByQuery))
	return text
}

func TestBrowserAnswers(t *testing.T) {
	b := open(t)
	s := serve(t, story())
	b.run(t, chromedp.Navigate(s.console.LoginLink()), chromedp.WaitVisible("#s-open"))
	for _, c := range []struct{ id, choice string }{{"A", "deny"}, {"B", "end"}, {"C", "session"}, {"D", "once"}} {
		b.run(t, chromedp.Navigate(s.base+"/approvals"),
			chromedp.Click(fmt.Sprintf(`article[aria-labelledby="q-%s"] button[value=%s]`, c.id, c.choice)),
			chromedp.WaitNotPresent("#q-"+c.id))
	}
	if text := b.text(t); !strings.Contains(text, "Nothing waits for an answer.") {
		t.Error(text)
	}
	key := s.sessions[0].Key
	b.run(t, chromedp.Navigate(s.base+"/session?key="+url.QueryEscape(key)),
		chromedp.Click(`form[action="/declassify"] input[value=untrusted]`),
		chromedp.SendKeys(`form[action="/declassify"] input[name=why]`, "test data"), chromedp.Submit(`form[action="/declassify"] input[name=why]`),
		chromedp.WaitVisible("#s-flow"),
		chromedp.SendKeys(`form[action="/end"] input[name=why]`, "over"), chromedp.Submit(`form[action="/end"] input[name=why]`), chromedp.WaitVisible("#s-flow"))
	want := []string{"deny A", "end B", "session C", "once D", "lower " + key + " [untrusted]: test data", "end " + key + ": over"}
	if diff := cmp.Diff(want, s.done()); diff != "" {
		t.Error(diff)
	}
	var kind string
	b.run(t, chromedp.Navigate(s.base+"/session?key="+url.QueryEscape(key)), chromedp.Evaluate(`document.querySelector("a.stream").getAttribute("href")`, &kind))
	b.run(t, chromedp.Navigate(s.base+kind))
	if text := b.text(t); !strings.Contains(text, "label") || strings.Contains(text, "No event fits") {
		t.Errorf("an edge leads to %s: %s", kind, text)
	}
	b.check(t)
}

func TestBrowserFollows(t *testing.T) {
	b := open(t)
	s := serve(t, story())
	b.run(t, chromedp.Navigate(s.console.LoginLink()), chromedp.WaitVisible("#s-open"))
	if err := s.Answer(b, "A", "deny"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // the first news only tell where things stand
	if err := s.Answer(b, "B", "deny"); err != nil {
		t.Fatal(err)
	}
	b.run(t, chromedp.Poll(`document.querySelector("nav .count")?.textContent.startsWith("2")`, nil))
	b.check(t)
}

func TestBrowserWithHostileText(t *testing.T) {
	b := open(t)
	for _, text := range hostile {
		s := serve(t, poisoned(text))
		b.run(t, chromedp.Navigate(s.console.LoginLink()))
		for _, path := range s.paths() {
			var pwned bool
			var scripts, odd int
			var host string
			b.run(t, chromedp.Navigate(s.base+path), chromedp.WaitReady("h1"), chromedp.Evaluate("window.pwned !== undefined", &pwned),
				chromedp.Evaluate("document.querySelectorAll('script').length", &scripts),
				chromedp.Evaluate("document.querySelectorAll('img,iframe,style,base,meta[http-equiv],object,[onload],[onerror],[style]').length", &odd),
				chromedp.Evaluate("location.host", &host))
			if pwned || scripts != 1 || odd != 0 || "http://"+host != s.base {
				t.Errorf("%.40q on %s: ran %v, scripts %d, odd elements %d, at %s", text, path, pwned, scripts, odd, host)
			}
		}
	}
	b.check(t)
}

func TestBrowserRefuses(t *testing.T) {
	b := open(t)
	s := serve(t, story())
	b.run(t, chromedp.Navigate(s.console.LoginLink()), chromedp.WaitVisible("#s-open"))
	token := s.tokenIn(t, b)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form id=f method=post action="%s/answer"><input name=id value=A><input name=choice value=once><input name=form value="%s"></form><script>f.submit()</script>`, s.base, token)
	}))
	t.Cleanup(evil.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(evil.URL, "http://"), ":")
	b.run(t, chromedp.Navigate("http://evil.example:"+port+"/"), chromedp.Poll(`location.pathname == "/answer"`, nil))
	_, own, _ := strings.Cut(strings.TrimPrefix(s.base, "http://"), ":")
	b.run(t, chromedp.Navigate("http://evil.example:"+own+"/"))
	if text := b.text(t); !strings.Contains(text, "not the host") {
		t.Errorf("under another name: %s", text)
	}
	var status int
	b.run(t, chromedp.Navigate(s.base+"/approvals"), chromedp.Evaluate(
		`fetch("/answer",{method:"POST",body:new URLSearchParams({id:"A",choice:"once"})}).then(r=>r.status)`, &status,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if did := s.done(); status != http.StatusForbidden || did != nil {
		t.Errorf("without a token: %d; done %q", status, did)
	}
}

// tokenIn reads the token off the page in the browser.
func (s *site) tokenIn(t *testing.T, b *tab) (token string) {
	t.Helper()
	b.run(t, chromedp.Navigate(s.base+"/approvals"), chromedp.Value("input[name=form]", &token))
	return token
}

// TestBrowserWithMuch opens a page of 10,000 events and a picture of 500 edges, and says how long that took.
func TestBrowserWithMuch(t *testing.T) {
	b := open(t)
	f := &fake{sessions: story().sessions[:1]}
	key := f.sessions[0].Key
	for i := range 250 {
		f.add(record.Event{Kind: record.Label, Session: key, Server: "files", Name: fmt.Sprintf("source-%d", i), Label: &label.Label{Private: true}})
		f.add(record.Event{Kind: record.Decision, Session: key, Server: "mail", Name: fmt.Sprintf("to-%d", i), Phase: "call", Effect: "allow"})
	}
	for i := range 9_500 {
		f.add(record.Event{Kind: record.Decision, Session: "other", Server: "web", Name: fmt.Sprintf("page-%d", i), Phase: "call", Effect: "allow"})
	}
	s := serve(t, f)
	b.run(t, chromedp.Navigate(s.console.LoginLink()), chromedp.WaitVisible("#s-open"))
	for _, c := range []struct {
		path, selector string
		want           int
	}{{"/events?n=10000", "tbody tr", 10_000}, {"/session?key=" + url.QueryEscape(key), "a.stream", 500}} {
		var n int
		var scrolled float64
		began := time.Now()
		b.run(t, chromedp.Navigate(s.base+c.path), chromedp.Evaluate(fmt.Sprintf("document.querySelectorAll(%q).length", c.selector), &n))
		loaded := time.Since(began)
		began = time.Now()
		b.run(t, chromedp.Evaluate(`window.scrollTo(0, document.body.scrollHeight); window.scrollY`, &scrolled))
		t.Logf("%s: %d in %v, scrolled to the end in %v", c.path, n, loaded, time.Since(began))
		if n != c.want || scrolled == 0 {
			t.Errorf("%s: %d of %d, scrolled %v", c.path, n, c.want, scrolled)
		}
	}
	b.check(t)
}

// TestBrowserPictures makes the pictures of docs/console.md.
func TestBrowserPictures(t *testing.T) {
	b := open(t)
	if *screenshots == "" {
		t.Skip("no -screenshots")
	}
	f := story()
	f.questions = f.questions[:1]
	s := serve(t, f)
	b.run(t, chromedp.Navigate(s.console.LoginLink()), chromedp.WaitVisible("#s-open"))
	names := map[string]string{"now": "/", "approvals": "/approvals", "session": "/session?key=" + url.QueryEscape(s.sessions[0].Key), "events": "/events", "policy": "/policy"}
	for name, path := range names {
		for _, view := range []struct {
			width  int64
			scheme string
		}{{1200, "light"}, {420, "dark"}} {
			var picture []byte
			b.run(t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: view.scheme}}),
				emulation.SetDeviceMetricsOverride(view.width, 900, 1, false), chromedp.Navigate(s.base+path), chromedp.FullScreenshot(&picture, 100))
			if err := os.WriteFile(filepath.Join(*screenshots, fmt.Sprintf("%s-%d.png", name, view.width)), picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.check(t)
}

var _ console.Source = (*fake)(nil)

// profile returns a directory for a browser, whose last processes write to it while it is being removed.
func profile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "weir-browser-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 100 {
			if err = os.RemoveAll(dir); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("removing the browser's directory: %v", err)
	})
	return dir
}
