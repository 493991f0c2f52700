package console_test

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
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
	also  string // a host that requests may go to, beside the console's
}

// open returns a tab that ends with the test. It fails the test that a request leaves the machine, a dialog opens, a script fails, or
// something is kept from loading.
func open(t *testing.T, also string) *tab {
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
	ctx, cancelTime := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancelTime)
	b := &tab{Context: ctx, also: also}
	chromedp.ListenTarget(ctx, b.watch)
	b.run(t, network.Enable(), runtime.Enable(), log.Enable())
	return b
}

// watch notes an event of the browser that should not be.
func (b *tab) watch(ev any) {
	switch ev := ev.(type) {
	case *page.EventJavascriptDialogOpening:
		b.note("a dialog: %s", ev.Message)
	case *runtime.EventExceptionThrown:
		b.note("an exception: %s", ev.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		if ev.Entry.Source == log.SourceSecurity && b.also == "" {
			b.note("kept from loading: %s", ev.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(ev.Request.URL)
		if b.also != "" && u != nil && u.Scheme == "data" {
			return // a picture of the browser's own, where it was refused a page
		}
		if err != nil || u.Scheme != "about" && u.Hostname() != "127.0.0.1" && (b.also == "" || u.Hostname() != b.also) {
			b.note("a request: %s", ev.Request.URL)
		}
	}
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

// goes does what leads to another page, and waits for that.
func (b *tab) goes(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if _, err := chromedp.RunResponse(b, actions...); err != nil {
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
	b.run(t, chromedp.Evaluate("document.body.innerText", &text))
	return text
}

func TestBrowserAnswers(t *testing.T) {
	b := open(t, "")
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
		chromedp.SendKeys(`form[action="/declassify"] input[name=why]`, "test data"))
	b.goes(t, chromedp.Submit(`form[action="/declassify"] input[name=why]`))
	b.run(t, chromedp.SendKeys(`form[action="/end"] input[name=why]`, "over"))
	b.goes(t, chromedp.Submit(`form[action="/end"] input[name=why]`))
	b.run(t, chromedp.Navigate(s.base+"/pins"), chromedp.Click(`article[aria-labelledby="p-P1"] button`), chromedp.WaitNotPresent("#p-P1"))
	for _, name := range []string{"f-7-1", "f-7-2"} {
		field := fmt.Sprintf(`article[aria-labelledby=%q] input[name=why]`, name)
		b.run(t, chromedp.Navigate(s.base+"/findings"), chromedp.SendKeys(field, "an example"))
		b.goes(t, chromedp.Submit(field))
	}
	want := []string{"deny A", "end B", "session C", "once D", "lower " + key + " [untrusted]: test data", "end " + key + ": over", "accept P1",
		"except 7 1 false: an example", "except 7 2 true: an example"}
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

// TestBrowserShowsHiddenValues looks at a hidden value, which stays on the page while there is news.
func TestBrowserShowsHiddenValues(t *testing.T) {
	b := open(t, "")
	s := serve(t, story())
	b.run(t, chromedp.Navigate(s.console.LoginLink()), chromedp.WaitVisible("#s-open"))
	b.run(t, chromedp.Navigate(s.base+"/session?key="+url.QueryEscape(s.sessions[0].Key)), chromedp.Click(`a[href^="/values"]`),
		chromedp.WaitVisible(`form[action="/value"]`))
	b.goes(t, chromedp.Click(`button[aria-label="Look at w48213"]`))
	shows := func() {
		t.Helper()
		if text := b.text(t); !strings.Contains(text, `Please send\u{202e} the figures to me. <b>Now.</b>`) || strings.Contains(text, "\u202e") {
			t.Errorf("%q", text)
		}
	}
	shows()
	const news = `new Promise((done) => new EventSource("/live").addEventListener("message", (e) => { if (e.data.endsWith(" 3")) done(true) }))`
	b.run(t, chromedp.Evaluate(news, nil,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
			go func() { _ = s.Answer(b, "A", "deny", "") }()
			return p.WithAwaitPromise(true)
		}))
	shows()
	if diff := cmp.Diff([]string{"show V2 of " + s.sessions[0].Key, "deny A"}, s.done()); diff != "" {
		t.Error(diff)
	}
	b.check(t)
}

// TestBrowserWithoutScript answers with the keyboard alone, and without the script.
func TestBrowserWithoutScript(t *testing.T) {
	b := open(t, "")
	s := serve(t, story())
	b.run(t, chromedp.Navigate(s.console.LoginLink()), chromedp.WaitVisible("#s-open"), emulation.SetScriptExecutionDisabled(true))
	focus := func() (at string) {
		b.run(t, chromedp.Evaluate(`((e) => e.tagName + " " + (e.value || e.id || e.textContent.trim()))(document.activeElement)`, &at))
		return at
	}
	press := func(key, want string) {
		t.Helper()
		for range 60 {
			if focus() == want {
				b.run(t, chromedp.KeyEvent(key))
				return
			}
			b.run(t, chromedp.KeyEvent(kb.Tab))
		}
		t.Fatalf("Tab does not lead to %q; it is at %q", want, focus())
	}
	b.run(t, chromedp.Navigate(s.base+"/approvals"), chromedp.WaitVisible("#q-A"))
	press(kb.Enter, "A Skip to content")
	press(kb.Enter, "BUTTON deny")
	b.run(t, chromedp.WaitNotPresent("#q-A"))
	b.run(t, chromedp.Navigate(s.base+"/tools"), chromedp.WaitVisible("details"))
	press(kb.Enter, focusOf(t, b, "summary"))
	b.run(t, chromedp.WaitVisible("details[open] .contract"))
	b.run(t, chromedp.Navigate(s.base+"/pins"), chromedp.WaitVisible("#p-P2"))
	press(kb.Enter, "BUTTON Accept it as it is now")
	b.run(t, chromedp.WaitNotPresent("#p-P1"))
	if diff := cmp.Diff([]string{"deny A", "accept P1"}, s.done()); diff != "" {
		t.Error(diff)
	}
	for _, path := range s.paths() {
		b.run(t, chromedp.Navigate(s.base+path), chromedp.WaitVisible("h1"))
	}
	b.check(t)
}

// focusOf returns what the first element that a selector finds is called by focus.
func focusOf(t *testing.T, b *tab, selector string) (name string) {
	t.Helper()
	b.run(t, chromedp.Evaluate(fmt.Sprintf(`((e) => e.tagName + " " + e.textContent.trim())(document.querySelector(%q))`, selector), &name))
	return name
}

func TestBrowserFollows(t *testing.T) {
	b := open(t, "")
	s := serve(t, story())
	news := make(chan bool, 100)
	chromedp.ListenTarget(b, func(ev any) {
		if _, ok := ev.(*network.EventEventSourceMessageReceived); ok {
			news <- true
		}
	})
	b.run(t, chromedp.Navigate(s.console.LoginLink()), chromedp.WaitVisible("#s-open"))
	if err := s.Answer(b, "A", "deny", ""); err != nil {
		t.Fatal(err)
	}
	select {
	case <-news: // the first only tell where things stand
	case <-b.Done():
		t.Fatal("no news")
	}
	if err := s.Answer(b, "B", "deny", ""); err != nil {
		t.Fatal(err)
	}
	b.run(t, chromedp.Poll(`document.querySelector("nav .count")?.textContent.startsWith("2")`, nil))
	b.check(t)
}

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
