package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// viewOf returns a view of a store with one session of so many calls.
func viewOf(t testing.TB, calls int) *ConsoleView {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	key, err := audit.NewKey("weir/test")
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.New(t.Context(), ledger.Options{DB: db, Anchor: audit.NewAnchor(key)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if _, _, err := db.Open(t.Context(), store.Ref{Key: "s", Principal: "local"}, store.Limits{}); err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		e := record.New(record.Decision, time.Now())
		e.Session, e.Principal, e.Server, e.Name, e.Phase, e.Effect = "s", "local", "files", fmt.Sprintf("tool-%d", i%40), "call", "allow"
		e.Matched = []string{"a-rule"}
		if err := l.Later(t.Context(), func() *record.Event { return e }); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return NewConsoleView((&home.Env{Environ: []string{"HOME=" + t.TempDir()}}), db, "", l, localPrincipal)
}

func TestConsoleView(t *testing.T) {
	v := viewOf(t, 30)
	ctx := t.Context()
	for name, c := range map[string]struct {
		f    console.Filter
		want int
	}{
		"all":        {console.Filter{Limit: 100}, 30},
		"a page":     {console.Filter{Limit: 10}, 10},
		"before":     {console.Filter{Before: 6, Limit: 10}, 5},
		"a tool":     {console.Filter{Subject: "files/tool-7", Limit: 10}, 1},
		"text":       {console.Filter{Text: "TOOL-12", Limit: 10}, 1},
		"a session":  {console.Filter{Session: "other", Limit: 10}, 0},
		"an effect":  {console.Filter{Effect: "block", Limit: 10}, 0},
		"every text": {console.Filter{Text: "files", Limit: 10}, 10},
	} {
		all, err := v.Events(ctx, c.f)
		if err != nil || len(all) != c.want {
			t.Errorf("%s: %d events, want %d; %v", name, len(all), c.want, err)
		}
	}
	for range 2 { // no event is counted twice
		counts, err := v.Counts(ctx)
		if err != nil || counts.Decisions != 30 || counts.Hits["a-rule"] != 30 || counts.Since.IsZero() {
			t.Errorf("counts %+v, %v", counts, err)
		}
	}
	flows, err := v.Flows(ctx, "s", 5)
	want := console.Flow{Kind: "decision", Subject: "files/tool-0", Effect: "allow", Count: 1}
	if err != nil || len(flows) != 5 || flows[0] != want {
		t.Errorf("flows %v, %v", flows, err)
	}
	if head, err := v.Head(ctx); err != nil || head != 31 {
		t.Errorf("head %d, %v", head, err)
	}
	if err := v.End(ctx, "s", " "); err == nil {
		t.Error("ended without a reason")
	}
	if err := v.Declassify(ctx, "s", nil, "why"); err == nil {
		t.Error("lowered by nothing")
	}
	if err := v.Answer(ctx, "x", "maybe", ""); err == nil {
		t.Error("answered with a word that nobody knows")
	}
	if err := v.End(ctx, "s", "over"); err != nil {
		t.Fatal(err)
	}
	sessions, err := v.Sessions(ctx, "", 10)
	if err != nil || len(sessions) != 1 || !sessions[0].Ended {
		t.Errorf("sessions %v, %v", sessions, err)
	}
	if more, err := v.Sessions(ctx, "s", 10); err != nil || len(more) != 0 {
		t.Errorf("after the last session: %v, %v", more, err)
	}
	if _, ok, err := v.Session(ctx, "other"); ok || err != nil {
		t.Errorf("a session that is not there: %v, %v", ok, err)
	}
}

// BenchmarkLongSession opens the page of a session with 100,000 calls.
func BenchmarkLongSession(b *testing.B) {
	v := viewOf(b, 100_000)
	c, err := console.New(console.Options{Log: v, Desk: v, Fleet: v.fleet, Actor: v, Address: "127.0.0.1:1"})
	if err != nil {
		b.Fatal(err)
	}
	get := func(target string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, target, nil)
		r.Host = "127.0.0.1:1"
		for _, cookie := range cookies {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		c.Handler().ServeHTTP(w, r)
		return w
	}
	cookies := get(c.LoginLink()).Result().Cookies()
	b.Run("the session for the first time", func(b *testing.B) {
		for b.Loop() {
			v.flows = newSessionFlows(v.db.Log())
			if w := get("/session?key=s", cookies...); w.Code != http.StatusOK {
				b.Fatal(w.Code, w.Body)
			}
		}
	})
	for _, page := range []string{"/", "/session?key=s", "/events", "/events?kind=label", "/events?text=nothing+such", "/policy"} {
		b.Run(page, func(b *testing.B) {
			for b.Loop() {
				if w := get(page, cookies...); w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}
