package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// breaking are the answers of a server whose tools t0 to t6 return private data although they declare none.
func breaking() map[string]string {
	var tools []string
	for i := range 7 {
		tools = append(tools, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,`+
			`"inputMetadata":{"destination":"internal"},"returnMetadata":{"source":"internal","sensitivity":"none"}}}`, i))
	}
	return map[string]string{
		"tools/list": `{"tools":[` + strings.Join(tools, ",") + `]}`,
		"tools/call": `{"content":[{"type":"text","text":"x"}],"_meta":{"annotations":{"returnMetadata":{"source":"internal","sensitivity":"pii"}}}}`,
	}
}

// A breaker is a gateway over such a server, and a host of it.
type breaker struct {
	*rig
	w *wire
}

func newBreaker(t *testing.T, change func(*gateway.Options)) breaker {
	r, _ := script(t, breaking(), change)
	w := r.wire(t)
	w.ask(hello)
	return breaker{r, w}
}

// call calls a tool, and returns the trust in the server by which the call was decided.
func (b breaker) call(t *testing.T, tool string) string {
	t.Helper()
	b.w.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}`)
	b.w.until("c")
	all := b.recorded(t, record.Decision)
	i := slices.IndexFunc(all, func(e record.Event) bool {
		return e.Phase == "call" && e.Name == tool && e.Call == all[len(all)-1].Call
	})
	if i < 0 {
		t.Fatalf("no decision on %s", tool)
	}
	trust, ok := rawjson.Get(all[i].Facts, "server.trust")
	if !ok { // facts of their ordinary value are left out
		return contract.Untrusted.String()
	}
	text, _ := rawjson.String(trust)
	return text
}

func (b breaker) status() (trust contract.Trust, lowered bool) {
	s := b.g.Status().Servers[0]
	return s.Trust, s.Lowered
}

// TestBreachesCostTrust has a trusted server break its contract through one gateway, and calls it through another that shares
// the store, and through a third one where another server has its name.
func TestBreachesCostTrust(t *testing.T) {
	shared := store.NewMemory(nil)
	at := func(reached, place string) func(*gateway.Options) {
		return func(o *gateway.Options) {
			o.Approvals, o.Servers[0].Reached, o.Servers[0].Place = shared, reached, place
		}
	}
	first, second := newBreaker(t, at("program", "file")), newBreaker(t, at("program", "other file"))
	sameName, renewed := newBreaker(t, at("other program", "third file")), newBreaker(t, at("new program", "file"))
	second.call(t, "t6") // which knows it as trusted; the one breach is of both

	steps := []struct{ tool, by string }{ // the trust that counts for the call
		{"t0", "trusted"}, {"t0", "trusted"}, {"t0", "trusted"}, // once for a tool and session
		{"t1", "trusted"}, {"t2", "known"}, {"t3", "known"}, {"t4", "known"}, {"t5", "untrusted"},
	}
	for i, s := range steps {
		if got := first.call(t, s.tool); got != s.by {
			t.Errorf("call %d, of %s: decided by %s, want %s", i, s.tool, got, s.by)
		}
		if s.tool == "t2" {
			if got := second.call(t, "t6"); got != "known" { // counted already
				t.Errorf("another process: decided by %s", got)
			}
		}
	}
	for name, c := range map[string]struct {
		of   breaker
		want contract.Trust
	}{
		"reached in the same way": {second, contract.Untrusted}, "the same entry with a new command": {renewed, contract.Known},
		"another of its name": {sameName, contract.Trusted}, "itself": {first, contract.Untrusted},
	} {
		if got, lowered := c.of.status(); got != c.want || lowered != (c.want < contract.Trusted) {
			t.Errorf("%s: status has %s, lowered %t", name, got, lowered)
		}
		if got := c.of.call(t, "t6"); got != c.want.String() {
			t.Errorf("%s: decided by %s, want %s", name, got, c.want)
		}
	}
	var told []string
	for _, e := range first.recorded(t, record.Trust) {
		told = append(told, e.Effect+" "+e.Message[:strings.Index(e.Message, " ")])
	}
	if !slices.Equal(told, []string{"lowered known", "lowered untrusted"}) {
		t.Errorf("the record has %q", told)
	}
	restoredByAPerson(t, shared, first, second)
}

// restoredByAPerson has a person restore the trust. Breaches that were forgiven do not count again, others do.
func restoredByAPerson(t *testing.T, shared store.Approvals, first, second breaker) {
	kept := approve.NewConduct(shared, record.NewLines(first.rig))
	all, err := kept.All(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("standings %+v, %v", all, err)
	}
	slices.SortFunc(all, func(a, b approve.Standing) int { return len(b.Breaches) - len(a.Breaches) })
	if all[0].Counts != "untrusted" || len(all[0].Breaches) != 7 || all[1].Counts != "trusted" || len(all[1].Breaches) != 1 {
		t.Errorf("standings %+v", all)
	}
	if n, err := kept.Restore(t.Context(), all[0], "", "ann", "test"); err == nil {
		t.Errorf("restored %d without a reason", n)
	}
	if n, err := kept.Restore(t.Context(), all[0], "a new version", "ann", "test"); n != 7 || err != nil {
		t.Errorf("restored %d: %v", n, err)
	}
	for _, b := range []breaker{first, second} {
		if got := b.call(t, "t6"); got != "trusted" {
			t.Errorf("after a person has restored it: %s", got)
		}
	}
	if all, err := kept.All(t.Context()); err != nil || len(all) != 2 { // t6 through the first one was not counted before
		t.Errorf("standings %+v, %v", all, err)
	}
}

// TestOnlyTrustIsLost has servers break their word about data, of which no such word counts.
func TestOnlyTrustIsLost(t *testing.T) {
	for _, trust := range []contract.Trust{contract.Untrusted, contract.Known} {
		b := newBreaker(t, func(o *gateway.Options) { o.Servers[0].Trust = trust })
		for i := range 7 {
			if got := b.call(t, fmt.Sprintf("t%d", i)); got != trust.String() {
				t.Errorf("%s: decided by %s", trust, got)
			}
		}
		if len(b.recorded(t, record.Defect)) == 0 {
			t.Errorf("%s: no defect", trust)
		}
	}
}

// TestWeakerDefinitionsCostTrust changes accepted definitions of a trusted server.
func TestWeakerDefinitionsCostTrust(t *testing.T) {
	tools := func(annotations string) string {
		var tools []string
		for i := range 4 {
			tools = append(tools, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"},"annotations":{%s}}`, i, annotations))
		}
		return `{"tools":[` + strings.Join(tools, ",") + `]}`
	}
	for _, c := range []struct {
		trust         contract.Trust
		before, after string
		breaks        bool // once, though all tools changed
	}{
		{contract.Trusted, `"readOnlyHint":false`, `"readOnlyHint":true`, true},
		{contract.Known, `"readOnlyHint":false`, `"readOnlyHint":true`, true},
		{contract.Trusted, `"readOnlyHint":true,"destructiveHint":false`, `"readOnlyHint":true`, true},
		{contract.Trusted, `"readOnlyHint":true`, `"readOnlyHint":false`, false},
		{contract.Trusted, ``, `"readOnlyHint":true`, false},
		{contract.Known, `"readOnlyHint":true`, `"readOnlyHint":true,"title":"Other"`, false},
	} {
		path, shared := filepath.Join(t.TempDir(), "weir.lock"), store.NewMemory(nil)
		list := func(annotations string, accepts bool) {
			file, err := pins.Open(path, pins.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, _ := script(t, map[string]string{"tools/list": tools(annotations)}, func(o *gateway.Options) {
				o.Pins, o.Approvals, o.Servers[0].Reached = file, shared, "program"
				o.Servers[0].Trust = c.trust
			})
			w := r.wire(t)
			w.ask(hello)
			w.send(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
			w.until("l")
			if got := r.g.Status().Servers[0].Trust; got != c.trust {
				t.Errorf("%s: %s, then %s: %s", c.trust, c.before, c.after, got)
			}
			if accepts {
				if err := file.Accept(t.Context(), r.g.Held()); err != nil {
					t.Fatal(err)
				}
			}
		}
		list(c.before, false)
		list(c.after, false)
		list(c.after, true)
		all, err := approve.NewConduct(shared, nil).All(t.Context())
		if n := len(all); err != nil || (n > 0) != c.breaks || n > 0 && len(all[0].Breaches) > 2 { // a day may end
			t.Errorf("%s: %s, then %s: %+v, %v", c.trust, c.before, c.after, all, err)
		}
		list(c.after, false)
		if all, err = approve.NewConduct(shared, nil).All(t.Context()); err != nil || len(all) > 0 {
			t.Errorf("%s: %s, then %s, which a person has accepted: %+v, %v", c.trust, c.before, c.after, all, err)
		}
	}
}

// brokenApprovals fail to be read once they are told to.
type brokenApprovals struct {
	store.Approvals
	fails atomic.Bool
}

func (b *brokenApprovals) Questions(ctx context.Context, q store.QuestionQuery) iter.Seq2[store.Question, error] {
	if b.fails.Load() {
		return func(yield func(store.Question, error) bool) { yield(store.Question{}, errors.New("the disk is gone")) }
	}
	return b.Approvals.Questions(ctx, q)
}

// TestNoTrustWithoutAStore calls a trusted server while it cannot be known whether it has kept its contract.
func TestNoTrustWithoutAStore(t *testing.T) {
	broken := &brokenApprovals{Approvals: store.NewMemory(nil)}
	b := newBreaker(t, func(o *gateway.Options) { o.Approvals = broken })
	b.call(t, "t0")
	n := len(b.recorded(t, record.Decision))
	broken.fails.Store(true)
	b.w.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"t1","arguments":{}}}`)
	if got := b.w.until("c")["c"]; strings.Contains(got, `"x"`) || len(b.recorded(t, record.Decision)) != n {
		t.Errorf("the host got %s", got)
	}
	if trust, _ := b.status(); trust != contract.Untrusted {
		t.Errorf("status has %s", trust)
	}
}
