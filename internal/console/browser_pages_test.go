package console_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

// scheme has the browser prefer a colour scheme.
func scheme(name string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}})
}

// faint returns the texts of a page whose contrast is below 4.5 to 1 (WCAG 2.2, 1.4.3).
const faint = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
	const over = (colors) => {
		canvas.clearRect(0, 0, 1, 1);
		for (const c of colors) { canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); }
		return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
	};
	const light = (rgb) => {
		const [r, g, b] = rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const found = new Set();
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		const at = n.parentElement, style = getComputedStyle(at);
		if (!n.data.trim() || !at.checkVisibility() || at.closest("svg, script, option") || style.fontSize == "0px") continue;
		const behind = [];
		for (let e = at; e; e = e.parentElement) behind.unshift(getComputedStyle(e).backgroundColor);
		const back = over(behind), front = over([...behind, style.color]);
		const [a, b] = [light(back), light(front)].sort((x, y) => y - x);
		if ((a + 0.05) / (b + 0.05) < 4.5) found.add(n.data.trim().slice(0, 40) + " (" + ((a + 0.05) / (b + 0.05)).toFixed(1) + ")");
	}
	return [...found];
})()`

// outline returns what is wrong with the structure of a page.
const outline = `(() => {
	const wrong = [];
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	if (new Set(ids).size != ids.length) wrong.push("an id is used twice");
	if (document.querySelectorAll("h1").length != 1) wrong.push("not one h1");
	if (document.querySelectorAll("main").length != 1 || !document.documentElement.lang) wrong.push("no main, or no language");
	if ([...document.querySelectorAll("th")].some((e) => !e.scope)) wrong.push("a th without scope");
	let level = 1;
	for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
		const n = Number(h.tagName[1]);
		if (n > level + 1) wrong.push("a heading skips a level: " + h.textContent.slice(0, 40));
		level = n;
	}
	if (document.documentElement.scrollWidth > innerWidth) wrong.push("it is wider than the window: " + document.documentElement.scrollWidth);
	return wrong;
})()`

// TestBrowserForEverybody looks at every page as somebody does who hears it, who needs contrast, and who has a small screen.
func TestBrowserForEverybody(t *testing.T) {
	b := open(t, "")
	s := serve(t, story())
	b.run(t, chromedp.Navigate(s.console.LoginLink()), chromedp.WaitVisible("#s-open"))
	for _, path := range s.paths() {
		for _, view := range views {
			var pale, wrong []string
			b.run(t, scheme(view.scheme), emulation.SetDeviceMetricsOverride(view.width, 900, 1, false), chromedp.Navigate(s.base+path),
				chromedp.Evaluate(`document.querySelectorAll("details").forEach((d) => d.open = true)`, nil),
				chromedp.Evaluate(faint, &pale), chromedp.Evaluate(outline, &wrong))
			for _, w := range append(wrong, pale...) {
				t.Errorf("%s, %d wide, %s: %s", path, view.width, view.scheme, w)
			}
		}
		for _, role := range b.nameless(t) {
			t.Errorf("%s: a %s has no name", path, role)
		}
	}
	b.check(t)
}

// nameless returns the roles of what a screen reader would have no name for.
func (b *tab) nameless(t *testing.T) (roles []string) {
	t.Helper()
	type text struct {
		Value any `json:"value"`
	}
	var tree struct {
		Nodes []struct {
			Ignored bool `json:"ignored"`
			Role    text `json:"role"`
			Name    text `json:"name"`
		} `json:"nodes"`
	}
	b.run(t, chromedp.ActionFunc(func(ctx context.Context) error {
		return cdp.Execute(ctx, accessibility.CommandGetFullAXTree, nil, &tree)
	}))
	if len(tree.Nodes) < 10 {
		t.Fatalf("the page is said to have %d nodes", len(tree.Nodes))
	}
	named := []string{"link", "button", "textbox", "searchbox", "combobox", "checkbox", "region", "navigation", "DisclosureTriangle"}
	for _, n := range tree.Nodes {
		role, _ := n.Role.Value.(string)
		name, _ := n.Name.Value.(string)
		if slices.Contains(named, role) && !n.Ignored && strings.TrimSpace(name) == "" {
			roles = append(roles, role)
		}
	}
	return roles
}

// smooth scrolls a page from its beginning to its end, and returns how long the longest frame took, in milliseconds.
const smooth = `(async () => {
	let worst = 0, last = performance.now();
	const steps = 60, end = document.documentElement.scrollHeight;
	for (let i = 1; i <= steps; i++) {
		scrollTo(0, end * i / steps);
		const now = await new Promise(requestAnimationFrame);
		worst = Math.max(worst, now - last);
		last = now;
	}
	return worst;
})()`

func awaits(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// TestBrowserWithMuch opens a page of 10,000 events and a picture of 500 edges, and says how long that took.
func TestBrowserWithMuch(t *testing.T) {
	b := open(t, "")
	f := &fake{sessions: story().sessions[:1]}
	key := f.sessions[0].Key
	for i := range 250 {
		f.add(record.Event{Kind: record.Label, Session: key, Server: "files", Name: fmt.Sprintf("source-%d", i), Label: &label.Label{Private: true}})
		f.add(record.Event{Kind: record.Decision, Session: key, Server: "mail", Name: fmt.Sprintf("to-%d", i), Phase: "call", Effect: "allow"})
	}
	for i := range 9_500 {
		f.add(record.Event{Kind: record.Decision, Session: "other", Server: "web", Name: fmt.Sprintf("page-%d", i), Phase: "call", Effect: "allow",
			Rule: "a-rule", Message: "a message of usual length, as rules have it"})
	}
	s := serve(t, f)
	b.run(t, chromedp.Navigate(s.console.LoginLink()), chromedp.WaitVisible("#s-open"))
	for _, c := range []struct {
		path, selector string
		want           int
	}{{"/events", "tbody tr", 100}, {"/events?n=10000", "tbody tr", 10_000}, {"/session?key=" + url.QueryEscape(key), "a.stream path", 500}} {
		var n, y int
		var painted, worst float64
		began := time.Now()
		b.run(t, chromedp.Navigate(s.base+c.path), chromedp.Evaluate(fmt.Sprintf("document.querySelectorAll(%q).length", c.selector), &n))
		loaded := time.Since(began)
		b.run(t, chromedp.Evaluate(`performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0`, &painted),
			chromedp.Evaluate(smooth, &worst, awaits), chromedp.Evaluate("Math.round(scrollY)", &y))
		t.Logf("%s: %d, something to see after %.0f ms, all loaded after %d ms, longest frame while scrolling %.0f ms", c.path, n, painted, loaded.Milliseconds(), worst)
		if n != c.want || y == 0 {
			t.Errorf("%s: %d of %d, scrolled to %d", c.path, n, c.want, y)
		}
	}
	b.check(t)
}

// views are how pages are looked at.
var views = []struct {
	width  int64
	scheme string
}{{1200, "light"}, {420, "dark"}}

// TestBrowserPictures makes the pictures of docs/console.md.
func TestBrowserPictures(t *testing.T) {
	b := open(t, "")
	if *screenshots == "" {
		t.Skip("no -screenshots")
	}
	f := story()
	f.questions = f.questions[:1]
	s := serve(t, f)
	b.run(t, chromedp.Navigate(s.console.LoginLink()), chromedp.WaitVisible("#s-open"))
	for name, path := range map[string]string{"now": "/", "approvals": "/approvals", "session": "/session?key=" + url.QueryEscape(s.sessions[0].Key),
		"events": "/events", "servers": "/servers", "tools": "/tools", "pins": "/pins", "policy": "/policy"} {
		for _, view := range views {
			var picture []byte
			b.run(t, scheme(view.scheme), emulation.SetDeviceMetricsOverride(view.width, 900, 1, false), chromedp.Navigate(s.base+path),
				chromedp.Evaluate(`document.querySelector("details")?.setAttribute("open", ""); document.body.scrollHeight`, nil),
				chromedp.Sleep(100*time.Millisecond), chromedp.FullScreenshot(&picture, 100))
			if err := os.WriteFile(filepath.Join(*screenshots, fmt.Sprintf("%s-%d.png", name, view.width)), small(t, picture), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.check(t)
}

// maxPicture is how high a picture is, in pixels.
const maxPicture = 1500

// small returns a picture that is not too high, in the 256 colours that are most frequent in it.
func small(t *testing.T, picture []byte) []byte {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	area := decoded.Bounds()
	area.Max.Y = min(area.Max.Y, maxPicture)
	whole := image.NewRGBA(area)
	draw.Draw(whole, area, decoded, area.Min, draw.Src)
	often := map[color.RGBA]int{}
	for i := 0; i < len(whole.Pix); i += 4 {
		often[color.RGBA{whole.Pix[i], whole.Pix[i+1], whole.Pix[i+2], 255}]++
	}
	all := slices.SortedFunc(maps.Keys(often), func(a, b color.RGBA) int { return often[b] - often[a] })
	var palette color.Palette
	for _, c := range all[:min(len(all), 256)] {
		palette = append(palette, c)
	}
	place := make(map[color.RGBA]uint8, len(all))
	for i, c := range all {
		if place[c] = uint8(i); i > 255 {
			place[c] = uint8(palette.Index(c))
		}
	}
	out := image.NewPaletted(area, palette)
	for i := range out.Pix {
		out.Pix[i] = place[color.RGBA{whole.Pix[4*i], whole.Pix[4*i+1], whole.Pix[4*i+2], 255}]
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
