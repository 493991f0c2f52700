package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
)

const (
	readKept   = `select ` + rowColumns + ` from entry where length(salt) > 0 and seq in %s`
	removeRows = `delete from entry where length(salt) > 0 and seq in %s`
	closeChain = `update chain set name = id where name = $1`

	writeAsides  = `insert into aside (seq, time, body) values %s`
	readAside    = `select body from aside where seq = $1`
	listAsides   = `select seq from aside where time < $1 and seq > $2 order by seq limit 500`
	removeAsides = `delete from aside where seq in %s`
)

// Erase implements [audit.Erasable], in one transaction: give it some thousands of numbers at most.
func (l *Log) Erase(ctx context.Context, seqs []int64, note func(int64) audit.Entry) (erased int64, err error) {
	o := &op{alone: true}
	o.run = func(ctx context.Context, u *unit) (err error) {
		o.entries = nil
		erased, err = u.erase(ctx, seqs)
		if err != nil || erased == 0 {
			return err
		}
		o.entries = []audit.Entry{note(erased)}
		if u.failed = check(o.entries); u.failed != nil {
			return u.failed
		}
		return nil
	}
	if err := l.do(ctx, o); err != nil {
		return 0, err
	}
	return erased, nil
}

// erase erases entries, what is beside them, and the names of the chains that end with one of them.
func (u *unit) erase(ctx context.Context, seqs []int64) (int64, error) {
	chains, hashes := map[string]bool{}, map[tlog.Hash]bool{}
	var left []any
	err := in(ctx, u, readKept, seqs, func(rows *sql.Rows) error {
		r, err := scanRow(rows)
		if err != nil {
			return err
		}
		if _, err := r.Check(); err != nil { // else another entry could end its chain here
			return fmt.Errorf("entry %d: %w", r.Seq, err)
		}
		left = append(left, r.Seq, r.Leaf, []byte{}, 0, "", "", "", "", []byte{})
		chains[r.Chain], hashes[tlog.RecordHash(r.Leaf)] = true, true
		return nil
	})
	if err != nil || len(left) == 0 {
		return 0, err
	}
	var ended []string
	for _, name := range slices.Sorted(maps.Keys(chains)) {
		link, err := u.ending(ctx, name, nil)
		if err != nil {
			return 0, err
		}
		if link != nil && hashes[link.Last] {
			ended = append(ended, name)
			err = u.carry(ctx, name)
		}
		if err != nil {
			return 0, err
		}
	}
	erased, err := u.eraseRows(ctx, seqs, left)
	for i := 0; i < len(ended) && err == nil; i++ {
		err = u.close(ctx, ended[i])
	}
	return erased, u.fail(err)
}

// carry has the log tell again of the questions of a chain that is going to be closed: one binding may be that of several persons.
func (u *unit) carry(ctx context.Context, chain string) error {
	if !strings.HasPrefix(chain, questionChain) {
		return nil
	}
	proved, err := u.prove(ctx, chain, u.db.proofs.get(chain), true)
	if err != nil || proved == nil {
		return err
	}
	for _, row := range proved.rows {
		if row.Live(micros(u.lately())) {
			u.keep(row)
		}
	}
	return nil
}

const questionChain = record.StateChain + record.QuestionTable + "/"

// eraseRows writes what is left in the place of entries, and removes what is beside them. Rows are removed and written anew: SQLite does
// not give back what is free of a page whose rows become shorter.
func (u *unit) eraseRows(ctx context.Context, seqs []int64, left []any) (int64, error) {
	erased, err := changeIn(ctx, u, removeRows, seqs)
	if err == nil {
		err = u.insert(ctx, writeRows, 9, left)
	}
	if err == nil {
		_, err = changeIn(ctx, u, removeAsides, seqs)
	}
	return erased, err
}

// close closes a chain.
func (u *unit) close(ctx context.Context, name string) (err error) {
	before, after := "", ""
	if strings.HasPrefix(name, audit.Listed) {
		if before, after, err = u.around(ctx, name); err != nil {
			return err
		}
	}
	if err := u.ends.Close(name, before, after); err != nil {
		return err
	}
	u.closed = true
	_, err = u.change(ctx, closeChain, name)
	return err
}

// in runs an op's own query for values, many at a time. The text has %s where they go.
func in[T any](ctx context.Context, u *unit, text string, values []T, scan func(*sql.Rows) error) error {
	for query, args := range batches(text, values) {
		if err := u.read(ctx, query, scan, args...); err != nil {
			return err
		}
	}
	return nil
}

// changeIn runs an op's own statement for values, many at a time, and returns how many rows it changed.
func changeIn[T any](ctx context.Context, u *unit, text string, values []T) (changed int64, err error) {
	for query, args := range batches(text, values) {
		n, err := u.change(ctx, query, args...)
		if err != nil {
			return 0, err
		}
		changed += n
	}
	return changed, nil
}

// Aside implements [audit.Beside].
func (l *Log) Aside(ctx context.Context, seq int64) (body []byte, err error) {
	err = l.reads.query(ctx, readAside, func(rows *sql.Rows) error { return rows.Scan(&body) }, seq)
	return body, err
}

// Asides implements [audit.Beside].
func (l *Log) Asides(ctx context.Context, before time.Time) iter.Seq2[int64, error] {
	end := int64(math.MaxInt64)
	if !before.IsZero() {
		end = micros(before)
	}
	return pages(ctx, rowPage, int64(-1), func(at int64) ([]int64, int64, error) {
		var page []int64
		err := l.reads.query(ctx, listAsides, func(rows *sql.Rows) error {
			err := rows.Scan(&at)
			page = append(page, at)
			return err
		}, end, at)
		return page, at, err
	})
}

// RemoveAsides implements [audit.Beside], in one transaction.
func (l *Log) RemoveAsides(ctx context.Context, seqs []int64) (removed int64, err error) {
	err = l.do(ctx, &op{alone: true, run: func(ctx context.Context, u *unit) (err error) {
		removed, err = changeIn(ctx, u, removeAsides, seqs)
		return err
	}})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// Scrub overwrites what was removed and may still stand in the files of an SQLite database. It does what it can: as long as
// another connection reads what was there, it stays. PostgreSQL overwrites it when it vacuums.
func (d *DB) Scrub(ctx context.Context) error {
	if d.dialect.scrub == "" {
		return nil
	}
	return d.reads.query(ctx, d.dialect.scrub, func(*sql.Rows) error { return nil })
}
