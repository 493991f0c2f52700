package sqlstore

import (
	"context"
	"database/sql"
	"iter"

	"github.com/weir-mcp/weir/record"
)

const (
	somePageSessions  = `select ` + sessionColumns + ` from session s where s.key > $1 order by s.key limit 200`
	somePageTaints    = `select ` + taintColumns + ` from taint where resource > $1 order by resource limit 200`
	somePageQuestions = `select ` + questionColumns + ` from question where id > $1 order by id limit 200`
)

// State iterates over all rows of the state: as they are, and not compared with the log. An error ends the iteration.
func (l *Log) State(ctx context.Context) iter.Seq2[record.Kept, error] {
	return func(yield func(record.Kept, error) bool) {
		for _, table := range []struct {
			text string
			scan func(*sql.Rows) (record.Kept, error)
		}{
			{somePageSessions, func(rows *sql.Rows) (record.Kept, error) {
				r, err := scanSession(rows)
				return keptSession(&r.Session), err
			}},
			{somePageTaints, func(rows *sql.Rows) (record.Kept, error) {
				t, err := scanTaint(rows)
				return keptTaint(&t), err
			}},
			{somePageQuestions, func(rows *sql.Rows) (record.Kept, error) {
				q, err := scanQuestion(rows)
				return keptQuestion(&q), err
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

// legible returns a row, or one that is as no other if its label could not be read.
func legible(k record.Kept, err error) (record.Kept, error) {
	if err != nil && k.Key != "" {
		k.Digest, err = "unreadable", nil
	}
	return k, err
}
