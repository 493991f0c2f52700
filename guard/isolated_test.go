package guard

import (
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// An alert of a session above counts in an isolated one while nobody has answered it.
func TestInheritedAlerts(t *testing.T) {
	g, err := New(Options{State: NewState(nil, record.Discard()), Vault: vault.New(vault.Limits{})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, up := t.Context(), session.Ref{Key: "p", Principal: "ann"}
	c, err := NewCall(up, "web", contract.Known, "tools/call", []byte(`{"name":"fetch"}`))
	if err != nil {
		t.Fatal(err)
	}
	state, err := g.evidence.open(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	r := g.parse(c)
	if err := g.evidence.alarm(ctx, r, state.Label, "an order to the agent"); err != nil {
		t.Fatal(err)
	}
	above, err := g.Hidden.Above(ctx, session.Ref{Key: "i", Principal: "ann"}, "p")
	if err != nil || len(above) != 1 {
		t.Fatal(above, err)
	}
	if l, err := g.Hidden.Inherited(ctx, session.Ref{Key: "i", Principal: "ann"}, above); err != nil || !l.Malicious {
		t.Errorf("%+v, %v", l, err)
	}
	if state, err = g.evidence.open(ctx, c); err != nil {
		t.Fatal(err)
	}
	if _, err := g.evidence.answer(ctx, r, state.Label, alertsIn(state.Label)); err != nil {
		t.Fatal(err)
	}
	if l, err := g.Hidden.Inherited(ctx, session.Ref{Key: "i", Principal: "ann"}, above); err != nil || l.Malicious {
		t.Errorf("after an answer: %+v, %v", l, err)
	}
}
