package contract_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

func draw(t *rapid.T, name string) contract.Contract {
	hint := rapid.SampledFrom([]contract.Hint{contract.Unknown, contract.No, contract.Yes})
	return contract.Contract{
		ReadOnly:    hint.Draw(t, name+".readOnly"),
		Destructive: hint.Draw(t, name+".destructive"),
		Idempotent:  hint.Draw(t, name+".idempotent"),
		OpenWorld:   hint.Draw(t, name+".openWorld"),
		Malicious:   hint.Draw(t, name+".malicious"),

		RequiresReview: hint.Draw(t, name+".requiresReview"),
		Trusted:        hint.Draw(t, name+".trusted"),
		Output: contract.Output{
			Unsafe: hint.Draw(t, name+".unsafe"), Secret: hint.Draw(t, name+".secret"),
			Private: hint.Draw(t, name+".private"), Sensitive: hint.Draw(t, name+".sensitive"),
		},
		Operation: contract.Operation{
			AIProcessing: hint.Draw(t, name+".ai"), Slow: hint.Draw(t, name+".slow"), Costly: hint.Draw(t, name+".costly"),
			Privileged: hint.Draw(t, name+".privileged"), Reversible: hint.Draw(t, name+".reversible"),
		},

		Destinations: drawValues(t, name+".destination", contract.Ephemeral, contract.User, contract.Internal, contract.Public),
		Accepts:      drawValues(t, name+".accepts", label.User, label.PII, label.Credentials),
		Outcomes:     drawValues(t, name+".outcomes", contract.Benign, contract.Consequential, contract.Irreversible),
		Sources:      drawValues(t, name+".source", label.UntrustedPublic, label.TrustedPublic, label.Internal),
		Returns:      drawValues(t, name+".returns", label.User, label.PII, label.Credentials),
		Attribution:  label.SetOf(rapid.SliceOfN(rapid.SampledFrom([]string{"mcp://a", "mcp://b"}), 0, 2).Draw(t, name+".attribution")...),
	}
}

func drawValues[T ~string](t *rapid.T, name string, from ...T) contract.Values[T] {
	if !rapid.Bool().Draw(t, name+" known") {
		return contract.Values[T]{}
	}
	return contract.Possible(rapid.SliceOfN(rapid.SampledFrom(from), 0, len(from)).Draw(t, name)...)
}

func same(t *rapid.T, law string, a, b contract.Contract) {
	t.Helper()
	if diff := cmp.Diff(a, b); diff != "" {
		t.Fatalf("%s:\n%s", law, diff)
	}
}

// The danger of a contract written down as plainly as can be: for each member, the set of values that it leaves possible.
// A larger set is a weaker promise, and an unknown member leaves everything possible.
type danger map[string][]string

func dangerOf(c contract.Contract) danger {
	return danger{
		"readOnly":    hint(c.ReadOnly, contract.Yes),
		"destructive": hint(c.Destructive, contract.No),
		"idempotent":  hint(c.Idempotent, contract.Yes),
		"openWorld":   hint(c.OpenWorld, contract.No),
		"malicious":   hint(c.Malicious, contract.No),
		"review":      hint(c.RequiresReview, contract.No),
		"trusted":     hint(c.Trusted, contract.Yes),
		"unsafe":      hint(c.Output.Unsafe, contract.No),
		"secret":      hint(c.Output.Secret, contract.No),
		"private":     hint(c.Output.Private, contract.No),
		"sensitive":   hint(c.Output.Sensitive, contract.No),
		"ai":          hint(c.Operation.AIProcessing, contract.No),
		"slow":        hint(c.Operation.Slow, contract.No),
		"costly":      hint(c.Operation.Costly, contract.No),
		"privileged":  hint(c.Operation.Privileged, contract.No),
		"reversible":  hint(c.Operation.Reversible, contract.Yes),
		"destination": values(c.Destinations),
		"accepts":     values(c.Accepts),
		"outcomes":    values(c.Outcomes),
		"source":      values(c.Sources),
		"returns":     values(c.Returns),
		"attribution": c.Attribution.Slice(),
	}
}

func hint(h, safe contract.Hint) []string {
	switch h {
	case safe:
		return nil
	case contract.Unknown:
		return []string{"perhaps"}
	}
	return []string{"perhaps", "certainly"}
}

func values[T ~string](v contract.Values[T]) []string {
	set, known := v.Known()
	if !known {
		return []string{"anything"}
	}
	out := []string{}
	for x := range set.All() {
		out = append(out, string(x))
	}
	return out
}

// within reports whether everything in a is in b, for the members that are named, or for all.
func (d danger) within(o danger, members ...string) bool {
	for name, possible := range d {
		if len(members) > 0 && !slices.Contains(members, name) || slices.Contains(o[name], "anything") {
			continue
		}
		for _, x := range possible {
			if !slices.Contains(o[name], x) {
				return false
			}
		}
	}
	return true
}

func TestJoinIsASemilattice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := draw(t, "a"), draw(t, "b"), draw(t, "c")
		ab := contract.Join(a, b)
		same(t, "commutative", ab, contract.Join(b, a))
		same(t, "associative", contract.Join(ab, c), contract.Join(a, contract.Join(b, c)))
		same(t, "idempotent", contract.Join(a, a), a)
		if !dangerOf(a).within(dangerOf(ab)) || !dangerOf(b).within(dangerOf(ab)) {
			t.Fatalf("join promises more than its parts:\n%v\n%v\n%v", a, b, ab)
		}
		if dc := dangerOf(c); dangerOf(a).within(dc) && dangerOf(b).within(dc) && !dangerOf(ab).within(dc) {
			t.Fatalf("join is not the least:\n%v\n%v\n%v", a, b, c)
		}
	})
}

func TestAssume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := draw(t, "c")
		a := c.Assume()
		same(t, "idempotent", a.Assume(), a)
		if (a.ReadOnly == contract.Yes) != (c.ReadOnly == contract.Yes) {
			t.Fatalf("a call is assumed to read only, or no longer: %v, %v", c, a)
		}
		sets := []string{"destination", "accepts", "outcomes", "source", "returns"}
		quiet := c // the hints that warn may add to the declaration, nothing else
		quiet.Output, quiet.Operation = contract.Output{}, contract.Operation{}
		if !dangerOf(quiet.Assume()).within(dangerOf(c), sets...) {
			t.Fatalf("a declared member changed:\n%v\n%v", c, quiet.Assume())
		}
		for name, declared := range dangerOf(c) {
			if !slices.Contains(declared, "anything") && !slices.Contains(declared, "perhaps") && !(danger{name: declared}).within(dangerOf(a)) {
				t.Fatalf("%s: what %v declares is lost in %v", name, c, a)
			}
		}
		for name, h := range map[string][2]contract.Hint{
			"readOnly": {c.ReadOnly, a.ReadOnly}, "destructive": {c.Destructive, a.Destructive},
			"idempotent": {c.Idempotent, a.Idempotent}, "openWorld": {c.OpenWorld, a.OpenWorld},
		} {
			if h[1] == contract.Unknown || h[0] != contract.Unknown && h[0] != h[1] {
				t.Fatalf("%s: declared %v, assumed %v", name, h[0], h[1])
			}
		}
		for name, known := range map[string]bool{
			"destination": known(a.Destinations), "outcomes": known(a.Outcomes), "source": known(a.Sources) || a.OpenWorld == contract.No,
		} {
			if !known {
				t.Fatalf("%s is still unknown: %v", name, a)
			}
		}
	})
}

// A result is labelled with all that the contract of its tool calls possible, and a warning is never lost on the way.
func TestLabel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := draw(t, "c")
		if l := c.Label(); !l.Equal(l.Normal()) || !c.Assume().Label().Covers(l) {
			t.Fatalf("%v gives %+v, and assumed %+v", c, l, c.Assume().Label())
		}
		for trust := contract.Untrusted; trust <= contract.Trusted; trust++ {
			e := contract.Effective(c, trust)
			if !e.Label().Covers(c.Label()) {
				t.Fatalf("%v of a server that is %v is %v, which loses a label", c, trust, e)
			}
			if e.Trusted == contract.Yes && trust != contract.Trusted {
				t.Fatalf("a server that is %v vouches for its own tool: %v", trust, e)
			}
		}
	})
}

func known[T ~string](v contract.Values[T]) bool {
	_, ok := v.Known()
	return ok
}

func TestUntrustedServersMayOnlyRaise(t *testing.T) {
	worst := dangerOf(contract.Pessimistic())
	for name := range worst { // the others are no promises: Pessimistic is silent about them
		if !slices.Contains([]string{"readOnly", "destructive", "idempotent", "openWorld", "destination", "outcomes", "source"}, name) {
			delete(worst, name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := draw(t, "c")
		e := contract.Effective(c, contract.Untrusted)
		if !worst.within(dangerOf(e)) || !known(e.Destinations) || !known(e.Outcomes) || !known(e.Sources) {
			t.Fatalf("declaring %v lowered it to %v", c, e)
		}
		declared := dangerOf(c.Assume())
		delete(declared, "source") // in a closed world unknown; an untrusted server's is not closed
		if !declared.within(dangerOf(e)) {
			t.Fatalf("a declared danger of %v is lost in %v", c, e)
		}
		if odd := contract.Effective(c, contract.Trusted+1); !odd.Equal(e) {
			t.Fatalf("a trust that does not exist gives %v", odd)
		}
	})
}

func TestMoreTrustNeverRaisesDanger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := draw(t, "c")
		var e [3]contract.Contract
		for trust := contract.Untrusted; trust <= contract.Trusted; trust++ {
			e[trust] = contract.Effective(c, trust)
		}
		for trust := contract.Known; trust <= contract.Trusted; trust++ {
			more, less := dangerOf(e[trust]), dangerOf(e[trust-1])
			if slices.Contains(more["source"], "anything") {
				delete(more, "source") // nothing is claimed, and nothing was declared that could have been lost
			}
			if !more.within(less) {
				t.Fatalf("%v is more dangerous than %v:\n%v\n%v", trust, trust-1, e[trust], e[trust-1])
			}
		}
		same(t, "a trusted server's claims count", e[contract.Trusted], c.Assume())
		if !e[contract.Known].Sources.Has(label.UntrustedPublic) {
			t.Fatalf("a known server's data became trusted: %v", e[contract.Known])
		}
	})
}

func TestNarrowsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, d, r := draw(t, "c"), draw(t, "d"), draw(t, "r")
		if v := c.Narrows(c); v != nil {
			t.Fatalf("a contract violates itself: %v", v)
		}
		if v := c.Narrows(contract.Contract{}); v != nil {
			t.Fatalf("saying nothing violates a contract: %v", v)
		}
		if v := (contract.Contract{}).Narrows(r); v != nil {
			t.Fatalf("a contract that declares nothing is violated: %v", v)
		}
		if strict, weak := c.Narrows(r), contract.Join(c, d).Narrows(r); !subset(weak, strict) {
			t.Fatalf("the weaker contract is violated at %v, the stricter at %v", weak, strict)
		}
		if v := contract.Join(c, d).Narrows(c); v != nil {
			t.Fatalf("a part violates the join: %v", v)
		}
	})
}

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(x string) bool { return !slices.Contains(b, x) })
}

func TestStringTellsContractsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		if rapid.Bool().Draw(t, "one member differs") {
			b = a
			b.Accepts = drawValues(t, "accepts", label.PII, label.User, label.PII+", "+label.User, "unknown", `"`, "]", "")
		}
		if got, want := a.String() == b.String(), a.Equal(b); got != want {
			t.Fatalf("equal text: %v, equal: %v\n%v\n%v", got, want, a, b)
		}
	})
}

// A reader that believes what it is told decides as Weir does.
func TestToldIsDecidedByAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		overlay, declared := draw(t, "overlay"), draw(t, "declared")
		e := contract.Overlaid(overlay, declared, contract.Trust(rapid.IntRange(0, 2).Draw(t, "trust")))
		told := e.Told(declared)
		got := told.Assume()
		want := e.Assume()
		got.Trusted, got.Operation.Reversible = want.Trusted, want.Operation.Reversible // promises that do not count
		same(t, "told", got, want)
	})
}
