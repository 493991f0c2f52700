package session_test

import (
	"fmt"
	"testing"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
)

// aged returns sessions with one, "s", that has a parent and has taken in the results of the given number of calls, each
// from a place of its own.
func aged(tb testing.TB, calls int) *session.Sessions {
	tb.Helper()
	s := session.New(session.Options{})
	open(tb, s, "s", "parent")
	for i := range calls {
		raise(tb, s, "s", result(i))
	}
	return s
}

func result(i int) label.Label {
	return label.Label{Untrusted: true, Sources: label.SetOf(label.UntrustedPublic), Attribution: label.SetOf(fmt.Sprintf("https://example.com/%06d", i))}
}

// The label of a session, and with it the cost of a call, stops growing at the limit.
func TestCostIsBounded(t *testing.T) {
	s := aged(t, 10_000)
	if n := snapshot(t, s, "s").Label.Attribution.Len(); n != 1024+1 {
		t.Fatalf("the session names %d URIs", n)
	}
	const most = 20
	next := 10_000
	allocs := testing.AllocsPerRun(100, func() {
		next++
		raise(t, s, "s", result(next))
	})
	if allocs > most {
		t.Errorf("a call allocates %v times, at most %d are wanted", allocs, most)
	}
}

func BenchmarkRaiseCovered(b *testing.B) {
	s, l := aged(b, 100), result(50)
	b.ReportAllocs()
	for b.Loop() {
		raise(b, s, "s", l)
	}
}

// BenchmarkRaise measures one call whose result comes from a new place, after so many calls like it.
func BenchmarkRaise(b *testing.B) {
	for _, calls := range []int{0, 100, 1000, 2000, 10_000, 100_000} {
		b.Run(fmt.Sprint(calls), func(b *testing.B) {
			var past label.Label
			var places []string
			for i := range calls {
				places = append(places, fmt.Sprintf("https://example.com/%06d", i))
			}
			past.Attribution = label.SetOf(places...)
			const batch = 20 // calls until the session is too old for its name
			var s *session.Sessions
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if n%batch == 0 {
					b.StopTimer()
					s = aged(b, 0)
					raise(b, s, "s", past)
					b.StartTimer()
				}
				raise(b, s, "s", result(calls+n%batch))
			}
		})
	}
}
