package session_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// writes counts how often a label is written, and does something else in between, if asked to.
type writes struct {
	store.Store
	joins      int
	beforeJoin func()
	err        error
}

func (w *writes) Join(ctx context.Context, key string, l label.Label, lim store.Limits) (store.Session, []store.Rise, error) {
	w.joins++
	if w.beforeJoin != nil {
		w.beforeJoin()
	}
	if w.err != nil {
		return store.Session{}, nil, w.err
	}
	return w.Store.Join(ctx, key, l, lim)
}

func open(t testing.TB, s *session.Sessions, key, parent string) session.State {
	t.Helper()
	state, _, err := s.Open(t.Context(), session.Ref{Key: key, Parent: parent, Principal: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func raise(t testing.TB, s *session.Sessions, key string, l label.Label) session.Change {
	t.Helper()
	change, err := s.Raise(t.Context(), key, l)
	if err != nil {
		t.Fatal(err)
	}
	return change
}

func snapshot(t testing.TB, s *session.Sessions, key string) session.State {
	t.Helper()
	state, err := s.Snapshot(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func equal(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func uris(names ...string) label.Label { return label.Label{Attribution: label.SetOf(names...)} }

func TestRaise(t *testing.T) {
	s := session.New(session.Options{})
	open(t, s, "s", "")
	untrusted := label.Label{Untrusted: true}
	both := label.Label{Untrusted: true, Private: true}
	for _, step := range []struct {
		name string
		l    label.Label
		want session.Change
	}{
		{"nothing into nothing", label.Label{}, session.Change{}},
		{"untrusted", untrusted, session.Change{After: untrusted, Raised: true}},
		{"untrusted again", untrusted, session.Change{Before: untrusted, After: untrusted}},
		{"nothing", label.Label{}, session.Change{Before: untrusted, After: untrusted}},
		{"private", label.Label{Private: true}, session.Change{Before: untrusted, After: both, Raised: true}},
		{"untrusted once more", untrusted, session.Change{Before: both, After: both}},
	} {
		equal(t, step.name, step.want, raise(t, s, "s", step.l))
		equal(t, "snapshot after "+step.name, step.want.After, snapshot(t, s, "s").Label)
	}
}

func TestRaiseIsNormal(t *testing.T) {
	s := session.New(session.Options{})
	open(t, s, "s", "")
	raise(t, s, "s", label.Label{Sources: label.SetOf(label.UntrustedPublic, label.Internal)})
	equal(t, "label", label.Label{
		Untrusted: true, Private: true, Sources: label.SetOf(label.UntrustedPublic, label.Internal),
	}, snapshot(t, s, "s").Label)
}

func TestRaiseReportsAncestors(t *testing.T) {
	s := session.New(session.Options{})
	open(t, s, "parent", "grandparent")
	open(t, s, "child", "parent")
	raise(t, s, "grandparent", uris("a"))
	equal(t, "change", session.Change{
		After: uris("b"), Raised: true,
		Ancestors: []session.Rise{
			{Key: "parent", After: uris("b")},
			{Key: "grandparent", Before: uris("a"), After: uris("a", "b")},
		},
	}, raise(t, s, "child", uris("b")))
	equal(t, "change", session.Change{After: uris("a", "b"), Before: uris("a", "b")}, raise(t, s, "grandparent", uris("b")))
}

func TestLateParentIsReported(t *testing.T) {
	s := session.New(session.Options{})
	open(t, s, "child", "")
	open(t, s, "parent", "")
	raise(t, s, "child", uris("c"))
	raise(t, s, "parent", uris("p"))
	state, rises, err := s.Open(t.Context(), session.Ref{Key: "child", Parent: "parent", Principal: "alice"})
	equal(t, "error", nil, err)
	equal(t, "label", uris("c", "p"), state.Label)
	equal(t, "rises", []session.Rise{
		{Key: "child", Before: uris("c"), After: uris("c", "p")},
		{Key: "parent", Before: uris("p"), After: uris("c", "p")},
	}, rises)
}

func TestCoveredLabelsAreNotWritten(t *testing.T) {
	w := &writes{Store: store.NewMemory(nil)}
	s := session.New(session.Options{Store: w, MaxAttribution: 2})
	open(t, s, "s", "")
	for _, step := range []struct {
		l     label.Label
		joins int
	}{
		{label.Label{}, 0},
		{label.Label{Untrusted: true}, 1},
		{label.Label{Untrusted: true}, 1},
		{uris("a"), 2},
		{label.Label{Untrusted: true, Attribution: label.SetOf("a")}, 2},
		{uris("b", "c"), 3},
		{uris("d", "e", "f"), 3}, // beyond the limit, and already marked
		{label.Label{Untrusted: true, Attribution: label.SetOf("z")}, 3},
		{label.Label{Private: true, Attribution: label.SetOf("z")}, 4},
	} {
		raise(t, s, "s", step.l)
		equal(t, fmt.Sprintf("writes after %+v", step.l), step.joins, w.joins)
	}
	equal(t, "label", label.Label{Untrusted: true, Private: true, Attribution: label.SetOf("a", "b", session.More)}, snapshot(t, s, "s").Label)
}

// Another process raises the session between the read and the write.
func TestRaiseThatAnotherOvertakes(t *testing.T) {
	memory := store.NewMemory(nil)
	other := session.New(session.Options{Store: memory})
	w := &writes{Store: memory}
	s := session.New(session.Options{Store: w})
	open(t, s, "s", "")

	w.beforeJoin = func() { raise(t, other, "s", uris("a", "b")) }
	equal(t, "the same", session.Change{Before: uris("a", "b"), After: uris("a", "b")}, raise(t, s, "s", uris("a")))
	w.beforeJoin = func() { raise(t, other, "s", uris("c")) }
	equal(t, "something else", session.Change{Before: uris("a", "b", "c"), After: uris("a", "b", "c", "d"), Raised: true}, raise(t, s, "s", uris("d")))
}

func TestErrors(t *testing.T) {
	s := session.New(session.Options{})
	open(t, s, "s", "")
	_, _, err := s.Open(t.Context(), session.Ref{Key: "s", Principal: "mallory"})
	check := func(what string, want, got error) {
		if !errors.Is(got, want) {
			t.Errorf("%s: got error %v, want %v", what, got, want)
		}
	}
	check("another principal", store.ErrPrincipal, err)
	_, err = s.Raise(t.Context(), "unheard-of", label.Label{})
	check("raise", store.ErrNotFound, err)
	_, err = s.Snapshot(t.Context(), "unheard-of")
	check("snapshot", store.ErrNotFound, err)
	_, err = s.Count(t.Context(), "unheard-of")
	check("count", store.ErrNotFound, err)

	broken := errors.New("disk is full")
	w := &writes{Store: store.NewMemory(nil), err: broken}
	s = session.New(session.Options{Store: w})
	open(t, s, "s", "")
	change, err := s.Raise(t.Context(), "s", label.Label{Untrusted: true})
	check("a store that cannot write", broken, err)
	equal(t, "change", session.Change{}, change)
}

func TestCountAndList(t *testing.T) {
	s := session.New(session.Options{})
	open(t, s, "a", "")
	for want := int64(1); want <= 2; want++ {
		n, err := s.Count(t.Context(), "a")
		if n != want || err != nil {
			t.Errorf("got %d, %v, want %d", n, err, want)
		}
	}
	for principal, want := range map[string]int{"": 1, "alice": 1, "bob": 0} {
		n := 0
		for state, err := range s.List(t.Context(), principal) {
			if err != nil || state.Key != "a" || state.Calls != 2 {
				t.Errorf("got %+v, %v", state, err)
			}
			n++
		}
		equal(t, "sessions of "+principal, want, n)
	}
}

// Labels raised in any descendant, in any order, arrive in all its ancestors, and no label is lowered.
func TestMonotone(t *testing.T) {
	keys := []string{"top", "left", "right", "leaf"}
	parents := map[string]string{"left": "top", "right": "top", "leaf": "left"}
	rapid.Check(t, func(rt *rapid.T) {
		s := session.New(session.Options{MaxAttribution: rapid.IntRange(1, 6).Draw(rt, "limit")})
		for _, key := range keys {
			open(t, s, key, parents[key])
		}
		for range rapid.IntRange(1, 20).Draw(rt, "calls") {
			key := rapid.SampledFrom(keys).Draw(rt, "key")
			l := label.Label{
				Untrusted:   rapid.Bool().Draw(rt, "untrusted"),
				Sources:     label.SetOf(rapid.SampledFrom([]label.Source{label.Internal, label.System}).Draw(rt, "source")),
				Attribution: label.SetOf(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"}), 0, 3).Draw(rt, "uris")...),
			}
			before := map[string]label.Label{}
			for _, k := range keys {
				before[k] = snapshot(t, s, k).Label
			}
			change := raise(t, s, key, l)
			if !change.Before.Equal(before[key]) || change.Raised == change.Before.Equal(change.After) {
				rt.Fatalf("raising %q from %+v by %+v is told as %+v", key, before[key], l, change)
			}
			for _, k := range keys {
				if now := snapshot(t, s, k).Label; !now.Covers(before[k]) || !now.Equal(now.Normal()) {
					rt.Fatalf("%q went from %+v to %+v", k, before[k], now)
				}
			}
			for k := key; k != ""; k = parents[k] {
				now := snapshot(t, s, k).Label
				want := l.Normal()
				if now.Attribution.Has(session.More) {
					want.Attribution = label.Set[string]{}
				}
				if !now.Covers(want) {
					rt.Fatalf("%+v was raised into %q, and %q has %+v", l, key, k, now)
				}
			}
		}
	})
}

func TestConcurrentRaises(t *testing.T) {
	s := session.New(session.Options{})
	var wg sync.WaitGroup
	for a := range 8 {
		wg.Go(func() {
			key := fmt.Sprint("agent-", a)
			open(t, s, key, "parent")
			for i := range 50 {
				l := uris(fmt.Sprintf("mcp://%d/%d", a, i))
				if change := raise(t, s, key, l); !change.Raised || !change.After.Covers(l) {
					t.Errorf("got %+v", change)
				}
				if !snapshot(t, s, "parent").Label.Covers(l) {
					t.Errorf("the parent does not have %v", l)
				}
			}
		})
	}
	wg.Wait()
	equal(t, "URIs of the parent", 8*50, snapshot(t, s, "parent").Label.Attribution.Len())
}
