package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// Deferred writes keep their order, come at the latest with the next write or after the time that they may wait, and while they
// cannot be written nothing more is taken.
func TestDefer(t *testing.T) {
	t.Run("made at once", func(t *testing.T) {
		testDefer(t, func(db *sqlstore.DB, e audit.Entry) error { return db.Defer(t.Context(), e) })
	})
	t.Run("made later", func(t *testing.T) {
		testDefer(t, func(db *sqlstore.DB, e audit.Entry) error {
			return db.DeferMade(t.Context(), func() (audit.Entry, error) { return e, nil }, nil)
		})
	})
}

func testDefer(t *testing.T, write func(*sqlstore.DB, audit.Entry) error) {
	db := open(t, file(t), &sqlstore.Options{Linger: time.Hour})
	begin(t, db, "s")
	for i := range 3 {
		if err := errors.Join(write(db, audit.Entry{Subject: fmt.Sprint(i)}), db.Tally(t.Context(), "s")); err != nil {
			t.Fatal(err)
		}
	}
	if n := entries(t, db); n != 0 {
		t.Errorf("%d entries were written at once", n)
	}
	if first, err := db.Log().Append(t.Context(), []audit.Entry{{Subject: "3"}}); first != 4 || err != nil {
		t.Errorf("the next one is number %d, %v", first, err)
	}
	if s, err := db.Get(t.Context(), "s"); s.Calls != 3 || err != nil {
		t.Errorf("%d calls, %v", s.Calls, err)
	}
	edit(t, pathOf(db), `alter table entry rename to gone`)
	if err := write(db, audit.Entry{Subject: "4"}); err != nil {
		t.Error(err)
	}
	if err := db.Flush(t.Context()); err == nil {
		t.Error("entries that could not be written were flushed")
	}
	if err := write(db, audit.Entry{}); err == nil {
		t.Error("another one was taken")
	}
	if _, err := db.Log().RemoveAsides(t.Context(), []int64{0}); err != nil {
		t.Errorf("an op with a transaction of its own waits for them: %v", err)
	}
	edit(t, pathOf(db), `alter table gone rename to entry`)
	if err := errors.Join(db.Flush(t.Context()), write(db, audit.Entry{Subject: "5"}), db.Flush(t.Context())); err != nil {
		t.Error(err)
	}
	n := 0
	for row, err := range db.Log().Rows(t.Context(), audit.Query{}) {
		if row.Kind == string(record.StateRow) {
			continue
		}
		if err != nil || row.Subject != fmt.Sprint(n) {
			t.Errorf("number %d is %q, %v; want %d", row.Seq, row.Subject, err, n)
		}
		n++
	}
	verify(t, db)
	if n != 6 {
		t.Errorf("%d entries", n)
	}
}

// An entry that is made later is made when it is written: with the next write, or in the end. The number of those that wait
// is bounded. In the place of one that cannot be made, or not be written as it is, stands another one.
func TestDeferMade(t *testing.T) {
	path := file(t)
	db := open(t, path, &sqlstore.Options{Linger: time.Hour})
	const many = 2000
	made, broken, body, why := 0, error(nil), []byte("{}"), error(nil)
	write := func(n int) error {
		return db.DeferMade(t.Context(), func() (audit.Entry, error) { made++; return audit.Entry{Subject: fmt.Sprint(n), Body: body}, broken },
			func(err error) audit.Entry {
				why = err
				return audit.Entry{Subject: fmt.Sprint(n), Outcome: "instead"}
			})
	}
	must(t, write(0))
	if made != 0 {
		t.Error("it was made at once")
	}
	must(t, appendOne(t.Context(), db))
	if n := entries(t, db); made != 1 || n != 2 {
		t.Errorf("%d were made with the next write, and %d written", made, n)
	}
	for n := range many {
		must(t, write(n+1))
	}
	if waiting := many + 1 - made; waiting == 0 || waiting > many/2 {
		t.Errorf("%d wait to be made", waiting)
	}
	must(t, db.Flush(t.Context()))
	if made != many+1 {
		t.Errorf("%d were made", made)
	}
	broken = errors.New("it cannot be made")
	must(t, write(many+1))
	if err := db.Flush(t.Context()); err != nil || !errors.Is(why, broken) {
		t.Errorf("flushed: %v; made another one for %v", err, why)
	}
	broken, body = nil, make([]byte, audit.MaxBody+1)
	must(t, write(many+2))
	if err := appendOne(t.Context(), db); err != nil || !errors.Is(why, audit.ErrInvalid) {
		t.Errorf("one that its caller waits for: %v; made another one for %v", err, why)
	}
	body = []byte("{}")
	must(t, write(many+3), db.Close())
	db = open(t, path, nil)
	verify(t, db)
	want := 0
	for row, err := range db.Log().Rows(t.Context(), audit.Query{}) {
		if err == nil && row.Subject == "" { // appended by others
			continue
		}
		if err != nil || row.Subject != fmt.Sprint(want) {
			t.Fatalf("number %d is %q, %v; want %d", row.Seq, row.Subject, err, want)
		}
		if instead := want == many+1 || want == many+2; instead != (row.Outcome == "instead") {
			t.Errorf("%d is %q", want, row.Outcome)
		}
		want++
	}
	if want != many+4 {
		t.Errorf("%d entries", want)
	}
}

func TestDeferredIsWrittenByItself(t *testing.T) {
	db := open(t, file(t), &sqlstore.Options{Linger: time.Millisecond})
	if err := db.Defer(t.Context(), audit.Entry{}); err != nil {
		t.Fatal(err)
	}
	for size(t, db) == 0 {
		time.Sleep(time.Millisecond)
	}
}
