package sqlstore

import (
	"context"
	"database/sql"
	"iter"
	"math"
	"time"

	"github.com/weir-mcp/weir/audit"
)

const (
	readNames    = `select distinct chain from entry where length(salt) > 0 and seq in %s`
	readLeaves   = `select seq, leaf from entry where length(salt) > 0 and seq in %s`
	removeRows   = `delete from entry where length(salt) > 0 and seq in %s`
	forgetChains = `update chain set name = id where name <> id and name in %s and not exists
	(select 1 from entry where entry.chain = chain.name and length(entry.salt) > 0)`

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
		if err != nil || erased == 0 || note == nil {
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

// erase erases entries, what is beside them, and the names of the chains of which nothing is left.
func (u *unit) erase(ctx context.Context, seqs []int64) (int64, error) {
	var names []string
	seen := map[string]bool{}
	err := in(ctx, u, readNames, seqs, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	erased, err := u.eraseRows(ctx, seqs)
	if err != nil || erased == 0 {
		return 0, err
	}
	if _, err := changeIn(ctx, u, removeAsides, seqs); err != nil {
		return 0, err
	}
	_, err = changeIn(ctx, u, forgetChains, names)
	return erased, err
}

// eraseRows leaves nothing but the leaves of entries. Rows are removed and written anew: SQLite does not give back what is free of a page
// whose rows become shorter.
func (u *unit) eraseRows(ctx context.Context, seqs []int64) (int64, error) {
	var left []any
	err := in(ctx, u, readLeaves, seqs, func(rows *sql.Rows) error {
		var seq int64
		var leaf []byte
		err := rows.Scan(&seq, &leaf)
		left = append(left, seq, leaf, []byte{}, 0, "", "", "", "", []byte{})
		return err
	})
	if err != nil || len(left) == 0 {
		return 0, err
	}
	erased, err := changeIn(ctx, u, removeRows, seqs)
	if err == nil {
		err = u.insert(ctx, writeRows, 9, left)
	}
	if err != nil && u.failed == nil {
		u.failed = err
	}
	return erased, err
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
