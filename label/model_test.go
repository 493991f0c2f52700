package label_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/label"
)

// The model is a label written down as plainly as can be: one map entry for every single thing it says. What a label
// says of readers it says by whom it excludes, so that the join of two models is the union of their maps throughout.
type model map[string]bool

var people = []string{"alice", "bob", "carol"}

func modelOf(l label.Label) model {
	m := model{}
	for name, on := range map[string]bool{"untrusted": l.Untrusted, "private": l.Private, "malicious": l.Malicious} {
		if on {
			m[name] = true
		}
	}
	for x := range l.Findings.All() {
		m["finding "+x] = true
	}
	for x := range l.Sensitivity.All() {
		m["class "+string(x)] = true
	}
	for x := range l.Sources.All() {
		m["source "+string(x)] = true
	}
	for x := range l.Attribution.All() {
		m["uri "+x] = true
	}
	if _, limited := l.Readers.Limited(); limited {
		m["keeps out others"] = true
	}
	for _, p := range people {
		if !l.Readers.Allows(p) {
			m["keeps out "+p] = true
		}
	}
	return m
}

func (m model) join(o model) model {
	out := maps.Clone(m)
	maps.Copy(out, o)
	return out
}

func (m model) covers(o model) bool {
	for x := range o {
		if !m[x] {
			return false
		}
	}
	return true
}

func TestLabelAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		ma, mb := modelOf(a), modelOf(b)
		if diff := cmp.Diff(ma.join(mb), modelOf(label.Join(a, b))); diff != "" {
			t.Fatalf("Join (-model +label):\n%s", diff)
		}
		if got, want := a.Covers(b), ma.covers(mb); got != want {
			t.Fatalf("Covers is %v, the model says %v", got, want)
		}
		if got, want := a.Equal(b), maps.Equal(ma, mb); got != want {
			t.Fatalf("Equal is %v, the model says %v", got, want)
		}
		if got, want := a.IsZero(), len(ma) == 0; got != want {
			t.Fatalf("IsZero is %v, the model says %v", got, want)
		}
	})
}

// In any order, and any number of times, labels that arrive make the same label.
func TestOrderAndRepetitionDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var labels []label.Label
		want := model{}
		for range rapid.IntRange(1, 6).Draw(t, "labels") {
			l := draw(t, "l")
			labels = append(labels, l)
			want = want.join(modelOf(l))
		}
		again := rapid.SliceOf(rapid.SampledFrom(labels)).Draw(t, "repeated")
		var got label.Label
		for _, l := range rapid.Permutation(slices.Concat(labels, again)).Draw(t, "order") {
			got = label.Join(got, l)
		}
		if diff := cmp.Diff(want, modelOf(got)); diff != "" {
			t.Fatalf("(-model +label):\n%s", diff)
		}
	})
}

func TestSetAgreesWithMaps(t *testing.T) {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "ba", "c", "d", "é", "e\u0301"}), 0, 10)
	keys := func(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
	rapid.Check(t, func(t *rapid.T) {
		as, bs := names.Draw(t, "a"), names.Draw(t, "b")
		a, b := label.SetOf(as...), label.SetOf(bs...)
		inA, inB := map[string]bool{}, map[string]bool{}
		for _, x := range as {
			inA[x] = true
		}
		for _, x := range bs {
			inB[x] = true
		}
		union, both, only := maps.Clone(inA), map[string]bool{}, map[string]bool{}
		maps.Copy(union, inB)
		for x := range inA {
			if inB[x] {
				both[x] = true
			} else {
				only[x] = true
			}
			if !a.Has(x) || b.Has(x) != inB[x] {
				t.Fatalf("Has(%q) is wrong for %v or %v", x, a, b)
			}
		}
		check := func(op string, got label.Set[string], want map[string]bool) {
			if !slices.Equal(got.Slice(), keys(want)) || !slices.Equal(slices.Collect(got.All()), keys(want)) {
				t.Fatalf("%s of %q and %q is %q, want %q", op, as, bs, got.Slice(), keys(want))
			}
			if got.Len() != len(want) || got.IsZero() != (len(want) == 0) {
				t.Fatalf("%s has length %d, want %d", op, got.Len(), len(want))
			}
		}
		check("SetOf", a, inA)
		check("Union", a.Union(b), union)
		check("Intersect", a.Intersect(b), both)
		check("Without", a.Without(b), only)
		if got, want := b.Contains(a), len(only) == 0; got != want {
			t.Fatalf("%q contains %q: %v, want %v", bs, as, got, want)
		}
		if got, want := a.Equal(b), maps.Equal(inA, inB); got != want {
			t.Fatalf("%q equals %q: %v, want %v", as, bs, got, want)
		}
		check("SetOf, after all this,", a, inA)
	})
}
