package label_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/label"
)

// draw makes labels out of few names, so that random labels overlap.
func draw(t *rapid.T, name string) label.Label {
	bit := rapid.Bool()
	l := label.Label{
		Untrusted:   bit.Draw(t, name+".untrusted"),
		Private:     bit.Draw(t, name+".private"),
		Malicious:   bit.Draw(t, name+".malicious"),
		Findings:    drawSet(t, name+".findings", "pii", "secret", "inject"),
		Sensitivity: drawSet(t, name+".sensitivity", label.User, label.PII, label.Credentials, label.RegulatedBy("GDPR")),
		Sources:     drawSet(t, name+".sources", label.UntrustedPublic, label.TrustedPublic, label.Internal, label.UserSource, label.System),
		Attribution: drawSet(t, name+".attribution", "mcp://a/x", "mcp://b/y", "https://c", "file:///d"),
	}
	if bit.Draw(t, name+".limited") {
		l.Readers = label.OnlyReaders(drawSet(t, name+".readers", "alice", "bob", "carol").Slice()...)
	}
	return l
}

func drawSet[T ~string](t *rapid.T, name string, from ...T) label.Set[T] {
	return label.SetOf(rapid.SliceOfN(rapid.SampledFrom(from), 0, len(from)).Draw(t, name)...)
}

func same(t *rapid.T, law string, a, b label.Label) {
	t.Helper()
	// Equal is defined by Covers, which the model test holds against the components one by one.
	if !a.Equal(b) || !b.Equal(a) {
		t.Fatalf("%s:\n%+v\n%+v", law, a, b)
	}
}

func TestJoinIsASemilattice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := draw(t, "a"), draw(t, "b"), draw(t, "c")
		ab := label.Join(a, b)
		same(t, "commutative", ab, label.Join(b, a))
		same(t, "associative", label.Join(ab, c), label.Join(a, label.Join(b, c)))
		same(t, "idempotent", label.Join(a, a), a)
		same(t, "zero is the bottom", label.Join(label.Label{}, a), a)
		if !ab.Covers(a) || !ab.Covers(b) {
			t.Fatalf("join lowered a component: %+v", ab)
		}
		if c.Covers(a) && c.Covers(b) && !c.Covers(ab) {
			t.Fatalf("join is not the least upper bound: %+v covers both, not %+v", c, ab)
		}
		if !label.Join(a, c).Covers(a) || !label.Join(ab, c).Covers(label.Join(a, c)) {
			t.Fatal("join is not monotone")
		}
	})
}

func TestCoversAgreesWithJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := draw(t, "a"), draw(t, "b"), draw(t, "c")
		if got, want := a.Covers(b), label.Join(a, b).Equal(a); got != want {
			t.Fatalf("Covers is %v and joining changes nothing is %v", got, want)
		}
		if !a.Covers(a) || !a.Covers(label.Label{}) {
			t.Fatal("Covers is not reflexive, or zero is not the bottom")
		}
		if a.Covers(b) && b.Covers(c) && !a.Covers(c) {
			t.Fatal("Covers is not transitive")
		}
		if got, want := a.IsZero(), a.Equal(label.Label{}); got != want {
			t.Fatalf("IsZero is %v for %+v", got, a)
		}
	})
}

func TestNormal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		n := a.Normal()
		same(t, "idempotent", n.Normal(), n)
		if !n.Covers(a) {
			t.Fatalf("Normal lowered %+v to %+v", a, n)
		}
		if a.Covers(b) && !n.Covers(b.Normal()) {
			t.Fatal("Normal is not monotone")
		}
		if up := label.Join(a, b).Normal(); !up.Covers(n) {
			t.Fatal("Normal is not monotone")
		}
		join := label.Join(n, b.Normal())
		same(t, "preserved by join", join.Normal(), join)
	})
}

func TestWithoutIsTheDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		d := a.Without(b)
		same(t, "the difference and the rest make the join", label.Join(b, d), label.Join(a, b))
		if !a.Covers(d) {
			t.Fatalf("%+v says more than %+v", d, a)
		}
		if got, want := d.IsZero(), b.Covers(a); got != want {
			t.Fatalf("nothing is left: %v, covered: %v", got, want)
		}
		taint := a.Taint()
		if taint.Attribution.Len() != 0 || !a.Covers(taint) {
			t.Fatalf("Taint of %+v is %+v", a, taint)
		}
		taint.Attribution = a.Attribution
		same(t, "Taint removes the attribution only", taint, a)
	})
}

// The text of labels tells them apart, however their members are written.
func TestStringIsInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		hostile := rapid.SliceOfN(rapid.SampledFrom([]string{`a`, `a" "b`, `b`, "a, b", "untrusted", "\n"}), 0, 3)
		a.Attribution, b.Attribution = label.SetOf(hostile.Draw(t, "x")...), label.SetOf(hostile.Draw(t, "y")...)
		if (a.String() == b.String()) != a.Equal(b) {
			t.Fatalf("%v\n%v\nequal: %v", a, b, a.Equal(b))
		}
	})
}
