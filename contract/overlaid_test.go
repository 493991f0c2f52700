package contract_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

func drawTrust(t *rapid.T) contract.Trust {
	return contract.Trust(rapid.IntRange(0, int(contract.Trusted)).Draw(t, "trust"))
}

func TestOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		same(t, "nothing above", contract.Contract{}.Over(a), a)
		same(t, "nothing below", a.Over(contract.Contract{}), a)
		over, spoken, below, got := a.Over(b), dangerOf(a), dangerOf(b), dangerOf(a.Over(b))
		for name := range got {
			want := spoken
			if name == "attribution" {
				continue
			}
			if silent(a, name) {
				want = below
			}
			if !(danger{name: got[name]}).within(want, name) || !(danger{name: want[name]}).within(got, name) {
				t.Fatalf("%s: %v over %v gives %v", name, a, b, over)
			}
		}
	})
}

// silent reports whether the contract does not speak of the member.
func silent(c contract.Contract, member string) bool {
	d := dangerOf(c)[member]
	return len(d) == 1 && (d[0] == "perhaps" || d[0] == "anything")
}

func TestOverlaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		overlay, declared, trust := draw(t, "overlay"), draw(t, "declared"), drawTrust(t)
		same(t, "no overlay", contract.Overlaid(contract.Contract{}, declared, trust), contract.Effective(declared, trust))
		// Warnings about data and about undoing add to sets whoever says them; everything else is the operator's word.
		declared.Output, declared.Operation.Reversible = contract.Output{}, contract.Unknown
		overlay.Output, overlay.Operation.Reversible = contract.Output{}, contract.Unknown
		got := dangerOf(contract.Overlaid(overlay, declared, trust))
		for name, said := range dangerOf(overlay) {
			if name != "attribution" && !silent(overlay, name) && (!got.within(danger{name: said}, name) || !(danger{name: said}).within(got, name)) {
				t.Fatalf("%s: %v over %v gives %v", name, overlay, declared, got[name])
			}
		}
	})
}

func TestOverlaidFillsWithTheWorst(t *testing.T) {
	readOnly := contract.Contract{ReadOnly: contract.Yes}
	boast := contract.Contract{
		Destructive: contract.No, OpenWorld: contract.No,
		Destinations: contract.Possible(contract.Ephemeral), Outcomes: contract.Possible(contract.Benign),
		Sources: contract.Possible(label.System),
	}
	c := contract.Overlaid(readOnly, boast, contract.Untrusted)
	switch {
	case c.OpenWorld != contract.Yes, !c.Destinations.Has(contract.Public), !c.Sources.Has(label.UntrustedPublic):
		t.Errorf("a boast of a server that is not trusted counts: %v", c)
	case c.Destructive != contract.No, c.Outcomes.Has(contract.Irreversible):
		t.Errorf("what the overlay implies is lost: %v", c)
	}
	if c := contract.Overlaid(readOnly, boast, contract.Trusted); c.OpenWorld != contract.No || c.Destinations.Has(contract.Public) {
		t.Errorf("a trusted server is not heard: %v", c)
	}
}

func TestForCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		overlay, declared, resolution, trust := draw(t, "overlay"), draw(t, "declared"), draw(t, "resolution"), drawTrust(t)
		static := contract.Overlaid(overlay, declared, trust)
		said, effective := contract.ForCall(overlay, declared, contract.Contract{}, trust)
		same(t, "no resolution, said", said, overlay.Over(declared))
		same(t, "no resolution, effective", effective, static)

		_, effective = contract.ForCall(overlay, declared, resolution, trust)
		mayLower := trust != contract.Untrusted && len(declared.Narrows(resolution)) == 0
		before, after, claimed := dangerOf(static), dangerOf(effective), dangerOf(resolution)
		for name := range before {
			if !mayLower && !silent(static, name) && !before.within(after, name) {
				t.Fatalf("%s: %v lowers %v to %v", name, resolution, static, effective)
			}
			if !silent(resolution, name) && !sameMember(resolution, declared, name) && !claimed.within(after, name) {
				t.Fatalf("%s: what %v says is lost in %v", name, resolution, effective)
			}
		}
	})
}

func sameMember(a, b contract.Contract, name string) bool {
	x, y := dangerOf(a), dangerOf(b)
	return x.within(y, name) && y.within(x, name)
}

func TestForCallNarrows(t *testing.T) {
	declared := contract.Contract{
		ReadOnly: contract.No, Destructive: contract.Yes,
		Destinations: contract.Possible(contract.Internal, contract.Public),
		Returns:      contract.Possible(label.PII),
	}
	narrow := contract.Contract{
		Destructive: contract.No, Destinations: contract.Possible(contract.Internal), Returns: contract.Possible[label.Class](),
	}
	for _, c := range []struct {
		trust                        contract.Trust
		destructive, public, returns bool
	}{
		{contract.Trusted, false, false, false},
		{contract.Known, false, false, true},
		{contract.Untrusted, true, true, true},
	} {
		_, e := contract.ForCall(contract.Contract{}, declared, narrow, c.trust)
		if (e.Destructive == contract.Yes) != c.destructive || e.Destinations.Has(contract.Public) != c.public ||
			e.Returns.Has(label.PII) != c.returns {
			t.Errorf("%v: %v", c.trust, e)
		}
	}
	wide := narrow
	wide.Destinations = contract.Possible(contract.User)
	if _, e := contract.ForCall(contract.Contract{}, declared, wide, contract.Trusted); e.Destructive != contract.Yes ||
		!e.Destinations.Has(contract.Public) || !e.Destinations.Has(contract.User) {
		t.Errorf("a resolution outside of its bounds lowers: %v", e)
	}
	overlay := contract.Contract{Outcomes: contract.Possible(contract.Benign), Destructive: contract.No}
	worse := contract.Contract{Outcomes: contract.Possible(contract.Irreversible)}
	if _, e := contract.ForCall(overlay, declared, worse, contract.Untrusted); !e.Outcomes.Has(contract.Irreversible) {
		t.Errorf("what a server says of this very call does not raise the overlay: %v", e)
	}
	if _, e := contract.ForCall(overlay, declared, declared, contract.Untrusted); e.Destructive != contract.No {
		t.Errorf("a resolution that repeats the declaration overrules the overlay: %v", e)
	}
}
