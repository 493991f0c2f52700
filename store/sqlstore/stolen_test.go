package sqlstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A stolen is a write that is under way.
type stolen struct {
	rises []store.Rise
	err   error
}

// begin has a process raise a label, with some entries beside, and returns once that is committed or has failed.
func (r *rollback) begin(db *sqlstore.DB, beside int) chan stolen {
	r.Helper()
	done, before := make(chan stolen, 1), r.size()
	entries := make([]audit.Entry, beside)
	for i := range entries {
		entries[i].Kind = "decision"
	}
	added := uri("mcp://%d", r.random.Int64())
	go func() {
		_, rises, err := db.JoinNoted(r.Context(), "a", added, noLimits, entries...)
		done <- stolen{rises, err}
	}()
	for r.size() == before && len(done) == 0 {
		time.Sleep(time.Millisecond)
	}
	return done
}

// size returns how many entries the head says that the log has.
func (r *rollback) size() (n int64) {
	r.Helper()
	if err := r.raw.QueryRowContext(r.Context(), "select size from state").Scan(&n); err != nil {
		r.Fatal(err)
	}
	return n
}

// setAllBack makes all tables as they were.
func (r *rollback) setAllBack(then map[string]tableRows) {
	r.Helper()
	for table, now := range r.tables() {
		for key, row := range now {
			if !reflect.DeepEqual(row, then[table][key]) {
				r.put(table, row, then[table][key])
			}
		}
		for key, row := range then[table] {
			if now[key] == nil {
				r.put(table, nil, row)
			}
		}
	}
}

// mark has the file of the mark name the head that the store has.
func (r *rollback) mark() {
	r.Helper()
	var size int64
	var edge []byte
	err := r.raw.QueryRowContext(r.Context(), "select size, edge from state").Scan(&size, &edge)
	head, malformed := audit.MakeHead(size, edge)
	err = errors.Join(err, malformed, os.WriteFile(filepath.Join(r.anchor, "mark"), fmt.Appendf(nil, "%020d %s\n", size, head.Root()), 0o600))
	if err != nil {
		r.Fatal(err)
	}
}

// steal takes away a transaction that a process has committed, before it notes that, and has another one commit something else in its place. One of them is the first to note it. It returns how
// many of the two were told that they had.
func (r *rollback) steal(secondNotes bool) (acknowledged int) {
	r.Helper()
	unlock, err := lockedfile.MutexAt(filepath.Join(r.anchor, "mark.lock")).Lock()
	if err != nil {
		r.Fatal(err)
	}
	then, first := r.tables(), r.random.IntN(2)
	writes := []chan stolen{r.begin(r.dbs[first], r.random.IntN(3))}
	r.setAllBack(then)
	writes = append(writes, r.begin(r.dbs[1-first], r.random.IntN(3)))
	if secondNotes { // else the first does, which waits for longer
		r.mark()
	}
	unlock()
	for _, w := range writes {
		if done := <-w; done.err == nil {
			acknowledged++
			r.raised(done.rises)
		}
	}
	return acknowledged
}

// An acknowledged write is never taken away for a process that decides: not in the moment after it was committed either, while another process
// goes on from the log without it.
func testStolen(t *testing.T, target func() string) {
	refused, kept := 0, 0
	for i := range *setBackRuns {
		seed := *setBackSeed + uint64(i)
		r := newRollback(t, target(), seed)
		if _, _, err := r.dbs[0].Open(t.Context(), store.Ref{Key: "a", Principal: "p"}, noLimits); err != nil {
			t.Fatal(err)
		}
		s, err := r.dbs[1].Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		r.sessions["a"] = s.Label
		if n := r.steal(i%2 == 0); n > 1 {
			t.Errorf("seed %d: both were told that they had committed", seed)
		}
		fresh, err := r.open()
		if err == nil {
			r.dbs = append(r.dbs, fresh)
		}
		for _, db := range r.dbs {
			good, bad := r.look(db)
			refused, kept = refused+bad, kept+good
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d reads returned the truth, %d were refused", kept, refused)
	if kept == 0 || refused == 0 {
		t.Error("only one of the two came first")
	}
}

func TestStolenSQLite(t *testing.T) { testStolen(t, func() string { return file(t) }) }

func TestStolenPostgres(t *testing.T) {
	c := startCluster(t)
	testStolen(t, func() string { return c.fresh(t) })
}
