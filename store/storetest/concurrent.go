package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

// Several agents join into children of one parent. The next read of the child and of the parent sees every acknowledged
// label at once, nothing is lost, and each rise is reported by one operation only.
func testConcurrentJoins(t *testing.T, f *fixture) {
	const agents, joins = 8, 25
	reported := make([][]store.Rise, agents)
	var wg sync.WaitGroup
	for a := range agents {
		child := fmt.Sprint("child-", a%(agents/2)) // two agents share a child
		wg.Go(func() {
			_, rises, err := f.Open(t.Context(), ref(child, "parent"), noLimits)
			if err != nil {
				t.Error(err)
				return
			}
			reported[a] = rises
			for j := range joins {
				l := uris(fmt.Sprintf("mcp://%d/%d", a, j))
				s, rises, err := f.Join(t.Context(), child, l, noLimits)
				if err != nil || !s.Label.Covers(l) {
					t.Errorf("joining: got %v, %v", s.Label, err)
					return
				}
				reported[a] = append(reported[a], rises...)
				for _, key := range []string{child, "parent"} {
					if s, err := f.Get(t.Context(), key); err != nil || !s.Label.Covers(l) {
						t.Errorf("after the join %q has %v, %v", key, s.Label, err)
					}
				}
				if _, err := f.Count(t.Context(), child); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	f.equal("URIs of the parent", agents*joins, f.get("parent").Label.Attribution.Len())
	risen := map[string]label.Set[string]{}
	for _, rises := range reported {
		for _, r := range rises {
			fresh := r.After.Without(r.Before).Attribution
			f.equal("labels raised twice in "+r.Key, 0, fresh.Len()-fresh.Without(risen[r.Key]).Len())
			risen[r.Key] = risen[r.Key].Union(fresh)
		}
	}
	for _, s := range f.all("") {
		f.equal("labels raised in "+s.Key, s.Label.Attribution.Slice(), risen[s.Key].Slice())
		if s.Key != "parent" {
			f.equal("calls", int64(2*joins), s.Calls)
		}
	}
}

// Of several principals that open the same session at once, one gets it.
func testConcurrentOpens(t *testing.T, f *fixture) {
	const principals = 8
	var won atomic.Int32
	var wg sync.WaitGroup
	for p := range principals {
		wg.Go(func() {
			r := store.Ref{Key: "s", Principal: fmt.Sprint("p", p)}
			for range 3 {
				s, _, err := f.Open(t.Context(), r, noLimits)
				switch {
				case err == nil && s.Principal == r.Principal:
					won.Add(1)
				case !errors.Is(err, store.ErrPrincipal):
					t.Errorf("got %v, %v", s, err)
				}
			}
		})
	}
	wg.Wait()
	f.equal("openings by the one", int32(3), won.Load())
}

// Sessions that each want another as their parent, in a ring, at once: one of them cannot.
func testConcurrentLinks(t *testing.T, f *fixture) {
	const ring = 6
	key := func(i int) string { return fmt.Sprint("s", i%ring) }
	for i := range ring {
		f.open(key(i), "")
		f.join(key(i), uris(key(i)))
	}
	var refused atomic.Int32
	var wg sync.WaitGroup
	for i := range ring {
		wg.Go(func() {
			_, _, err := f.Open(t.Context(), ref(key(i), key(i+1)), noLimits)
			switch {
			case errors.Is(err, store.ErrParent):
				refused.Add(1)
			case err != nil:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f.equal("links refused", int32(1), refused.Load())
	for _, s := range f.all("") {
		if s.Parent == "" {
			f.equal("URIs at the top", ring, s.Label.Attribution.Len())
		} else if p := f.get(s.Parent); !p.Label.Covers(s.Label) {
			t.Errorf("%q has %v, its child %q %v", p.Key, p.Label, s.Key, s.Label)
		}
	}
}
