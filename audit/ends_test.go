package audit_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/audit"
)

// keptEnds is a map of ends whose nodes are kept by an attacker, and the ends that it should have.
type keptEnds struct {
	root  []byte
	hash  tlog.Hash
	nodes map[int64][]byte
	cache *audit.EndCache
	links map[string]audit.Link
}

// open returns the map, with the nodes that are needed for the chains.
func (k *keptEnds) open(names ...string) *audit.Ends {
	e := audit.NewEnds(k.root, k.cache)
	for _, n := range e.Missing(names...) {
		e.Add(audit.EndNode{N: n, Body: k.nodes[n]})
	}
	return e
}

func (k *keptEnds) commit(e *audit.Ends) {
	for _, n := range e.Commit() {
		k.nodes[n.N] = n.Body
	}
	k.root, k.hash = e.RootNode(), e.Hash()
}

// around returns the listed chains before and after a name.
func (k *keptEnds) around(name string) (before, after string) {
	before = audit.ListedStart
	for _, other := range slices.Sorted(maps.Keys(k.links)) {
		switch {
		case !strings.HasPrefix(other, audit.Listed):
		case other < name:
			before = other
		case other > name && after == "":
			after = other
		}
	}
	return before, after
}

func (k *keptEnds) set(t *rapid.T, l audit.Link) {
	before, after := k.around(l.Name)
	e := k.open(l.Name, before, after)
	if _, there := k.links[l.Name]; !there && strings.HasPrefix(l.Name, audit.Listed) {
		if err := e.Enlist(l.Name, before, after); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.SetEnd(&l); err != nil {
		t.Fatal(err)
	}
	k.links[l.Name] = l
	k.commit(e)
}

func (k *keptEnds) close(t *rapid.T, name string) {
	before, after := k.around(name)
	e := k.open(name, before, after)
	if err := e.Close(name, before, after); err != nil {
		t.Fatal(err)
	}
	delete(k.links, name)
	k.commit(e)
}

// In any order of its writes, the map is that of its ends, and proves each, each absence and the list, and nothing else.
func TestEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &keptEnds{nodes: map[int64][]byte{}, links: map[string]audit.Link{}}
		if rapid.Bool().Draw(t, "cached") {
			k.cache = &audit.EndCache{}
		}
		names := rapid.SampledFrom([]string{"", "a", "b", audit.Listed, audit.Listed + "a", audit.Listed + "a/b", audit.Listed + "c"})
		many := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("local/agent:", rapid.IntRange(0, 3000).Draw(t, "n")) })
		link := rapid.Custom(func(t *rapid.T) audit.Link {
			l := audit.Link{Name: rapid.OneOf(names, many).Draw(t, "name"), Next: rapid.Int64Range(1, 3).Draw(t, "next")}
			l.ID[0], l.Last[0] = rapid.Byte().Draw(t, "id"), rapid.Byte().Draw(t, "last")
			return l
		})
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			l := link.Draw(t, "link")
			if _, there := k.links[l.Name]; there && rapid.Bool().Draw(t, "close") {
				k.close(t, l.Name)
				continue
			}
			k.set(t, l)
		}
		k.check(t)
		other := link.Draw(t, "other")
		there, known := k.links[other.Name]
		e := k.open(other.Name)
		if has, err := e.HasEnd(&other); err != nil || has != (known && there == other) {
			t.Errorf("of %v, where %v is: %v, %v", other, there, has, err)
		}
		if none, err := e.HasNone(other.Name); err != nil || none == known {
			t.Errorf("none of %q: %v, %v", other.Name, none, err)
		}
		k.attack(t, there, known)
	})
}

// check compares the map with the one that is made of the ends at once.
func (k *keptEnds) check(t *rapid.T) {
	all, nodes, err := audit.EndsOf(slices.Collect(maps.Values(k.links)))
	if err != nil || all.Hash() != k.hash || (len(k.links) == 0) != (k.hash == tlog.Hash{}) {
		t.Fatalf("of %d ends: %v, %v, %v", len(k.links), all.Hash(), k.hash, err)
	}
	kept := maps.Clone(k.nodes)
	maps.DeleteFunc(kept, func(_ int64, body []byte) bool { return len(body) == 0 })
	for _, n := range nodes {
		if string(kept[n.N]) != string(n.Body) {
			t.Errorf("node %d is another", n.N)
		}
		delete(kept, n.N)
	}
	if len(kept) > 0 {
		t.Errorf("%d nodes too many", len(kept))
	}
	before := audit.ListedStart
	for {
		_, next := k.around(before)
		if ok, err := k.open(before).HasNext(before, next); !ok || err != nil {
			t.Errorf("after %q comes %q: %v, %v", before, next, ok, err)
		}
		if ok, err := k.open(before).HasNext(before, audit.Listed+"b"); ok || err != nil {
			t.Errorf("after %q: %v, %v", before, ok, err)
		}
		if before = next; before == "" {
			return
		}
	}
}

// attack changes the nodes that are kept. The map proves the same as before, or nothing.
func (k *keptEnds) attack(t *rapid.T, l audit.Link, there bool) {
	k.cache = nil
	for _, n := range slices.Sorted(maps.Keys(k.nodes)) {
		body := slices.Clone(k.nodes[n])
		switch change := rapid.IntRange(0, 3).Draw(t, "change"); {
		case change == 0:
			delete(k.nodes, n)
		case change == 1 && len(body) > 0:
			body[rapid.IntRange(0, len(body)-1).Draw(t, "byte")] ^= 1
			k.nodes[n] = body
		case change == 2 && len(body) > 0:
			k.nodes[n] = body[:rapid.IntRange(0, len(body)-1).Draw(t, "cut")]
		}
	}
	if !there {
		return
	}
	if none, err := k.open(l.Name).HasNone(l.Name); none {
		t.Errorf("the end of %q is gone: %v", l.Name, err)
	}
	l.Next++
	if has, err := k.open(l.Name).HasEnd(&l); has {
		t.Errorf("the end of %q is another: %v", l.Name, err)
	}
}

// A root that is not sealed may be anything.
func FuzzEnds(f *testing.F) {
	f.Add([]byte{0xff, 0xff}, []byte{1})
	f.Fuzz(func(t *testing.T, root, body []byte) {
		e := audit.NewEnds(root, nil)
		for _, n := range e.Missing("a", audit.Listed+"a", audit.ListedStart) {
			e.Add(audit.EndNode{N: n, Body: body})
		}
		_, _ = e.HasEnd(&audit.Link{Name: "a"})
		if e.SetEnd(&audit.Link{Name: "a"}) == nil {
			e.Commit()
		}
	})
}
