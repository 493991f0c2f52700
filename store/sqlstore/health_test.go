package sqlstore_test

import (
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A log that does not extend its anchor is told once, however often the database is read meanwhile, and once more when it is sound again.
func TestDamagedLogToldOnce(t *testing.T) {
	target := file(t)
	anchor, err := audit.OpenAnchor(t.TempDir()+"/anchor", "example.com/log", nil)
	must(t, err)
	var h told
	db := open(t, target, &sqlstore.Options{Anchor: anchor, Told: h.tell})
	must(t, appendOne(t.Context(), db))
	begin(t, db, "s")
	raw, err := sql.Open("sqlite", "file:"+target+"?_pragma=busy_timeout(10000)")
	must(t, err)
	defer raw.Close()
	var seal []byte
	must(t, raw.QueryRow("select sealed from state").Scan(&seal))
	_, err = raw.Exec("update state set sealed = x'00'")
	must(t, err)
	for range 3 {
		if err := appendOne(t.Context(), db); !errors.Is(err, audit.ErrDamaged) {
			t.Fatalf("it was written: %v", err)
		}
		if _, err := db.Get(t.Context(), "s"); !errors.Is(err, audit.ErrDamaged) {
			t.Errorf("it was read: %v", err)
		}
		if _, err := db.Usage(t.Context()); err != nil {
			t.Error(err)
		}
		if got := db.Health(); got.State != sqlstore.Damaged || !errors.Is(got.Err, audit.ErrDamaged) {
			t.Errorf("%+v", got)
		}
	}
	_, err = raw.Exec("update state set sealed = $1", seal)
	must(t, err, appendOne(t.Context(), db))
	if got, want := h.states(), []sqlstore.State{sqlstore.Damaged, sqlstore.OK}; !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

// Rows that the log does not prove are counted, and do not count as a failure of the database.
func TestRefusedRowsAreCounted(t *testing.T) {
	target := file(t)
	var h told
	db := open(t, target, &sqlstore.Options{Told: h.tell})
	begin(t, db, "a")
	begin(t, db, "b")
	raw, err := sql.Open("sqlite", "file:"+target+"?_pragma=busy_timeout(10000)")
	must(t, err)
	defer raw.Close()
	if r := db.Refused(); r.Rows != 0 {
		t.Errorf("%+v", r)
	}
	_, err = raw.Exec(`update session set principal = 'eve'`)
	must(t, err)
	for range 3 {
		for _, key := range []string{"a", "b"} {
			if _, err := db.Get(t.Context(), key); !errors.Is(err, store.ErrState) {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
	if _, err := db.End(t.Context(), "a"); !errors.Is(err, store.ErrState) {
		t.Errorf("ended: %v", err)
	}
	if r := db.Refused(); r.Rows != 2 || r.Last.IsZero() || !errors.Is(r.Err, store.ErrState) {
		t.Errorf("%+v", r)
	}
	if got := h.states(); len(got) > 0 || db.Health().State != sqlstore.OK {
		t.Errorf("told %v, %+v", got, db.Health())
	}
}

// Taking over a large store may take longer than other operations may.
func TestPostgresAdoptsForLong(t *testing.T) {
	target := startCluster(t).fresh(t)
	w := newWard(t, target)
	now := time.Now().UnixMicro()
	w.exec(`insert into session (key, parent, principal, label, calls, created, seen, height) values ('a', '', 'alice', '{}', 0, $1, $1, 0)`, now)
	w.exec(`create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(7); return null; end'`)
	w.exec(`create trigger slow after update on state for each statement execute function slow()`)
	db := open(t, target, nil) // other operations have five seconds
	w.exec(`drop trigger slow on state`)
	if _, err := db.Get(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if report := w.report(); !report.OK() || !report.Proved {
		t.Errorf("%+v", report)
	}
}
