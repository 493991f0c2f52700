package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
)

var (
	_ audit.Store     = (*Log)(nil)
	_ audit.Counted   = (*Log)(nil)
	_ audit.Committed = (*Log)(nil)
)

// A Log is the log in a database.
type Log struct {
	db    *DB
	reads *statements
	fixed bool // a snapshot
}

// Log returns the log in the database.
func (d *DB) Log() *Log { return &Log{db: d, reads: &d.scans} }

// errSnapshot is the error of a write to a snapshot.
var errSnapshot = errors.New("a snapshot is for reading")

// do runs an op on the log.
func (l *Log) do(ctx context.Context, o *op) error {
	if l.fixed {
		return errSnapshot
	}
	return l.db.writer.do(ctx, o)
}

// Snapshot implements [audit.Steady], by a transaction that reads.
func (l *Log) Snapshot(ctx context.Context, read func(audit.Store) error) error {
	if l.fixed {
		return read(l)
	}
	c, err := l.db.beginReading(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	reads := &statements{db: c, prepared: map[string]*sql.Stmt{}}
	err = read(&Log{db: l.db, reads: reads, fixed: true})
	_, end := c.ExecContext(context.WithoutCancel(ctx), "rollback")
	return errors.Join(err, reads.close(), end)
}

// Defer appends the entries within [Options].Linger. The error is why earlier ones could not be written.
func (d *DB) Defer(ctx context.Context, entries ...audit.Entry) error {
	if err := check(entries); err != nil {
		return err
	}
	return d.writer.later(ctx, &op{entries: entries})
}

// Flush writes what was deferred.
func (d *DB) Flush(ctx context.Context) error { return d.writer.flush(ctx) }

// Append implements [audit.Storage].
func (l *Log) Append(ctx context.Context, entries []audit.Entry) (int64, error) {
	if err := check(entries); err != nil {
		return 0, err
	}
	o := &op{entries: entries}
	err := l.do(ctx, o)
	return o.first, err
}

// Head implements [audit.Storage].
func (l *Log) Head(ctx context.Context) (h audit.Head, err error) {
	r, err := readHead(ctx, l.reads, "")
	return r.head, err
}

const (
	rowColumns  = `seq, leaf, salt, time, chain, kind, subject, outcome, body`
	leafColumns = `seq, leaf, '', 0, '', '', '', '', ''`
)

// rowPage is how many rows a query reads.
const rowPage = 500

func scanRow(rows *sql.Rows) (r audit.Row, err error) {
	var us int64
	err = rows.Scan(&r.Seq, &r.Leaf, &r.Salt, &us, &r.Chain, &r.Kind, &r.Subject, &r.Outcome, &r.Body)
	r.Time, r.Body = fromMicros(us), unpack(r.Body)
	if len(r.Salt) == 0 {
		r.Salt = nil
	}
	return r, err
}

// A condition collects what rows have to be, and the arguments of that.
type condition struct {
	text []string
	args []any
}

func (c *condition) add(text string, arg any) {
	c.args = append(c.args, arg)
	c.text = append(c.text, strings.Replace(text, "?", "$"+strconv.Itoa(len(c.args)), 1))
}

func (c *condition) where() string {
	if len(c.text) == 0 {
		return ""
	}
	return " where " + strings.Join(c.text, " and ")
}

// commonKind is the kind that most entries have. The indices of kinds leave it out, so that it costs nothing to write.
const commonKind = "decision"

// commonOutcome is the outcome that most entries have. Their index leaves it out too.
const commonOutcome = "allow"

// conditionOf returns what a query selects, but for its order and limit.
func conditionOf(q audit.Query) *condition {
	c := &condition{}
	if q.From > 0 {
		c.add("seq >= ?", q.From)
	}
	if q.To > 0 {
		c.add("seq < ?", q.To)
	}
	if !q.Since.IsZero() {
		c.add("length(salt) > 0 and time >= ?", micros(q.Since))
	}
	if !q.Before.IsZero() {
		c.add("length(salt) > 0 and time < ?", micros(q.Before))
	}
	if q.Kind != "" && q.Kind != commonKind {
		c.text = append(c.text, "kind <> '"+commonKind+"'") // else the indices of the other kinds are of no use
	}
	if q.Outcome != "" && q.Outcome != commonOutcome {
		c.text = append(c.text, "outcome <> '"+commonOutcome+"'")
	}
	for _, word := range [...]struct{ column, value string }{
		{"chain", q.Chain}, {"kind", q.Kind}, {"subject", q.Subject}, {"outcome", q.Outcome},
	} {
		if word.value != "" {
			c.add(word.column+" = ?", word.value)
		}
	}
	return c
}

// Rows implements [audit.Storage].
func (l *Log) Rows(ctx context.Context, q audit.Query) iter.Seq2[audit.Row, error] {
	type place struct {
		next int64 // the bound of the next page: the number it begins at, or ends before if the newest come first
		left int
	}
	start := place{q.From, q.Limit}
	if q.Newest {
		start.next = q.To
	}
	return pages(ctx, rowPage, start, func(at place) ([]audit.Row, place, error) {
		if q.Limit > 0 && at.left == 0 || at.next < 0 {
			return nil, at, nil
		}
		bounded, order := q, "asc"
		if q.Newest {
			bounded.To, order = at.next, "desc"
		} else {
			bounded.From = at.next
		}
		limit := rowPage
		if q.Limit > 0 {
			limit = min(limit, at.left)
		}
		columns := rowColumns
		if q.Leaves {
			columns = leafColumns
		}
		c := conditionOf(bounded)
		text := fmt.Sprintf("select %s from entry%s order by seq %s limit %d", columns, c.where(), order, limit)
		page := make([]audit.Row, 0, limit)
		err := l.reads.query(ctx, text, func(rows *sql.Rows) error {
			r, err := scanRow(rows)
			page = append(page, r)
			return err
		}, c.args...)
		if n := len(page); n > 0 {
			at.left -= n
			at.next = page[n-1].Seq + 1
			if q.Newest {
				if at.next = page[n-1].Seq; at.next == 0 {
					at.next = -1
				}
			}
		}
		return page, at, err
	})
}

// Count implements [audit.Counted].
func (l *Log) Count(ctx context.Context, q audit.Query) ([]audit.Count, error) {
	c := conditionOf(q)
	if q.Chain == "" { // which no row has that is erased
		c.text = append(c.text, "length(salt) > 0")
	}
	text := "select kind, subject, outcome, count(*) as n from entry" + c.where() + " group by kind, subject, outcome order by n desc, kind, subject, outcome"
	if q.Limit > 0 {
		text += " limit " + strconv.Itoa(q.Limit)
	}
	var counts []audit.Count
	err := l.reads.query(ctx, text, func(rows *sql.Rows) error {
		var one audit.Count
		err := rows.Scan(&one.Kind, &one.Subject, &one.Outcome, &one.N)
		counts = append(counts, one)
		return err
	}, c.args...)
	return counts, err
}

const readNodes = `select level, n, hash from node where level = $1 and n >= $2 and n < $3 order by n`

// Nodes implements [audit.Storage].
func (l *Log) Nodes(ctx context.Context, level int, from, to int64) ([]audit.Node, error) {
	var nodes []audit.Node
	err := l.reads.query(ctx, readNodes, func(rows *sql.Rows) error {
		var n audit.Node
		var hash []byte
		if err := rows.Scan(&n.Level, &n.N, &hash); err != nil {
			return err
		}
		if len(hash) != tlog.HashSize {
			return fmt.Errorf("%w: hash %d at level %d", audit.ErrDamaged, n.N, level)
		}
		copy(n.Hash[:], hash)
		nodes = append(nodes, n)
		return nil
	}, level, from, to)
	return nodes, err
}

const (
	newCheckpoints  = `select size, note from checkpoint where size >= $1`
	writeCheckpoint = `insert into checkpoint (size, note) values ($1, $2) on conflict (size) do update set note = excluded.note`
	listCheckpoints = `select size, note from checkpoint where size >= $1 order by size limit 500`
)

// SealWith implements [audit.Signed].
func (l *Log) SealWith(a *audit.Anchor) { l.db.anchor.Store(a) }

// AddCheckpoint implements [audit.Signed].
func (l *Log) AddCheckpoint(ctx context.Context, c, last audit.Checkpoint) error {
	return l.do(ctx, &op{alone: true, synced: true, run: func(ctx context.Context, u *unit) error {
		err := u.read(ctx, newCheckpoints, func(rows *sql.Rows) error {
			var there audit.Checkpoint
			if err := rows.Scan(&there.Size, &there.Note); err != nil {
				return err
			}
			if there.Size != last.Size || !bytes.Equal(there.Note, last.Note) {
				return audit.ErrConflict
			}
			return nil
		}, last.Size)
		if err == nil {
			_, err = u.change(ctx, writeCheckpoint, c.Size, c.Note)
		}
		return err
	}})
}

// Checkpoints implements [audit.Signed].
func (l *Log) Checkpoints(ctx context.Context, from int64) iter.Seq2[audit.Checkpoint, error] {
	return pages(ctx, rowPage, from, func(at int64) ([]audit.Checkpoint, int64, error) {
		var page []audit.Checkpoint
		err := l.reads.query(ctx, listCheckpoints, func(rows *sql.Rows) error {
			var c audit.Checkpoint
			err := rows.Scan(&c.Size, &c.Note)
			page, at = append(page, c), c.Size+1
			return err
		}, at)
		return page, at, err
	})
}

const listChains = `select name, id, next, last from chain where id > $1 order by id limit 500`

// Links implements [audit.Linked].
func (l *Log) Links(ctx context.Context) iter.Seq2[audit.Link, error] {
	return pages(ctx, rowPage, "", func(at string) ([]audit.Link, string, error) {
		var page []audit.Link
		err := l.reads.query(ctx, listChains, func(rows *sql.Rows) error {
			link, err := scanLink(rows)
			page, at = append(page, link), link.ID.String()
			return err
		}, at)
		return page, at, err
	})
}

const listEndings = `select n, body from ending where n > $1 order by n limit 500`

// EndNodes implements [audit.Committed].
func (l *Log) EndNodes(ctx context.Context) iter.Seq2[audit.EndNode, error] {
	return pages(ctx, rowPage, int64(math.MinInt64), func(at int64) ([]audit.EndNode, int64, error) {
		var page []audit.EndNode
		err := l.reads.query(ctx, listEndings, func(rows *sql.Rows) error {
			var n audit.EndNode
			err := rows.Scan(&n.N, &n.Body)
			page, at = append(page, n), n.N
			return err
		}, at)
		return page, at, err
	})
}
