package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

// value returns a value of a session of alice's.
func value(session, id, body string) store.Value {
	return store.Value{ID: id, Session: session, Principal: "alice", Note: "note of " + id, Body: []byte(body),
		Label: label.Label{Untrusted: true, Attribution: label.SetOf("mcp://s/" + id)}}
}

// revalue puts values into a session and takes others out.
func (f *beside) revalue(session string, gone []string, put ...store.Value) {
	f.t.Helper()
	err := f.b.Revalue(f.t.Context(), "alice", session, func([]store.Value) (store.ValueChange, error) {
		return store.ValueChange{Put: put, Gone: gone}, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// values returns the values of a session by ID, with their bodies in place of the sizes.
func (f *beside) values(principal, session string) map[string]store.Value {
	f.t.Helper()
	all, err := f.b.Values(f.t.Context(), principal, session)
	if err != nil {
		f.t.Fatal(err)
	}
	found := map[string]store.Value{}
	for _, v := range all {
		body, err := f.b.Body(f.t.Context(), v)
		if err != nil || v.Body != nil || v.Size != int64(len(body)) {
			f.t.Fatalf("%s has %d bytes, %q in the list, %d as it is read, %v", v.ID, v.Size, v.Body, len(body), err)
		}
		v.Body, v.Size, v.Kept = body, 0, time.Time{}
		found[v.ID] = v
	}
	return found
}

func (f *beside) hasValues(session string, want ...store.Value) {
	f.t.Helper()
	all := map[string]store.Value{}
	for _, v := range want {
		all[v.ID] = v
	}
	if diff := cmp.Diff(all, f.values("alice", session)); diff != "" {
		f.t.Errorf("values of %s (-want +got):\n%s", session, diff)
	}
}

func testValues(f *beside) {
	f.open("s", "")
	a, b := value("s", "a", "\x00\xff{ }"), value("s", "b", "b")
	f.revalue("s", nil, a, b)
	f.hasValues("s", a, b)
	if got := f.values("bob", "s"); len(got) > 0 {
		f.t.Errorf("another principal's: %v", got)
	}
	changed := b
	changed.Note, changed.Body = "another", []byte("now")
	f.revalue("s", []string{"a", "none"}, changed)
	f.hasValues("s", changed)
	_, err := f.b.Body(f.t.Context(), a)
	f.is("the body of one that is gone", store.ErrNotFound, err)
	uses, err := f.b.ValueUses(f.t.Context())
	if err != nil || len(uses) != 1 || uses[0].Session != "s" || uses[0].Principal != "alice" || uses[0].Bytes != 3 {
		f.t.Errorf("%v, %v", uses, err)
	}
}

func testBadValues(f *beside) {
	f.open("s", "")
	a := value("s", "a", "x")
	f.revalue("s", nil, a)
	other, long := errors.New("no"), value("s", "b", "x")
	long.Note = strings.Repeat("x", 1<<16)
	for name, c := range map[string]struct {
		principal, session string
		change             store.ValueChange
		err, want          error
	}{
		"no such session":   {"alice", "t", store.ValueChange{}, nil, store.ErrNotFound},
		"another principal": {"bob", "s", store.ValueChange{}, nil, store.ErrPrincipal},
		"of another":        {"alice", "s", store.ValueChange{Put: []store.Value{value("t", "b", "x")}, Gone: []string{"a"}}, nil, store.ErrInvalid},
		"without an id":     {"alice", "s", store.ValueChange{Put: []store.Value{value("s", "", "x")}, Gone: []string{"a"}}, nil, store.ErrInvalid},
		"a long note":       {"alice", "s", store.ValueChange{Put: []store.Value{long}}, nil, store.ErrInvalid},
		"an error":          {"alice", "s", store.ValueChange{Gone: []string{"a"}}, other, other},
	} {
		err := f.b.Revalue(f.t.Context(), c.principal, c.session, func([]store.Value) (store.ValueChange, error) { return c.change, c.err })
		f.is(name, c.want, err)
	}
	f.hasValues("s", a)
}

// Values go with their sessions, and with no others; a session of the same key has none.
func testValuesGo(f *beside) {
	start := f.clock.Now()
	f.open("old", "")
	f.clock.Advance(time.Hour)
	f.open("p", "")
	f.open("c", "p")
	f.open("o", "")
	for _, s := range []string{"p", "c", "o", "old"} {
		f.revalue(s, nil, value(s, "in "+s, "x"), value(s, "too in "+s, "x"))
	}
	if _, err := f.b.Expire(f.t.Context(), start.Add(time.Minute)); err != nil {
		f.t.Fatal(err)
	}
	f.hasValues("old")
	if _, err := f.b.End(f.t.Context(), "p"); err != nil {
		f.t.Fatal(err)
	}
	f.hasValues("p")
	f.hasValues("c")
	f.hasValues("o", value("o", "in o", "x"), value("o", "too in o", "x"))
	f.open("p", "")
	f.hasValues("p")
	f.revalue("p", nil, value("p", "in p", "y"))
	f.hasValues("p", value("p", "in p", "y"))
}

// Each change sees all that were made before it.
func testConcurrentValues(f *beside) {
	f.open("s", "")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 5 {
				err := f.b.Revalue(f.t.Context(), "alice", "s", func(all []store.Value) (store.ValueChange, error) {
					count := len(slices.DeleteFunc(slices.Clone(all), func(v store.Value) bool { return v.ID == "count" }))
					n := value("s", "count", "")
					n.Note = fmt.Sprint(count + 1)
					return store.ValueChange{Put: []store.Value{value("s", fmt.Sprint(i, " ", j), "x"), n}}, nil
				})
				if err != nil {
					f.t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := f.values("alice", "s"); len(got) != 41 || got["count"].Note != "40" {
		f.t.Errorf("%d values, %q", len(got), got["count"].Note)
	}
}
