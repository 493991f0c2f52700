package storetest

import (
	"testing"
	"time"

	"github.com/weir-mcp/weir/store"
)

func testList(t *testing.T, f *fixture) {
	f.equal("an empty store", []string{}, keys(f.all("")))
	f.open("b", "")
	f.open("a", "")
	f.clock.Advance(time.Second)
	if _, _, err := f.Open(t.Context(), store.Ref{Key: "c", Principal: "bob"}, noLimits); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(time.Second)
	f.open("d", "a")
	f.join("a", uris("x"))
	f.equal("all, newest first, then by key", []string{"d", "c", "a", "b"}, keys(f.all("")))
	f.equal("alice's", []string{"d", "a", "b"}, keys(f.all("alice")))
	f.equal("bob's", []string{"c"}, keys(f.all("bob")))
	f.equal("nobody's", []string{}, keys(f.all("b")))
	for _, s := range f.all("") {
		f.equal("listed and read", f.get(s.Key), s)
	}
	for s, err := range f.List(t.Context(), "") {
		f.equal("the first", "d", s.Key)
		f.equal("error", nil, err)
		break
	}
}

func testListBody(t *testing.T, f *fixture) {
	for _, key := range []string{"a", "b", "c"} {
		f.open(key, "")
	}
	listed := f.List(t.Context(), "")
	for range 2 {
		seen := map[string]int{}
		for s, err := range listed {
			if err != nil {
				t.Fatal(err)
			}
			seen[s.Key]++
			f.join(s.Key, uris("x"))
			f.open("child of "+s.Key, s.Key)
			f.get(s.Key)
			if len(seen) > 20 {
				t.Fatal("the iteration does not end")
			}
		}
		for _, key := range []string{"a", "b", "c"} {
			f.equal("how often "+key+" was listed", 1, seen[key])
		}
	}
}
