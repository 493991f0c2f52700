package console_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/plain/plaintest"
)

// domSkeleton returns the elements that a browser has made of a page, one a line, with the names of their attributes and the values of
// those that make a difference; but for lines and options, as skeleton of hostile_test.go does.
const domSkeleton = `(() => {
	const shaping = ["class", "type", "method", "action", "rel", "src", "role", "name"];
	const lines = [];
	for (const e of document.querySelectorAll("*")) {
		const tag = e.tagName.toLowerCase();
		if (["span", "ins", "del", "option"].includes(tag) || e.matches("label.box, input[name=drop]")) continue;
		const attributes = [...e.attributes].map((a) => shaping.includes(a.name) ? a.name + "=" + a.value : a.name);
		lines.push([tag, ...attributes].join(" "));
	}
	return lines.join("\n");
})()`

// TestBrowserWithHostileText opens every page with each text in every field. No script runs, nothing is asked for, and the page has the
// elements that it has with a harmless text.
func TestBrowserWithHostileText(t *testing.T) {
	b := open(t, "")
	want := map[int]string{}
	for _, text := range append([]string{plaintest.Harmless}, plaintest.Texts()...) {
		s := serve(t, poisoned(text))
		b.run(t, chromedp.Navigate(s.console.LoginLink()))
		for i, path := range s.everywhere(text) {
			var at struct {
				Pwned            bool
				Host, Title, DOM string
			}
			b.run(t, chromedp.Navigate(s.base+path))
			if strings.HasPrefix(path, "/values") {
				b.goes(t, chromedp.Click(`form[action="/value"] button`))
			}
			b.run(t, chromedp.Evaluate(`({Pwned: window.pwned !== undefined, Host: location.host, Title: document.title, DOM: `+domSkeleton+`})`, &at))
			if at.Pwned || "http://"+at.Host != s.base || !strings.HasSuffix(at.Title, " – Weir") {
				t.Errorf("%.40q on %.60s: ran %v, at %s, title %q", text, path, at.Pwned, at.Host, at.Title)
			}
			if text == plaintest.Harmless {
				want[i] = at.DOM
			} else if len(text) < 32<<10 || path != "/pins" && !strings.HasPrefix(path, "/values") { // too large to accept, or has a next part
				if diff := cmp.Diff(strings.Split(want[i], "\n"), strings.Split(at.DOM, "\n")); diff != "" {
					t.Errorf("%.40q on %.60s has other elements (-harmless +hostile):\n%s", text, path, diff)
				}
			}
		}
	}
	b.check(t)
}
