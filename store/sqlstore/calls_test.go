package sqlstore_test

import (
	"errors"
	"testing"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// called returns a session of five calls: two with an entry, one without, and two with entries that cannot tell of calls.
func called(w *ward) {
	w.Helper()
	begin(w.T, w.db, "s")
	for _, body := range []string{"{}", `{"v":1}`, "-", "", "no object"} {
		if body != "-" {
			must(w.T, w.db.Defer(w.Context(), audit.Entry{Chain: "s", Kind: "decision", Body: []byte(body)}))
		}
		_, err := w.db.Count(w.Context(), "s")
		must(w.T, err)
	}
}

// calls holds that a session has so many, for a process that knows it and for one that starts.
func (w *ward) calls(target, what string, want int64) {
	w.Helper()
	for name, db := range map[string]*sqlstore.DB{"a process": w.db, "another": open(w.T, target, nil)} {
		if s, err := db.Get(w.Context(), "s"); err != nil || s.Calls != want {
			w.Errorf("%s: %s reads %d calls, %v; want %d", what, name, s.Calls, err, want)
		}
	}
}

// How many calls a session has made is as the log proves, whatever its row says.
func testCallsAreProved(t *testing.T, target string) {
	w := newWard(t, target)
	called(w)
	w.calls(target, "at first", 5)
	w.exec(`update session set calls = 0, seen = seen - 1`)
	w.calls(target, "the row was lowered", 5)
	if w.report().OK() {
		t.Error("the row was lowered, and nothing is reported")
	}
	n, err := w.db.Count(t.Context(), "s")
	if err != nil || n != 6 || !w.report().OK() {
		t.Errorf("the next call is number %d, %v: %+v", n, err, w.report())
	}
	var mine []int64
	for row, err := range w.db.Log().Rows(t.Context(), audit.Query{Chain: "s"}) {
		must(t, err)
		mine = append(mine, row.Seq)
	}
	note := func(int64) audit.Entry { return audit.Entry{Kind: "erase", Body: []byte(`{"binding":"1-100"}`)} }
	_, err = w.db.Log().Erase(t.Context(), mine, note)
	must(t, err)
	w.calls(target, "its entries were erased", 6)
	_, err = w.db.Log().Append(t.Context(), []audit.Entry{{Chain: "s", Kind: "decision", Body: []byte("{}")}})
	must(t, err)
	w.calls(target, "an entry follows", 6)
	_, err = w.db.End(t.Context(), "s")
	must(t, err)
	begin(t, w.db, "s")
	w.calls(target, "it was forgotten", 0)
}

func TestCallsAreProvedSQLite(t *testing.T)   { testCallsAreProved(t, file(t)) }
func TestCallsAreProvedPostgres(t *testing.T) { testCallsAreProved(t, startCluster(t).fresh(t)) }

// Where the entry that tells of calls is hidden, reads are refused, and what is written then does not lower the number, also once it is put back.
func TestCallsDoNotFallWhileTheirEntryIsHidden(t *testing.T) {
	for _, edit := range []string{
		`update entry set body = '{"calls":0}' where chain = 's' and seq = (select max(seq) from entry where chain = 's')`,
		`delete from entry where seq = (select max(seq) from entry where chain = 's')`,
		`delete from entry where chain = 's'`,
	} {
		target := file(t)
		w := newWard(t, target)
		called(w)
		_, err := w.db.Log().Append(t.Context(), []audit.Entry{{Chain: "s", Kind: "decision", Body: []byte("{}")}})
		must(t, err)
		w.calls(target, "at first", 5)
		w.exec("create table kept as select * from entry")
		w.exec(edit)
		fresh := open(t, target, nil)
		if s, err := fresh.Get(t.Context(), "s"); !errors.Is(err, store.ErrState) {
			t.Errorf("%s: %d calls, %v", edit, s.Calls, err)
		}
		_, err = fresh.Log().Append(t.Context(), []audit.Entry{{Chain: "s", Kind: "decision", Body: []byte("{}")}})
		w.exec("insert or replace into entry select * from kept")
		if s, read := fresh.Get(t.Context(), "s"); read != nil || s.Calls < 5 {
			t.Errorf("%s: an entry follows (%v): %d calls, %v", edit, err, s.Calls, read)
		}
	}
}
