package sqlstore_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/store/sqlstore"
)

var (
	tamperEntries = flag.Int("tamper.entries", 300, "how many entries the log has that TestVerifyFindsChangesInTables changes")
	tamperBits    = flag.Int("tamper.bits", 200, "how many bits of it that changes, one at a time; negative: each of them")
	tamperMoves   = flag.Int("tamper.moves", 5, "how often it removes, adds, moves and cuts off entries")
)

// logColumns are the columns of the log, but for those of its indices.
var logColumns = map[string][]string{
	"entry":      {"seq", "leaf", "salt", "time", "chain", "kind", "subject", "outcome", "body"},
	"node":       {"level", "n", "hash"},
	"chain":      {"name", "id", "next", "last"},
	"checkpoint": {"size", "note"},
	"state":      {"size", "edge", "ends"},
	"ending":     {"n", "body"},
}

// A tampered is a log in a file, with another connection to that.
type tampered struct {
	db  *sqlstore.DB
	log *audit.Log
	raw *sql.DB
}

// tamperedLog returns a log of that many entries in chains of some length, with a checkpoint now and then.
func tamperedLog(t *testing.T, entries int) *tampered {
	t.Helper()
	path := file(t)
	x := &tampered{db: open(t, path, nil)}
	key, err := audit.NewKey("example.com/weir")
	if err != nil {
		t.Fatal(err)
	}
	if x.log, err = audit.Open(t.Context(), x.db.Log(), audit.NewAnchor(key)); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for i := 0; i < entries; {
		batch := make([]audit.Entry, min(1000, entries/3+1, entries-i))
		for j := range batch {
			batch[j] = audit.Entry{
				Time: at.Add(time.Duration(i) * time.Millisecond), Chain: fmt.Sprint("local/agent:", i/40), Kind: "decision",
				Subject: "mail/send_email", Outcome: "block", Body: fmt.Appendf(nil, `{"v":1,"n":%d}`, i),
			}
			i++
		}
		if _, err := x.db.Log().Append(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if _, err := x.log.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if x.raw, err = sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=synchronous(off)"); err != nil {
		t.Fatal(err)
	}
	x.raw.SetMaxOpenConns(1)
	t.Cleanup(func() { x.raw.Close() })
	return x
}

// verify returns the findings.
func (x *tampered) verify(t *testing.T) *audit.Report {
	t.Helper()
	r, err := audit.Verify(t.Context(), x.db.Log(), audit.VerifyOptions{Key: x.log.Key().Verifier()})
	if err != nil {
		return &audit.Report{Findings: []audit.Finding{{Entry: -1, What: err.Error()}}} // it cannot even be read
	}
	return r
}

func (x *tampered) exec(t *testing.T, text string, args ...any) {
	t.Helper()
	if _, err := x.raw.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func (x *tampered) number(t *testing.T, text string, args ...any) (n int64) {
	t.Helper()
	if err := x.raw.QueryRowContext(t.Context(), text, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

// A cell is a value in a table.
type cell struct {
	table, column string
	row           int64
}

// cells returns all of the log.
func (x *tampered) cells(t *testing.T) (all []cell) {
	t.Helper()
	for table, columns := range logColumns {
		rows, err := x.raw.QueryContext(t.Context(), "select rowid from "+table)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var row int64
			if err := rows.Scan(&row); err != nil {
				t.Fatal(err)
			}
			for _, column := range columns {
				all = append(all, cell{table, column, row})
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// read returns the value of a cell: an int64, a string or a []byte.
func (x *tampered) read(t *testing.T, c cell) (value any) {
	t.Helper()
	text := fmt.Sprintf("select %s from %s where rowid = $1", c.column, c.table)
	if err := x.raw.QueryRowContext(t.Context(), text, c.row).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// write writes a cell, and returns the row that it is in then. An error means that there may be no such value there.
func (x *tampered) write(ctx context.Context, c cell, value any) (cell, error) {
	text := fmt.Sprintf("update %s set %s = $1 where rowid = $2 returning rowid", c.table, c.column)
	err := x.raw.QueryRowContext(ctx, text, value, c.row).Scan(&c.row)
	return c, err
}

func bits(value any) int {
	switch v := value.(type) {
	case string:
		return len(v) * 8
	case []byte:
		return len(v) * 8
	}
	return 64
}

func flipBit(value any, bit int) any {
	switch v := value.(type) {
	case string:
		b := []byte(v)
		b[bit/8] ^= 1 << (bit % 8)
		return string(b)
	case []byte:
		b := slices.Clone(v)
		b[bit/8] ^= 1 << (bit % 8)
		return b
	}
	return value.(int64) ^ 1<<bit
}

// flip changes a bit, looks whether that is found, and where, and puts it back.
func (x *tampered) flip(t *testing.T, c cell, bit int) {
	t.Helper()
	old := x.read(t, c)
	now, err := x.write(t.Context(), c, flipBit(old, bit))
	if err != nil {
		return // such as a number that another row has
	}
	r := x.verify(t)
	places := func(f audit.Finding) bool {
		return c.table != "entry" || f.Entry == c.row || f.Entry == now.row || c.column == "seq"
	}
	if !slices.ContainsFunc(r.Findings, places) {
		t.Errorf("bit %d of %s.%s, row %d, was not found there: %+v", bit, c.table, c.column, c.row, r.Findings)
	}
	if _, err := x.write(t.Context(), now, old); err != nil {
		t.Fatal(err)
	}
}

// TestVerifyFindsChangesInTables changes bits of the tables that the log is in, and removes, adds, moves and cuts off rows.
// With -tamper.bits=-1 it changes each bit.
func TestVerifyFindsChangesInTables(t *testing.T) {
	x := tamperedLog(t, *tamperEntries)
	if r := x.verify(t); !r.OK() || r.Size != int64(*tamperEntries) {
		t.Fatalf("%+v", r)
	}
	all, flips := x.cells(t), 0
	for ; *tamperBits >= 0 && flips < *tamperBits; flips++ {
		c := all[rand.IntN(len(all))]
		if n := bits(x.read(t, c)); n > 0 {
			x.flip(t, c, rand.IntN(n))
		}
	}
	for _, c := range all {
		for bit := 0; *tamperBits < 0 && bit < bits(x.read(t, c)); bit++ {
			x.flip(t, c, bit)
			flips++
		}
	}
	for range *tamperMoves {
		for name, move := range moves {
			t.Run(name, func(t *testing.T) { x.move(t, move) })
		}
	}
	if r := x.verify(t); !r.OK() {
		t.Errorf("afterwards: %+v", r.Findings)
	}
	t.Logf("%d entries, %d values, %d bits changed", *tamperEntries, len(all), flips)
}

// moves change rows from the entry at on, of n. They return the number of an entry where that has to be found at the latest.
var moves = map[string]func(t *testing.T, x *tampered, at, n int64) int64{
	"remove": func(t *testing.T, x *tampered, at, _ int64) int64 {
		x.exec(t, "delete from entry where seq = $1", at)
		return at
	},
	"remove and close the gap": func(t *testing.T, x *tampered, at, _ int64) int64 {
		x.exec(t, "delete from entry where seq = $1", at)
		x.shift(t, at, -1)
		return at
	},
	"insert": func(t *testing.T, x *tampered, at, _ int64) int64 {
		x.shift(t, at, 1)
		x.exec(t, "insert into entry select $1, leaf, salt, time, chain, kind, subject, outcome, body from entry where seq = $2", at, at+1)
		return at + 1
	},
	"append": func(t *testing.T, x *tampered, at, n int64) int64 {
		x.exec(t, "insert into entry select $1, leaf, salt, time, chain, kind, subject, outcome, body from entry where seq = $2", n, at)
		return n
	},
	"exchange": func(t *testing.T, x *tampered, at, n int64) int64 {
		other := (at + 1 + rand.Int64N(n-1)) % n
		x.exec(t, "update entry set seq = -1 where seq = $1", at)
		x.exec(t, "update entry set seq = $1 where seq = $2", at, other)
		x.exec(t, "update entry set seq = $1 where seq = -1", other)
		return min(at, other)
	},
	"replace": func(t *testing.T, x *tampered, at, n int64) int64 {
		other := (at + 1 + rand.Int64N(n-1)) % n
		x.exec(t, `update entry set (leaf, salt, time, chain, kind, subject, outcome, body) =
			(select leaf, salt, time, chain, kind, subject, outcome, body from entry where seq = $1) where seq = $2`, other, at)
		return at
	},
	"cut off": func(t *testing.T, x *tampered, at, _ int64) int64 {
		x.exec(t, "delete from entry where seq >= $1", at)
		return at
	},
	"cut off with its head": func(t *testing.T, x *tampered, at, _ int64) int64 {
		x.exec(t, "delete from entry where seq >= $1", at)
		x.exec(t, "update state set size = $1", at)
		return at
	},
}

// shift moves all entries from one on by one place.
func (x *tampered) shift(t *testing.T, from, by int64) {
	t.Helper()
	x.exec(t, "update entry set seq = -seq - 10 where seq >= $1", from)
	x.exec(t, "update entry set seq = -seq - 10 + $1 where seq < 0", by)
}

// move does one of the moves, looks whether it is found, and undoes it.
func (x *tampered) move(t *testing.T, do func(*testing.T, *tampered, int64, int64) int64) {
	t.Helper()
	n := x.number(t, "select count(*) from entry")
	size := x.number(t, "select size from state")
	x.exec(t, "create table kept as select * from entry")
	at := rand.Int64N(n)
	last := do(t, x, at, n)
	r := x.verify(t)
	if !slices.ContainsFunc(r.Findings, func(f audit.Finding) bool { return f.Entry >= 0 && f.Entry <= last }) {
		t.Errorf("a change at %d was not found up to %d: %+v", at, last, r.Findings)
	}
	x.exec(t, "delete from entry")
	x.exec(t, "insert into entry select * from kept")
	x.exec(t, "drop table kept")
	x.exec(t, "update state set size = $1", size)
}
