package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

// New makes an empty store that takes the time from now, and closes it when the test ends. It must be able to hold
// 1,000 sessions. It is called many times.
type New func(t *testing.T, now func() time.Time) store.Store

// A fixture is a store with a clock that the test moves.
type fixture struct {
	t *testing.T
	store.Store
	clock *clock
}

func newFixture(t *testing.T, open New) *fixture {
	c := &clock{now: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
	return &fixture{t, open(t, c.Now), c}
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock and returns the new time.
func (c *clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

var noLimits store.Limits

// ref is a reference of alice, to whom most sessions here belong.
func ref(key, parent string) store.Ref {
	return store.Ref{Key: key, Parent: parent, Principal: "alice"}
}

func uris(names ...string) label.Label { return label.Label{Attribution: label.SetOf(names...)} }

func (f *fixture) open(key, parent string) store.Session {
	f.t.Helper()
	s, _, err := f.Open(f.t.Context(), ref(key, parent), noLimits)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f *fixture) join(key string, l label.Label) []store.Rise {
	f.t.Helper()
	_, rises, err := f.Join(f.t.Context(), key, l, noLimits)
	if err != nil {
		f.t.Fatal(err)
	}
	return rises
}

func (f *fixture) get(key string) store.Session {
	f.t.Helper()
	s, err := f.Get(f.t.Context(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// all returns every session of a principal, or of all.
func (f *fixture) all(principal string) []store.Session {
	f.t.Helper()
	var all []store.Session
	for s, err := range f.List(f.t.Context(), principal) {
		if err != nil {
			f.t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// refused checks that an operation fails with an error of the given kind, returns nothing else, and changes nothing.
func (f *fixture) refused(kind error, op func(context.Context) (store.Session, []store.Rise, error)) {
	f.t.Helper()
	before := f.all("")
	s, rises, err := op(f.t.Context())
	if !errors.Is(err, kind) {
		f.t.Errorf("got error %v, want %v", err, kind)
	}
	f.equal("returned beside the error", store.Session{}, s)
	if rises != nil {
		f.t.Errorf("rises beside the error: %v", rises)
	}
	f.equal("sessions afterwards", before, f.all(""))
}

func (f *fixture) refusedOpen(kind error, r store.Ref) {
	f.t.Helper()
	f.refused(kind, func(ctx context.Context) (store.Session, []store.Rise, error) { return f.Open(ctx, r, noLimits) })
}

func (f *fixture) equal(what string, want, got any) {
	f.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func keys(sessions []store.Session) []string {
	out := []string{}
	for _, s := range sessions {
		out = append(out, s.Key)
	}
	return out
}

// chain opens n sessions, each the child of the one before, and returns their keys from the top.
func (f *fixture) chain(prefix string, n int) []string {
	f.t.Helper()
	var chain []string
	parent := ""
	for i := range n {
		key := fmt.Sprintf("%s-%02d", prefix, i)
		f.open(key, parent)
		chain, parent = append(chain, key), key
	}
	return chain
}
