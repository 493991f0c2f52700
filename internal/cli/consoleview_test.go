package cli

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// viewOf returns a view of a store with one session of so many calls.
func viewOf(t testing.TB, calls int) *consoleView {
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
	l, err := ledger.New(t.Context(), ledger.Options{DB: db, Key: key})
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
		if err := l.Later(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return (&Env{}).consoleView(db, l, localPrincipal)
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
		"before":     {console.Filter{Before: 5, Limit: 10}, 5},
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
	rules, looked, err := v.rules(ctx)
	if err != nil || looked != 30 || len(rules) != 1 || rules[0].Hits != 30 {
		t.Errorf("rules %v of %d, %v", rules, looked, err)
	}
	if err := v.End(ctx, "s", " "); err == nil {
		t.Error("ended without a reason")
	}
	if err := v.Declassify(ctx, "s", nil, "why"); err == nil {
		t.Error("lowered by nothing")
	}
	if err := v.Answer(ctx, "x", "maybe"); err == nil {
		t.Error("answered with a word that nobody knows")
	}
	if err := v.End(ctx, "s", "over"); err != nil {
		t.Fatal(err)
	}
	sessions, err := v.Sessions(ctx, 10)
	if err != nil || len(sessions) != 1 || !sessions[0].Ended {
		t.Errorf("sessions %v, %v", sessions, err)
	}
}

// BenchmarkLongSession reads what the page of a session with 100,000 calls shows.
func BenchmarkLongSession(b *testing.B) {
	v := viewOf(b, 100_000)
	for b.Loop() {
		if _, err := v.Sessions(b.Context(), 200); err != nil {
			b.Fatal(err)
		}
		all, err := v.Events(b.Context(), console.Filter{Session: "s", Limit: 5000})
		if err != nil || len(all) != 5000 {
			b.Fatal(len(all), err)
		}
	}
}
