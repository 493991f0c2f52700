package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-mcp/weir/store"
)

// That there are no requests with a binding is remembered until anybody writes one, also past the log.
func TestBindingsWithoutRequests(t *testing.T) {
	dir := t.TempDir()
	db, other := openFor(t, dir), openFor(t, dir)
	ask := func(db *DB, binding string) {
		t.Helper()
		q := store.Question{ID: "of " + binding, Principal: "p", Session: "s", Binding: binding, Expires: time.Now().Add(time.Hour)}
		err := db.Ask(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
	}
	asked := func(binding string, want int) {
		t.Helper()
		if all, err := db.boundNow(t.Context(), binding); err != nil || len(all) != want {
			t.Errorf("%d requests with the binding %s, %v; want %d", len(all), binding, err, want)
		}
	}
	known := func(names ...string) {
		t.Helper()
		for _, name := range names {
			asked(name, 0)
		}
		if db.recent.bindings == nil {
			t.Fatal("the bindings are not remembered")
		}
	}
	known("a", "b")
	ask(db, "c")
	asked("c", 1)
	asked("d", 0)
	ask(other, "e")
	asked("e", 1)
	known("f", "g")
	asked("e", 1)

	db.recent.bindings = map[string]bool{}
	db.recent.questions.Delete("c")
	asked("c", 1) // as the log proves

	known("h", "i")
	raw, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	_, err = raw.Exec(`insert into question select 'x', principal, session, 'x', body, 'accepted', asked, expires from question limit 1`)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := db.boundNow(t.Context(), "x"); !errors.Is(err, ErrState) {
			t.Errorf("a request that the log does not prove: %v", err)
		}
	}
}

// A list of the bindings that cannot be read fails no decision, and is read later; one that is too long is read once.
func TestListOfBindings(t *testing.T) {
	db := openFor(t, t.TempDir())
	lacks := func(binding string) {
		t.Helper()
		if all, err := db.boundNow(t.Context(), binding); err != nil || len(all) != 0 {
			t.Errorf("%d requests with the binding %s, %v; want none", len(all), binding, err)
		}
	}
	statement := listBindings
	defer func() { listBindings = statement }()
	listBindings = "select nothing"
	lacks("a")
	lacks("b")
	if db.recent.bindings != nil {
		t.Error("bindings that cannot be listed are remembered")
	}
	listBindings = statement
	lacks("c")
	if db.recent.bindings == nil {
		t.Error("after an error the bindings are not listed again")
	}
	for i := range maxBindings + 1 {
		db.recent.asked(fmt.Sprint("of ", i))
	}
	if db.recent.bindings != nil || db.recent.listsBindings() {
		t.Error("too many bindings are remembered, or are to be listed again")
	}
	lacks("d")
}
