package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// keepValues keeps values with a session, by ID and body.
func keepValues(db *sqlstore.DB, principal, session string, bodies map[string]string) error {
	return db.Revalue(context.Background(), principal, session, func([]store.Value) (c store.ValueChange, err error) {
		for id, body := range bodies {
			c.Put = append(c.Put, store.Value{ID: id, Session: session, Principal: principal, Note: "note of " + id, Body: []byte(body),
				Label: label.Label{Untrusted: true, Private: true, Attribution: label.SetOf("mcp://" + id)}})
		}
		return c, nil
	})
}

// valuesOf returns the bodies of the values of a session, with notes and labels behind them, by ID.
func valuesOf(db *sqlstore.DB, principal, session string) (map[string]string, error) {
	all, err := db.Values(context.Background(), principal, session)
	found := map[string]string{}
	for _, v := range all {
		body, failed := db.Body(context.Background(), v)
		if err = errors.Join(err, failed); err != nil {
			return nil, err
		}
		found[v.ID] = fmt.Sprintf("%s\x00%s %v", body, v.Note, v.Label)
	}
	return found, err
}

// A value whose label was lowered, or whose bytes were swapped with another's, is of no use to anybody, in any
// process; it is told of in the log, and reported.
func testChangedValues(t *testing.T, target string) {
	w := newWard(t, target)
	w.fill()
	other := open(t, target, nil) // it has read nothing yet
	for _, edit := range []string{
		`update hidden set label = '{}' where id = 'v1'`,
		`update hidden set note = 'account 0 0 false x' where id = 'v2'`,
		`update hidden set body = (select body from hidden where id = 'v2') where id = 'v1'`,
		`update hidden set body = o.body, digest = o.digest from hidden_was o where o.id = 'v2' and hidden.id = 'v1'`,
		`update hidden set id = 'v4' where id = 'v1'`,
		`update hidden set session = 'new' where id = 'v1'`,
		`delete from hidden where id = 'v1'`,
		`insert into hidden select 'v9', principal, session, label, note, digest, size, kept, body from hidden_was where id = 'v1'`,
	} {
		w.exec(`drop table if exists hidden_was`)
		w.exec(`create table hidden_was as select * from hidden`)
		w.exec(edit)
		for name, db := range map[string]*sqlstore.DB{"it runs": w.db, "it starts": other} {
			if all, err := valuesOf(db, "bob", "lone"); !errors.Is(err, store.ErrState) {
				t.Errorf("%s, %s: %v, %v", edit, name, all, err)
			}
			if _, err := valuesOf(db, "alice", "child"); err != nil {
				t.Errorf("%s, %s: another session: %v", edit, name, err)
			}
		}
		if report := w.report(); report.OK() {
			t.Errorf("%s: not reported", edit)
		}
		w.exec(`delete from hidden`)
		w.exec(`insert into hidden select * from hidden_was`)
		if _, err := valuesOf(w.db, "bob", "lone"); err != nil {
			t.Fatalf("%s: undone: %v", edit, err)
		}
	}
	w.exec(`drop table hidden_was`)
	if report := w.report(); !report.OK() {
		t.Errorf("afterwards: %+v", report.Findings)
	}
}

func TestChangedValuesSQLite(t *testing.T)   { testChangedValues(t, file(t)) }
func TestChangedValuesPostgres(t *testing.T) { testChangedValues(t, startCluster(t).fresh(t)) }

// Retention and erasure of events leave the proof of a value that is kept, and nothing of one that is gone.
func testValuesOutlastTheirEntries(t *testing.T, target string) {
	w := newWard(t, target)
	w.fill()
	if err := keepValues(w.db, "bob", "lone", map[string]string{"v1": "one again", "v5": "five"}); err != nil {
		t.Fatal(err)
	}
	want, err := valuesOf(w.db, "bob", "lone")
	if err != nil {
		t.Fatal(err)
	}
	erase := func() (held int) {
		t.Helper()
		var seqs []int64
		for row, err := range w.db.Log().Rows(t.Context(), audit.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			if row.Subject != "hidden" || row.Erased() {
				continue
			}
			holds, err := w.db.Holds(t.Context(), &row)
			if err != nil {
				t.Fatal(err)
			}
			if held++; !holds {
				seqs = append(seqs, row.Seq)
				held--
			}
		}
		if _, err := w.db.Log().Erase(t.Context(), seqs, func(int64) audit.Entry { return audit.Entry{Kind: "erase", Body: []byte(`{}`)} }); err != nil {
			t.Fatal(err)
		}
		return held
	}
	if erase() == 0 {
		t.Error("nothing proves the values")
	}
	got, err := valuesOf(w.db, "bob", "lone")
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, session := range []string{"lone", "child"} {
		if _, err := w.db.End(t.Context(), session); err != nil {
			t.Fatal(err)
		}
	}
	if held := erase(); held > 0 {
		t.Errorf("%d entries stay for values that are gone", held)
	}
	n := 0
	if err := w.raw.QueryRow(`select count(*) from hidden`).Scan(&n); err != nil || n > 0 {
		t.Errorf("%d rows stay, %v", n, err)
	}
}

func TestValuesOutlastTheirEntriesSQLite(t *testing.T) { testValuesOutlastTheirEntries(t, file(t)) }
func TestValuesOutlastTheirEntriesPostgres(t *testing.T) {
	testValuesOutlastTheirEntries(t, startCluster(t).fresh(t))
}

// keep keeps one more value of a session, of which one tells how many there are.
func (r *rollback) keep(db *sqlstore.DB, session string) error {
	n := r.values[session] + 1
	err := keepValues(db, "p", session, map[string]string{fmt.Sprint(session, "-", n): fmt.Sprint(n), session + "-all": fmt.Sprint(n)})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		r.values[session] = n
	}
	return err
}

// holds reports whether these are the values that a session has.
func (r *rollback) holds(session string, all map[string]string) bool {
	n := r.values[session]
	body, _, _ := strings.Cut(all[session+"-all"], "\x00")
	return n == 0 && len(all) == 0 || len(all) == n+1 && body == fmt.Sprint(n)
}
