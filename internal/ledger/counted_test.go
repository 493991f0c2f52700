package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// yes are accepted bindings.
type yes map[string]bool

func (y yes) Redeem(_ context.Context, binding string) (bool, error) {
	ok := y[binding]
	delete(y, binding)
	return ok, nil
}

// process returns the guard of a process of its own over the database in a file, which writes nothing that can wait.
func process(t *testing.T, file string, key *audit.Key, accepted yes) *guard.Guard {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), file, &sqlstore.Options{Linger: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.New(t.Context(), ledger.Options{DB: db, Anchor: audit.NewAnchor(key), Every: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	p, err := policy.Load("p.yaml", []byte("version: 1\ndefault: allow\nrules: [{name: send, when: call, effect: ask, if: 'tool.name == \"send_draft\"'}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Options{State: l.State(), Policy: p, Approvals: accepted})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestAChangeByAnotherProcessEndsApprovals holds that an approval of a draft ends with a change that another process lets
// go, from that moment on, however many reads of this process the database does not count yet.
func TestAChangeByAnotherProcessEndsApprovals(t *testing.T) {
	key, err := audit.NewKey("example.com/weir")
	if err != nil {
		t.Fatal(err)
	}
	file, accepted := filepath.Join(t.TempDir(), "state.db"), yes{}
	here, there := process(t, file, key, accepted), process(t, file, key, accepted)
	do := func(g *guard.Guard, tool string, declared contract.Contract) guard.Verdict {
		t.Helper()
		c := &guard.Call{
			ID: "call-" + tool, Session: session.Ref{Key: "s", Principal: "p"}, Server: "mail", Trust: contract.Trusted, Method: "tools/call",
			Name: tool, Params: json.RawMessage(`{"arguments":{"id":42}}`), Arguments: json.RawMessage(`{"id":42}`), Declared: declared,
		}
		c.Effective = contract.Effective(declared, c.Trust)
		return g.Before(t.Context(), c)
	}
	edit := contract.Contract{
		ReadOnly: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.User), Outcomes: contract.Possible(contract.Benign),
		Accepts: contract.Possible(label.User), Sources: contract.Possible(label.System), Returns: contract.Possible[label.Class](),
	}
	read := edit
	read.ReadOnly, read.Destinations = contract.Yes, contract.Possible(contract.Ephemeral)
	send := edit
	send.Outcomes = contract.Possible(contract.Irreversible)
	edited := func() { do(there, "edit_draft", edit) }
	reading := func(n int) func() {
		return func() {
			for range n {
				do(here, "read_draft", read)
			}
		}
	}
	for range 2 { // each process has counted calls by then
		edited()
		reading(1)()
	}
	for name, c := range map[string]struct {
		meanwhile []func()
		goes      bool
	}{
		"nothing":               {nil, true},
		"reads":                 {[]func(){reading(3)}, true},
		"an edit":               {[]func(){edited}, false},
		"reads, then an edit":   {[]func(){reading(3), edited}, false},
		"an edit, then reads":   {[]func(){edited, reading(3)}, false},
		"edits by both":         {[]func(){edited, func() { do(here, "edit_draft", edit) }}, false},
		"edits and many reads":  {[]func(){reading(5), edited, reading(5), edited, reading(5)}, false},
		"an edit of this one":   {[]func(){func() { do(here, "edit_draft", edit) }}, false},
		"an edit, read by both": {[]func(){edited, func() { do(there, "read_draft", read) }, reading(1)}, false},
	} {
		v := do(here, "send_draft", send)
		if v.Question == nil {
			t.Fatalf("%s: nobody is asked: %v, %v", name, v.Effect, v.Err)
		}
		accepted[v.Question.Binding] = true
		for _, do := range c.meanwhile {
			do()
		}
		if v = do(here, "send_draft", send); v.Allowed() != c.goes || v.Err != nil {
			t.Errorf("%s: the draft goes is %v, %v", name, v.Allowed(), v.Err)
		}
		clear(accepted)
	}
}
