package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

func testOpenCreates(t *testing.T, f *fixture) {
	now := f.clock.Now()
	want := store.Session{Key: "s", Principal: "alice", Created: now, Seen: now}
	s, rises, err := f.Open(t.Context(), ref("s", ""), noLimits)
	if err != nil || rises != nil {
		t.Errorf("got rises %v, error %v", rises, err)
	}
	f.equal("opened", want, s)
	f.equal("read", want, f.get("s"))
}

func testOpenAgain(t *testing.T, f *fixture) {
	f.open("s", "parent")
	f.join("s", uris("a"))
	want := f.get("s")
	f.clock.Advance(time.Hour)
	for _, parent := range []string{"", "parent"} {
		s, rises, err := f.Open(t.Context(), ref("s", parent), noLimits)
		if err != nil || rises != nil {
			t.Errorf("parent %q: got rises %v, error %v", parent, rises, err)
		}
		f.equal("opened again", want, s)
		f.equal("read", want, f.get("s"))
	}
}

func testPrincipal(t *testing.T, f *fixture) {
	f.open("s", "")
	f.open("parent", "")
	f.refusedOpen(store.ErrPrincipal, store.Ref{Key: "s", Principal: "mallory"})
	f.refusedOpen(store.ErrPrincipal, store.Ref{Key: "s", Parent: "parent", Principal: "mallory"})
	f.refusedOpen(store.ErrPrincipal, store.Ref{Key: "s", Parent: "new", Principal: "mallory"})
	f.refusedOpen(store.ErrPrincipal, store.Ref{Key: "new", Parent: "parent", Principal: "mallory"})
	f.refusedOpen(store.ErrPrincipal, store.Ref{Key: "s", Principal: "Alice"})
	_, _, err := f.Open(t.Context(), store.Ref{Key: "other", Principal: "mallory"}, noLimits)
	f.equal("another key of another principal", nil, err)
	f.refusedOpen(store.ErrPrincipal, ref("s", "other"))
}

func testReference(t *testing.T, f *fixture) {
	long := strings.Repeat("k", store.MaxKey)
	for _, r := range []store.Ref{
		{},
		{Principal: "alice"},
		{Key: "s"},
		{Key: long + "k", Principal: "alice"},
		{Key: "s", Principal: long + "k"},
		{Key: "s", Parent: long + "k", Principal: "alice"},
		{Key: "a\x00b", Principal: "alice"},
		{Key: "s", Principal: "\xff"},
		{Key: "s", Parent: "\xff", Principal: "alice"},
	} {
		f.refusedOpen(store.ErrInvalid, r)
	}
	odd := []string{long, " ", "' or 1=1 --", "%", "Ä\u0308\n\t\"\\", "日本", "s", "S"}
	for _, key := range odd {
		f.open(key, "")
		f.join(key, uris(key))
	}
	for _, key := range odd {
		f.equal("the label joined into "+key, uris(key), f.get(key).Label)
	}
}

func testChild(t *testing.T, f *fixture) {
	f.open("parent", "")
	f.join("parent", label.Label{Untrusted: true})
	s, rises, err := f.Open(t.Context(), ref("child", "parent"), noLimits)
	if err != nil {
		t.Fatal(err)
	}
	f.equal("label", label.Label{Untrusted: true}, s.Label)
	f.equal("parent", "parent", s.Parent)
	f.equal("rises", []store.Rise{{Key: "child", After: label.Label{Untrusted: true}}}, rises)
	f.equal("read", s, f.get("child"))

	_, rises, err = f.Open(t.Context(), ref("orphan", "unheard-of"), noLimits)
	if err != nil || rises != nil {
		t.Errorf("got rises %v, error %v", rises, err)
	}
	now := f.clock.Now()
	f.equal("a parent that a child names", store.Session{Key: "unheard-of", Principal: "alice", Created: now, Seen: now}, f.get("unheard-of"))
}

func testLateParent(t *testing.T, f *fixture) {
	f.open("grandparent", "")
	f.open("parent", "grandparent")
	f.open("child", "")
	f.open("grandchild", "child")
	f.join("parent", uris("p"))
	f.join("child", uris("c"))
	f.join("grandchild", uris("g"))
	s, rises, err := f.Open(t.Context(), ref("child", "parent"), noLimits)
	if err != nil {
		t.Fatal(err)
	}
	f.equal("rises", []store.Rise{
		{Key: "child", Before: uris("c", "g"), After: uris("c", "g", "p")},
		{Key: "parent", Before: uris("p"), After: uris("c", "g", "p")},
		{Key: "grandparent", Before: uris("p"), After: uris("c", "g", "p")},
	}, rises)
	f.equal("label", uris("c", "g", "p"), s.Label)
	f.equal("read", s, f.get("child"))
	f.equal("the grandchild, into which nothing new came", uris("g"), f.get("grandchild").Label)

	f.join("grandchild", uris("h"))
	f.equal("the grandparent, afterwards", uris("c", "g", "h", "p"), f.get("grandparent").Label)

	f.open("grandparent", "unheard-of")
	f.equal("a new top", uris("c", "g", "h", "p"), f.get("unheard-of").Label)
}

func testOneParent(t *testing.T, f *fixture) {
	f.open("s", "parent")
	f.open("other", "")
	f.refusedOpen(store.ErrParent, ref("s", "other"))
	f.refusedOpen(store.ErrParent, ref("s", "unheard-of"))
}

func testCycle(t *testing.T, f *fixture) {
	f.refusedOpen(store.ErrParent, ref("new", "new"))
	chain := f.chain("s", 4)
	for _, below := range chain {
		f.refusedOpen(store.ErrParent, ref(chain[0], below))
	}
}

func testDepth(t *testing.T, f *fixture) {
	chain := f.chain("s", store.MaxDepth+1)
	last := chain[store.MaxDepth]
	f.refusedOpen(store.ErrParent, ref("too-deep", last))
	f.join(last, uris("a"))
	f.equal("the top, from the bottom", uris("a"), f.get(chain[0]).Label)
	f.open("beside", chain[store.MaxDepth-1])
}

// Two chains, neither too long, may not be joined to one that is.
func testDepthBelow(t *testing.T, f *fixture) {
	upper, lower := f.chain("u", store.MaxDepth/2+1), f.chain("l", store.MaxDepth/2+1)
	f.refusedOpen(store.ErrParent, ref(lower[0], upper[len(upper)-1]))
	f.open(lower[0], upper[len(upper)-2])
	f.refusedOpen(store.ErrParent, ref(upper[0], "unheard-of"))
	f.refusedOpen(store.ErrParent, ref("too-deep", lower[len(lower)-1]))
}
