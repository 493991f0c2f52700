package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
)

// errSnapshot is the error of a write to a snapshot.
var errSnapshot = errors.New("a snapshot is for reading")

// A logReader reads the log.
type logReader struct{ reads *statements }

// Append implements [audit.Storage]: it is an error.
func (l *logReader) Append(context.Context, []audit.Entry) (int64, error) { return 0, errSnapshot }

// Head implements [audit.Storage].
func (l *logReader) Head(ctx context.Context) (h audit.Head, err error) {
	r, err := readHead(ctx, l.reads, "")
	return r.head, err
}

// A condition collects the terms of a where clause, and their arguments.
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

// conditionOf returns the condition of a query, without its order and limit.
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
func (l *logReader) Rows(ctx context.Context, q audit.Query) iter.Seq2[audit.Row, error] {
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
func (l *logReader) Count(ctx context.Context, q audit.Query) ([]audit.Count, error) {
	c := conditionOf(q)
	if q.Chain == "" { // which no row has that is erased
		c.text = append(c.text, "length(salt) > 0")
	}
	text := "select kind, subject, outcome, count(*) as n from entry" + c.where() +
		" group by kind, subject, outcome order by n desc, kind, subject, outcome"
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
func (l *logReader) Nodes(ctx context.Context, level int, from, to int64) ([]audit.Node, error) {
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

const listCheckpoints = `select size, note from checkpoint where size >= $1 order by size limit 500`

// Checkpoints implements [audit.Signed].
func (l *logReader) Checkpoints(ctx context.Context, from int64) iter.Seq2[audit.Checkpoint, error] {
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
func (l *logReader) Links(ctx context.Context) iter.Seq2[audit.Link, error] {
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
func (l *logReader) EndNodes(ctx context.Context) iter.Seq2[audit.EndNode, error] {
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

// A headRow is the row of the table state.
type headRow struct {
	head     audit.Head
	root     []byte // of the ends of the chains
	sessions int64
	found    bool
}

// scan reads the columns of the state, and others after them.
func (r *headRow) scan(rows *sql.Rows, more ...any) (err error) {
	var size int64
	var edge, sealed []byte
	if err := rows.Scan(append([]any{&size, &edge, &sealed, &r.sessions, &r.root}, more...)...); err != nil {
		return err
	}
	r.head, err = audit.MakeHead(size, edge)
	r.head.Seal, r.head.Ends, r.found = sealed, audit.NewEnds(r.root, nil).Hash(), true
	return err
}

// missing returns the error of a head that is not there.
func (r *headRow) missing(err error) error {
	if err == nil && !r.found {
		err = fmt.Errorf("%w: it has no head", audit.ErrDamaged)
	}
	return err
}

const (
	stateColumns = `t.size, t.edge, t.sealed, t.present, t.ends`
	readState    = `select ` + stateColumns + ` from state t where t.id = 1`
)

// readHead reads the row of the table state.
func readHead(ctx context.Context, s *statements, lock string) (r headRow, err error) {
	err = s.query(ctx, readState+lock, func(rows *sql.Rows) error { return r.scan(rows) })
	return r, r.missing(err)
}

const (
	readAside  = `select body from aside where seq = $1`
	listAsides = `select seq from aside where time < $1 and seq > $2 order by seq limit 500`
)

// Aside implements [audit.Beside].
func (l *logReader) Aside(ctx context.Context, seq int64) (body []byte, err error) {
	err = l.reads.query(ctx, readAside, func(rows *sql.Rows) error { return rows.Scan(&body) }, seq)
	return body, err
}

// Asides implements [audit.Beside].
func (l *logReader) Asides(ctx context.Context, before time.Time) iter.Seq2[int64, error] {
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

const (
	somePageSessions  = `select ` + sessionColumns + ` from session s where s.key > $1 order by s.key limit 200`
	somePageTaints    = `select ` + taintColumns + ` from taint where resource > $1 order by resource limit 200`
	somePageQuestions = `select ` + questionColumns + ` from question where id > $1 order by id limit 200`
	somePageValues    = `select ` + valueColumns + `, body from hidden where id > $1 order by id limit 200`
)

// State iterates over all rows of the state: as they are, and not compared with the log. An error ends the iteration.
func (l *logReader) State(ctx context.Context) iter.Seq2[record.Kept, error] {
	return func(yield func(record.Kept, error) bool) {
		for _, table := range []struct {
			text string
			scan func(*sql.Rows) (record.Kept, error)
		}{
			{somePageSessions, func(rows *sql.Rows) (record.Kept, error) {
				r, err := scanSession(rows)
				k := keptSession(&r.Session)
				k.Calls = &r.Calls
				return k, err
			}},
			{somePageTaints, func(rows *sql.Rows) (record.Kept, error) {
				t, err := scanTaint(rows)
				return keptTaint(&t), err
			}},
			{somePageQuestions, func(rows *sql.Rows) (record.Kept, error) {
				q, err := scanQuestion(rows)
				return keptQuestion(&q), err
			}},
			{somePageValues, func(rows *sql.Rows) (record.Kept, error) {
				var body []byte
				v, err := scanValue(rows, &body)
				if saltedDigest(v.ID, body) != v.digest {
					v.digest = "of other bytes"
				}
				return keptOf(&v), err
			}},
		} {
			page := func(at string) ([]record.Kept, string, error) {
				var all []record.Kept
				err := l.reads.query(ctx, table.text, func(rows *sql.Rows) error {
					k, err := table.scan(rows)
					k, err = legible(k, err)
					all, at = append(all, k), k.Key
					return err
				}, at)
				return all, at, err
			}
			for row, err := range pages(ctx, pageSize, "", page) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}
