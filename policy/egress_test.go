package policy_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// TestWhoIsBelieved holds the verdicts of the built-in policy on calls of which no operator says anything, by the word of their
// servers and by the session: the word of a server that nobody vouches for makes none of them quieter.
func TestWhoIsBelieved(t *testing.T) {
	const a, q = policy.Allow, policy.Ask
	sessions := []label.Label{clean, untrusted, private, both, credentials}
	for _, row := range []struct {
		name     string
		declared contract.Contract
		trust    contract.Trust
		args     string
		want     [5]policy.Effect // by session
	}{
		{"untrusted, nothing declared", silent, unknown, some, [5]policy.Effect{a, q, q, q, q}},
		{"untrusted, readOnlyHint", reader, unknown, some, [5]policy.Effect{a, q, q, q, q}},
		{"untrusted, readOnlyHint, closed world", shutReader, unknown, some, [5]policy.Effect{a, q, q, q, q}},
		{"untrusted, readOnlyHint, ephemeral", inbox, unknown, some, [5]policy.Effect{a, q, q, q, q}},
		{"untrusted, draft, closed world", drafts, unknown, some, [5]policy.Effect{a, q, q, q, q}},
		{"untrusted, nothing declared, no arguments", silent, unknown, none, [5]policy.Effect{a, q, a, q, q}},
		{"untrusted, readOnlyHint, closed world, no arguments", shutReader, unknown, none, [5]policy.Effect{a, q, a, q, q}},
		{"known, readOnlyHint", reader, known, some, [5]policy.Effect{a, q, q, q, q}},
		{"known, readOnlyHint, closed world", shutReader, known, some, [5]policy.Effect{a, a, a, a, q}},
		{"known, readOnlyHint, ephemeral", inbox, known, some, [5]policy.Effect{a, a, a, a, a}},
		{"known, readOnlyHint, ephemeral in an open world", window, known, some, [5]policy.Effect{a, q, q, q, q}},
		{"known, readOnlyHint, no arguments", reader, known, none, [5]policy.Effect{a, a, a, a, a}},
		{"known, draft, closed world", drafts, known, some, [5]policy.Effect{a, a, a, a, q}},
		{"known, declares public", poster, known, some, [5]policy.Effect{a, q, q, q, q}},
		{"trusted, declares public", poster, trusted, some, [5]policy.Effect{a, q, q, q, q}},
		{"trusted, nothing declared", silent, trusted, some, [5]policy.Effect{a, q, q, q, q}},
	} {
		for i, session := range sessions {
			f := &policy.Facts{
				Method: "tools/call", Tool: policy.ToolFacts{Declared: row.declared, Annotations: contract.Effective(row.declared, row.trust)},
				Server: policy.ServerFacts{Trust: row.trust}, Session: policy.SessionFacts{Label: session}, Arguments: []byte(row.args),
				Call: policy.CallFacts{Traced: true, From: from("novel"), DestinationFrom: from("novel", "private"), ContentFrom: from("novel", "private"), Strange: row.args != none, Crosses: row.args != none},
			}
			if f.Call.Crosses {
				f.Call.From = from("novel", "private")
			}
			if d := policy.Default().Decide(f); d.Effect != row.want[i] {
				t.Errorf("%s, session %v: %s by %v, want %s", row.name, session, d.Effect, d.Matched, row.want[i])
			}
		}
	}
}

// TestDeclarationsOfStrangersOnlyRaise holds that whatever an untrusted server declares of its tool, no built-in policy is milder
// with a call of it than if the server declared nothing, with and without a word of the operator's.
func TestDeclarationsOfStrangersOnlyRaise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, operator := drawTraced(t), drawFacts(t).Tool.Declared
		if rapid.Bool().Draw(t, "nobody vouches") {
			operator = contract.Contract{}
		}
		f.Phase, f.Response = policy.OnCall, nil
		f.Server.Trust = contract.Untrusted
		said := func(declared contract.Contract) *policy.Facts {
			g := *f
			g.Tool.Declared, g.Tool.Annotations = contract.ForCall(operator, declared, contract.Contract{}, contract.Untrusted)
			return &g
		}
		with, without := said(f.Tool.Declared), said(contract.Contract{})
		if without.Egress() && !with.Egress() || with.PlainRead() && !without.PlainRead() {
			t.Fatalf("%v makes it less", f.Tool.Declared)
		}
		for _, name := range policy.Profiles() {
			p, _ := policy.Profile(name)
			if d, e := p.Decide(with), p.Decide(without); d.Effect > e.Effect {
				t.Fatalf("%s: %s by %v with %v, and %s without", name, d.Effect, d.Matched, f.Tool.Declared, e.Effect)
			}
		}
	})
}

// TestNobodysWordDecides holds that no built-in policy and no derived fact reads the declaration of a tool.
func TestNobodysWordDecides(t *testing.T) {
	declared := slices.DeleteFunc(policy.FactNames(), func(name string) bool {
		return !strings.HasPrefix(name, "tool.declare")
	})
	for _, name := range policy.Profiles() {
		p, _ := policy.Profile(name)
		for _, fact := range declared {
			if p.Reads(fact) {
				t.Errorf("%s reads %s", name, fact)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		f := drawTraced(t)
		g := *f
		g.Tool.Declared = drawFacts(t).Tool.Declared
		if f.PlainRead() != g.PlainRead() || f.Egress() != g.Egress() {
			t.Fatalf("%v or %v makes a difference", f.Tool.Declared, g.Tool.Declared)
		}
	})
}
