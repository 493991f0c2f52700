package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

// A model is a store as plain as can be: sessions by key, and every promise written out as a loop.
type model map[string]store.Session

func (m model) ancestors(key string) (above []string) {
	for p := m[key].Parent; p != ""; p = m[p].Parent {
		above = append(above, p)
	}
	return above
}

func (m model) raise(key string, l label.Label) []store.Rise {
	s := m[key]
	before := s.Label
	s.Label = label.Join(before, l)
	if s.Label.Equal(before) {
		return nil
	}
	m[key] = s
	return []store.Rise{{Key: key, Before: before, After: s.Label}}
}

func (m model) open(r store.Ref, now time.Time) ([]store.Rise, error) {
	s, known := m[r.Key]
	p, parentKnown := m[r.Parent]
	switch {
	case known && s.Principal != r.Principal, parentKnown && p.Principal != r.Principal:
		return nil, store.ErrPrincipal
	case r.Parent == r.Key, known && r.Parent != "" && s.Parent != "" && s.Parent != r.Parent,
		known && slices.Contains(m.ancestors(r.Parent), r.Key):
		return nil, store.ErrParent
	}
	linked := known && s.Parent == r.Parent
	for _, key := range []string{r.Key, r.Parent} {
		if _, known := m[key]; !known && key != "" {
			m[key] = store.Session{Key: key, Principal: r.Principal, Created: now, Seen: now}
		}
	}
	if linked || r.Parent == "" {
		return nil, nil
	}
	s = m[r.Key]
	s.Parent = r.Parent
	m[r.Key] = s
	rises := m.raise(r.Key, m[r.Parent].Label)
	for _, a := range m.ancestors(r.Key) {
		rises = append(rises, m.raise(a, s.Label)...)
	}
	return rises, nil
}

func (m model) join(key string, l label.Label, now time.Time) ([]store.Rise, error) {
	if _, known := m[key]; !known {
		return nil, store.ErrNotFound
	}
	rises := m.raise(key, l)
	if rises != nil {
		m.see(key, now, 0)
	}
	for _, a := range m.ancestors(key) {
		rises = append(rises, m.raise(a, l)...)
	}
	return rises, nil
}

func (m model) see(key string, now time.Time, calls int64) {
	s := m[key]
	s.Calls += calls
	if now.Sub(s.Seen) >= store.SeenWithin {
		s.Seen = now
	}
	m[key] = s
}

func (m model) list(principal string) []store.Session {
	return slices.SortedFunc(func(yield func(store.Session) bool) {
		for s := range maps.Values(m) {
			if (principal == "" || s.Principal == principal) && !yield(s) {
				return
			}
		}
	}, func(a, b store.Session) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.Key, b.Key))
	})
}

func testModel(t *testing.T, open New) {
	rapid.Check(t, func(rt *rapid.T) {
		r := &run{T: rt, fixture: newFixture(t, open), model: model{}}
		rt.Repeat(map[string]func(*rapid.T){
			"open":  r.doOpen,
			"join":  r.doJoin,
			"count": r.doCount,
			"get":   r.doGet,
			"list":  r.doList,
			"wait":  r.doWait,
			"":      r.compare,
		})
	})
}

// A run applies the same random operations to a store and to the model.
type run struct {
	*rapid.T
	*fixture
	model model
}

var names = []string{"a", "b", "c", "d", "e", "f"}

func (r *run) doOpen(t *rapid.T) {
	ref := store.Ref{
		Key:       rapid.SampledFrom(names).Draw(t, "key"),
		Parent:    rapid.SampledFrom(append([]string{"", ""}, names...)).Draw(t, "parent"),
		Principal: rapid.SampledFrom([]string{"alice", "alice", "alice", "bob"}).Draw(t, "principal"),
	}
	want, wantErr := r.model.open(ref, r.clock.Now())
	s, rises, err := r.Open(r.t.Context(), ref, noLimits)
	r.check(t, fmt.Sprintf("opening %+v", ref), wantErr, err)
	r.same(t, "session", r.stateAfter(ref.Key, wantErr), s)
	r.same(t, "rises", want, rises)
}

func (r *run) doJoin(t *rapid.T) {
	key := rapid.SampledFrom(names).Draw(t, "key")
	l := label.Label{
		Untrusted:   rapid.Bool().Draw(t, "untrusted"),
		Sensitivity: label.SetOf(rapid.SliceOfN(rapid.SampledFrom([]label.Class{label.PII, label.User}), 0, 1).Draw(t, "sensitivity")...),
		Attribution: label.SetOf(rapid.SliceOfN(rapid.SampledFrom(names), 0, 2).Draw(t, "attribution")...),
	}
	if rapid.IntRange(0, 4).Draw(t, "limited") == 0 {
		l.Readers = label.OnlyReaders(rapid.SliceOfN(rapid.SampledFrom(names), 2, 6).Draw(t, "readers")...)
	}
	want, wantErr := r.model.join(key, l, r.clock.Now())
	s, rises, err := r.Join(r.t.Context(), key, l, noLimits)
	r.check(t, fmt.Sprintf("joining %+v into %q", l, key), wantErr, err)
	r.same(t, "session", r.stateAfter(key, wantErr), s)
	r.same(t, "rises", want, rises)
}

func (r *run) doCount(t *rapid.T) {
	key := rapid.SampledFrom(names).Draw(t, "key")
	var wantErr error
	if _, known := r.model[key]; known {
		r.model.see(key, r.clock.Now(), 1)
	} else {
		wantErr = store.ErrNotFound
	}
	n, err := r.Count(r.t.Context(), key)
	r.check(t, "counting a call of "+key, wantErr, err)
	r.same(t, "calls", r.model[key].Calls, n)
}

func (r *run) doWait(t *rapid.T) {
	r.clock.Advance(time.Duration(rapid.IntRange(-1, 3).Draw(t, "seconds")) * time.Second)
}

func (r *run) doGet(t *rapid.T) {
	key := rapid.SampledFrom(names).Draw(t, "key")
	var wantErr error
	if _, known := r.model[key]; !known {
		wantErr = store.ErrNotFound
	}
	s, err := r.Get(r.t.Context(), key)
	r.check(t, "reading "+key, wantErr, err)
	r.same(t, "session", r.model[key], s)
}

func (r *run) doList(t *rapid.T) {
	principal := rapid.SampledFrom([]string{"alice", "bob", "carol"}).Draw(t, "principal")
	r.same(t, "sessions of "+principal, r.model.list(principal), r.all(principal))
}

func (r *run) compare(t *rapid.T) { r.same(t, "all sessions", r.model.list(""), r.all("")) }

// stateAfter is the result of an operation on the session beside its error.
func (r *run) stateAfter(key string, err error) store.Session {
	if err != nil {
		return store.Session{}
	}
	return r.model[key]
}

func (r *run) check(t *rapid.T, what string, want, got error) {
	if !errors.Is(got, want) {
		t.Fatalf("%s: got error %v, want %v", what, got, want)
	}
}

func (r *run) same(t *rapid.T, what string, want, got any) {
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-model +store):\n%s", what, diff)
	}
}
