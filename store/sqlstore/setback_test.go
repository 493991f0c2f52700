package sqlstore_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

var (
	setBackRuns = flag.Int("setback.runs", 8, "how many stores TestSetBack attacks")
	setBackSeed = flag.Uint64("setback.seed", 1, "the seed of these attacks")
)

// A tableRows is the rows of a table by their keys, each as SQL returns it.
type tableRows map[string][]any

// keptTables are the tables that an attacker edits, and how many of their first columns are the key.
var keptTables = map[string]int{
	"state": 1, "session": 1, "taint": 1, "question": 1, "hidden": 1, "chain": 1, "ending": 1, "entry": 1, "node": 2, "checkpoint": 1,
}

// A rollback is a store that two processes use, and an attacker who sets rows of it back, has calls decided, and puts them back.
type rollback struct {
	*testing.T
	target, anchor string
	raw            *sql.DB
	random         *rand.Rand
	dbs            []*sqlstore.DB
	opened         []io.Closer

	sessions  map[string]label.Label // as they are
	calls     map[string]int64       // of sessions
	taints    map[string]label.Label
	questions map[string]store.Answer // by binding
	values    map[string]int          // how many a session has
	past      []map[string]tableRows
	undo      []setRow
	good, bad int // reads during an attack that returned something, and that did not
}

// A setRow is a row that the attacker has made another one.
type setRow struct {
	table, key string
	old, row   []any
}

func newRollback(t *testing.T, target string, seed uint64) *rollback {
	r := &rollback{T: t, target: target, anchor: filepath.Join(t.TempDir(), "anchor"), random: rand.New(rand.NewPCG(seed, 7)),
		sessions: map[string]label.Label{}, calls: map[string]int64{}, taints: map[string]label.Label{},
		questions: map[string]store.Answer{}, values: map[string]int{}}
	driver, source := "pgx", target
	if !strings.Contains(target, "://") {
		driver, source = "sqlite", "file:"+target+"?_pragma=busy_timeout(10000)&_pragma=synchronous(off)"
	}
	t.Cleanup(r.close)
	for range 2 {
		db, err := r.open()
		if err != nil {
			t.Fatal(err)
		}
		r.dbs = append(r.dbs, db)
	}
	var err error
	if r.raw, err = sql.Open(driver, source); err != nil {
		t.Fatal(err)
	}
	r.raw.SetMaxOpenConns(1)
	return r
}

// close closes all that was opened.
func (r *rollback) close() {
	if r.raw != nil {
		r.raw.Close()
	}
	for _, c := range slices.Backward(r.opened) {
		_ = c.Close() // the store was attacked
	}
	r.raw, r.opened = nil, nil
}

// open opens the store as another process on the machine does.
func (r *rollback) open() (*sqlstore.DB, error) {
	a, err := audit.OpenAnchor(r.anchor, "example.com/weir", nil)
	if err != nil {
		return nil, err
	}
	db, err := sqlstore.Open(r.Context(), r.target, &sqlstore.Options{Anchor: a})
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	r.opened = append(r.opened, a, db)
	return db, nil
}

func (r *rollback) db() *sqlstore.DB { return r.dbs[r.random.IntN(len(r.dbs))] }

func pick(r *rollback, from ...string) string { return from[r.random.IntN(len(from))] }

var (
	rollbackSessions  = []string{"a", "b", "c", "d"}
	rollbackResources = []string{"file:///x", "file:///x/y", "file:///x/y/z", "file:///w", "file:///x0", "db:t"}
	rollbackBindings  = []string{"k", "l", "m"}
)

// write changes the store by one operation, and the expected content if that was acknowledged.
func (r *rollback) write() error {
	ctx, db, l := r.Context(), r.db(), label.Label{Attribution: label.SetOf(fmt.Sprint("mcp://", r.random.IntN(50)))}
	binding := pick(r, rollbackBindings...)
	switch r.random.IntN(9) {
	case 8:
		return r.keep(db, pick(r, rollbackSessions...))
	case 5:
		return r.call(db, pick(r, rollbackSessions...))
	case 6:
		body := pick(r, "{}", `{"kind":"decision"}`, "", "no object")
		_, err := db.Log().Append(ctx, []audit.Entry{{Chain: pick(r, rollbackSessions...), Kind: "decision", Body: []byte(body)}})
		return err
	case 0:
		ref := store.Ref{Key: pick(r, rollbackSessions...), Principal: "p", Parent: pick(r, "", "", "a")}
		if ref.Key == ref.Parent {
			ref.Parent = ""
		}
		s, rises, err := db.Open(ctx, ref, noLimits)
		if err == nil {
			r.sessions[ref.Key] = s.Label
			if ref.Parent != "" && s.Parent == ref.Parent {
				if _, known := r.sessions[ref.Parent]; !known {
					r.sessions[ref.Parent] = label.Label{}
				}
			}
		}
		r.raised(rises)
		return err
	case 1, 2:
		_, rises, err := db.Join(ctx, pick(r, rollbackSessions...), l, noLimits)
		r.raised(rises)
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return err
	case 3:
		merged, err := db.Taint(ctx, store.Taint{Resource: pick(r, rollbackResources...), Label: l}, noLimits)
		if err == nil {
			r.taints[merged.Resource] = merged.Label
		}
		return err
	case 4:
		answer, known := r.questions[binding]
		if known && answer == store.Open {
			_, err := db.Answer(ctx, "q-"+binding, "p", store.Accepted)
			if err == nil {
				r.questions[binding] = store.Accepted
			}
			return err
		}
		if known {
			return nil
		}
		err := db.Ask(ctx, store.Question{ID: "q-" + binding, Principal: "p", Binding: binding, Expires: time.Now().Add(time.Hour)})
		if err == nil {
			r.questions[binding] = store.Open
		}
		return err
	}
	ok, err := db.Redeem(ctx, binding)
	if ok && r.questions[binding] != store.Accepted {
		r.Errorf("binding %s is redeemed, and was %q", binding, r.questions[binding])
	}
	if err == nil && ok {
		r.questions[binding] = store.Redeemed
	}
	return err
}

// call counts a call, with an entry that tells of it or without one.
func (r *rollback) call(db *sqlstore.DB, key string) error {
	if r.random.IntN(2) == 0 {
		if err := db.Defer(r.Context(), audit.Entry{Chain: key, Kind: "decision", Body: []byte(`{"v":1}`)}); err != nil {
			return err
		}
	}
	_, err := db.Count(r.Context(), key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		r.calls[key]++
	}
	return err
}

func (r *rollback) raised(rises []store.Rise) {
	for _, rise := range rises {
		r.sessions[rise.Key] = rise.After
	}
}

// look compares all reads with the truth, and returns how many were refused.
func (r *rollback) look(db *sqlstore.DB) (read, refused int) {
	r.Helper()
	ctx := r.Context()
	note := func(err error) bool {
		if err != nil {
			refused++
			return false
		}
		read++
		return true
	}
	for _, key := range rollbackSessions {
		s, err := db.Get(ctx, key)
		want, known := r.sessions[key]
		switch {
		case errors.Is(err, store.ErrNotFound):
			if read++; known {
				r.Errorf("session %s is not there", key)
			}
		case note(err) && (!known || !s.Label.Equal(want)):
			r.Errorf("session %s has the label %+v, want %+v", key, s.Label, want)
		case err == nil && s.Calls != r.calls[key] && s.Calls < math.MaxInt32: // else its count was hidden from a write
			r.Errorf("session %s has %d calls, want %d", key, s.Calls, r.calls[key])
		}
	}
	for _, name := range append([]string{"file:///", "file:///x/y/q"}, rollbackResources...) {
		if got, err := db.Tainted(ctx, name, noLimits); note(err) && !got.Equal(r.tainted(name)) {
			r.Errorf("resource %s has the label %+v, want %+v", name, got, r.tainted(name))
		}
	}
	for _, key := range rollbackSessions {
		if all, err := valuesOf(db, "p", key); note(err) && !r.holds(key, all) {
			r.Errorf("values of %s: %v, want %d", key, all, r.values[key])
		}
	}
	for _, binding := range rollbackBindings {
		got, known := store.Answer(""), false
		var err error
		for q, failed := range db.Questions(ctx, store.QuestionQuery{Binding: binding}) {
			got, known, err = q.Answer, true, failed
		}
		want, there := r.questions[binding]
		if note(err) && (known != there || got != want) {
			r.Errorf("question %s: %q, %v, want %q, %v", binding, got, known, want, there)
		}
	}
	return read, refused
}

func (r *rollback) tainted(name string) (l label.Label) {
	first, end := store.ResourceBelow(name)
	for other, is := range r.taints {
		if slices.Contains(store.ResourceAbove(name), other) || other >= first && other < end {
			l = noLimits.Join(l, is)
		}
	}
	return l
}

// tables returns all rows.
func (r *rollback) tables() map[string]tableRows {
	r.Helper()
	all := map[string]tableRows{}
	for table, keys := range keptTables {
		rows, err := r.raw.QueryContext(r.Context(), "select * from "+table)
		if err != nil {
			r.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			r.Fatal(err)
		}
		all[table] = tableRows{}
		for rows.Next() {
			values, places := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				places[i] = &values[i]
			}
			if err := rows.Scan(places...); err != nil {
				r.Fatal(err)
			}
			for i, v := range values {
				if b, ok := v.([]byte); v == nil || ok && len(b) == 0 {
					values[i] = []byte{}
				}
			}
			all[table][fmt.Sprint(values[:keys]...)] = values
		}
		if err := rows.Close(); err != nil {
			r.Fatal(err)
		}
	}
	return all
}

// put makes a row another one; nil is none.
func (r *rollback) put(table string, old, row []any) {
	r.Helper()
	names, err := r.raw.QueryContext(r.Context(), "select * from "+table+" where false")
	if err != nil {
		r.Fatal(err)
	}
	columns, err := names.Columns()
	if err := errors.Join(err, names.Close()); err != nil {
		r.Fatal(err)
	}
	where := columns[0] + " = $1"
	if keptTables[table] == 2 {
		where += " and " + columns[1] + " = $2"
	}
	places := make([]string, len(row))
	for i := range places {
		places[i] = fmt.Sprint("$", i+1)
	}
	for attempt := 0; ; attempt++ { // a process may write the same row
		tx, err := r.raw.BeginTx(r.Context(), nil)
		if err == nil {
			_, err = tx.Exec("delete from "+table+" where "+where, slices.Concat(old, row)[:keptTables[table]]...)
		}
		if err == nil && row != nil {
			_, err = tx.Exec("insert into "+table+" values ("+strings.Join(places, ", ")+")", row...)
		}
		if err == nil {
			err = tx.Commit()
		}
		if err == nil {
			return
		}
		_ = tx.Rollback()
		if attempt == 10 {
			r.Fatalf("%s %v: %v", table, row, err)
		}
	}
}

// attack sets some rows of some tables back to earlier values, or to those of other rows.
func (r *rollback) attack() {
	now, then := r.tables(), r.past[r.random.IntN(len(r.past))]
	share := []float64{1, 1, 0.5, 0.1}[r.random.IntN(4)]
	tables := slices.Sorted(maps.Keys(keptTables))
	if r.random.IntN(3) > 0 { // those that decisions rest on, with or without the head
		tables = [][]string{{"session", "chain"}, {"session", "taint", "question", "chain", "ending"},
			{"session", "taint", "question", "hidden", "chain", "ending", "entry"}, {"hidden"},
			{"hidden", "chain", "ending"}, {"session", "chain", "ending", "state"}, {"taint", "chain"},
			{"session", "taint", "question"}, {"chain"}, {"taint", "chain", "ending", "state"},
			{"session", "taint", "question", "chain", "entry"}, {"session", "taint", "question", "chain", "entry", "state"}}[r.random.IntN(12)]
	} else {
		r.random.Shuffle(len(tables), func(i, j int) { tables[i], tables[j] = tables[j], tables[i] })
		tables = tables[:1+r.random.IntN(len(tables))]
	}
	for _, table := range tables {
		keys := maps.Clone(now[table])
		maps.Copy(keys, then[table])
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if r.random.Float64() > share {
				continue
			}
			old, row := now[table][key], then[table][key]
			if r.random.IntN(20) == 0 && old != nil && row != nil { // a value of the other
				row = slices.Clone(old)
				at := keptTables[table] + r.random.IntN(len(row)-keptTables[table])
				row[at] = then[table][key][at]
			}
			if reflect.DeepEqual(old, row) {
				continue
			}
			r.put(table, old, row)
			r.undo = append(r.undo, setRow{table, key, old, row})
		}
	}
}

// putBack restores all rows that were not changed since.
func (r *rollback) putBack() {
	r.Helper()
	now := r.tables()
	for _, e := range r.undo {
		if there := now[e.table][e.key]; reflect.DeepEqual(there, e.row) {
			r.put(e.table, there, e.old)
		}
	}
	r.undo = nil
}

// run makes operations and attacks, until the store is damaged for good.
func (r *rollback) run(steps int) {
	r.past = append(r.past, r.tables())
	for range steps {
		for range 1 + r.random.IntN(4) {
			if err := r.write(); err != nil {
				return // rows written during an attack do not fit
			}
		}
		if _, refused := r.look(r.db()); refused > 0 {
			return
		}
		r.past = append(r.past, r.tables())
		r.attack()
		for range r.random.IntN(3) {
			_ = r.write()
		}
		db := r.db()
		if r.random.IntN(4) == 0 {
			if fresh, err := r.open(); err == nil {
				db = fresh
			}
		}
		good, bad := r.look(db)
		r.good, r.bad = r.good+good, r.bad+bad
		r.putBack()
		if r.Failed() {
			return
		}
	}
}

// An attacker who writes the store, without its anchor, never has a running weir take an earlier state for the present one.
func testSetBack(t *testing.T, target func() string) {
	good, bad := 0, 0
	for i := range *setBackRuns {
		r := newRollback(t, target(), *setBackSeed+uint64(i))
		r.run(12)
		good, bad = good+r.good, bad+r.bad
		if t.Failed() {
			t.Fatalf("seed %d", *setBackSeed+uint64(i))
		}
	}
	t.Logf("under attack %d reads returned the truth, %d were refused", good, bad)
	if good == 0 || bad == 0 {
		t.Error("nothing was tried")
	}
}

func TestSetBackSQLite(t *testing.T) { testSetBack(t, func() string { return file(t) }) }

func TestSetBackPostgres(t *testing.T) {
	c := startCluster(t)
	testSetBack(t, func() string { return c.fresh(t) })
}
