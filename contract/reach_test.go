package contract_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
)

// TestReach holds that input that nobody keeps is kept from outsiders in a closed world alone.
func TestReach(t *testing.T) {
	for _, c := range []struct {
		said             contract.Contract
		discloses, keeps bool
	}{
		{contract.Contract{ReadOnly: contract.Yes, Destinations: contract.Possible(contract.Ephemeral)}, false, false},
		{contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.No, Destinations: contract.Possible(contract.Ephemeral)}, false, false},
		{contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.Yes, Destinations: contract.Possible(contract.Ephemeral)}, true, true},
		{contract.Contract{OpenWorld: contract.No, Destinations: contract.Possible(contract.Ephemeral)}, false, true},
		{contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.Yes, Destinations: contract.Possible(contract.System)}, false, true},
		{contract.Contract{ReadOnly: contract.Yes, Destinations: contract.Possible(contract.Public)}, true, true},
		{contract.Contract{ReadOnly: contract.Yes}, true, true},
		{contract.Contract{}, true, true},
	} {
		if got := c.said.Assume(); got.Discloses() != c.discloses || got.Keeps() != c.keeps {
			t.Errorf("%v: discloses %v, keeps %v", c.said, got.Discloses(), got.Keeps())
		}
	}
}

// TestReachOnlyRises holds that a tool that may behave in two ways discloses and keeps the input if either does.
func TestReachOnlyRises(t *testing.T) {
	draw := func(t *rapid.T, name string) contract.Contract {
		hint := rapid.SampledFrom([]contract.Hint{contract.Unknown, contract.Yes, contract.No})
		c := contract.Contract{ReadOnly: hint.Draw(t, name+" reads"), OpenWorld: hint.Draw(t, name+" open")}
		if to := rapid.SliceOf(rapid.SampledFrom(contract.Destinations())).Draw(t, name+" to"); len(to) > 0 {
			c.Destinations = contract.Possible(to...)
		}
		return c.Assume()
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		if j := contract.Join(a, b); (a.Discloses() || b.Discloses()) && !j.Discloses() || (a.Keeps() || b.Keeps()) && !j.Keeps() {
			t.Errorf("%v\n%v\n%v", a, b, j)
		}
	})
}
