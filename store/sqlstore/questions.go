package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"time"

	"github.com/weir-mcp/weir/store"
)

const (
	questionColumns = `id, principal, session, binding, body, answer, asked, expires`

	countQuestions = `select count(*) from question where answer = '' and expires > $1`
	findQuestion   = `select ` + questionColumns + ` from question where id = $1`
	writeQuestion  = `insert into question (` + questionColumns + `) values ($1, $2, $3, $4, $5, $6, $7, $8)`
	answerQuestion = `update question set answer = $1 where id = $2 and answer = '' and expires > $3`
	redeemQuestion = `update question set answer = 'redeemed' where id =
	(select min(id) from question where binding = $1 and answer = 'accepted' and expires > $2)`
	listQuestions = `select ` + questionColumns + ` from question
where expires > $1 and ($2 = '' or id = $2) and ($3 = '' or principal = $3) and ($4 = 0 or answer = '')
	and (asked > $5 or (asked = $5 and id > $6)) and ($7 = '' or binding = $7) order by asked, id limit 200`
)

func scanQuestion(rows *sql.Rows) (q store.Question, err error) {
	var asked, expires int64
	err = rows.Scan(&q.ID, &q.Principal, &q.Session, &q.Binding, &q.Body, &q.Answer, &asked, &expires)
	q.Asked, q.Expires = fromMicros(asked), fromMicros(expires)
	return q, err
}

// Ask implements [store.Approvals].
func (d *DB) Ask(ctx context.Context, q store.Question) error {
	if err := cmp.Or(ctx.Err(), q.Check()); err != nil {
		return err
	}
	return d.writer.do(ctx, &op{run: func(ctx context.Context, u *unit) error {
		_, known, err := u.question(ctx, q.ID)
		if err != nil {
			return err
		}
		if known {
			return fmt.Errorf("asking: %w: there is a question with this id", store.ErrInvalid)
		}
		var open int
		now := micros(u.lately())
		if err := u.read(ctx, countQuestions, func(rows *sql.Rows) error { return rows.Scan(&open) }, now); err != nil {
			return err
		}
		if open >= store.MaxQuestions {
			return store.ErrTooManyQuestions
		}
		_, err = u.change(ctx, writeQuestion, q.ID, q.Principal, q.Session, q.Binding, notNil(q.Body), "", now, micros(q.Expires))
		return err
	}})
}

// lately returns the time of the transaction, or of a later one before it.
func (u *unit) lately() time.Time { return u.db.latest.At(u.now()) }

// question reads one question.
func (u *unit) question(ctx context.Context, id string) (q store.Question, ok bool, err error) {
	err = u.read(ctx, findQuestion, func(rows *sql.Rows) (err error) {
		q, err = scanQuestion(rows)
		ok = true
		return err
	}, id)
	return q, ok, err
}

// Answer implements [store.Approvals].
func (d *DB) Answer(ctx context.Context, id, principal string, a store.Answer) (answered store.Question, err error) {
	if err := cmp.Or(ctx.Err(), a.Check()); err != nil {
		return store.Question{}, err
	}
	err = d.writer.do(ctx, &op{run: func(ctx context.Context, u *unit) error {
		q, ok, err := u.question(ctx, id)
		switch {
		case err != nil:
			return err
		case !ok, q.Answer != store.Open, !u.lately().Before(q.Expires):
			return store.ErrNoQuestion
		case q.Principal != principal:
			return fmt.Errorf("answering: %w", store.ErrPrincipal)
		}
		q.Answer = a
		answered = q
		if _, err := u.change(ctx, answerQuestion, string(a), id, micros(u.lately())); err != nil || d.dialect.tell == "" {
			return err
		}
		return u.read(ctx, d.dialect.tell, func(*sql.Rows) error { return nil })
	}})
	if err != nil {
		return store.Question{}, err
	}
	d.listener.bell.Ring()
	return answered, nil
}

// Redeem implements [store.Approvals].
func (d *DB) Redeem(ctx context.Context, binding string) (redeemed bool, err error) {
	err = d.writer.do(ctx, &op{run: func(ctx context.Context, u *unit) error {
		n, err := u.change(ctx, redeemQuestion, binding, micros(u.lately()))
		redeemed = n == 1
		return err
	}})
	return redeemed && err == nil, err
}

// Questions implements [store.Approvals].
func (d *DB) Questions(ctx context.Context, q store.QuestionQuery) iter.Seq2[store.Question, error] {
	type place struct {
		asked int64
		id    string
	}
	open := 0
	if q.Open {
		open = 1
	}
	return pages(ctx, pageSize, place{asked: -1 << 62}, func(at place) ([]store.Question, place, error) {
		var page []store.Question
		err := d.reads.query(ctx, listQuestions, func(rows *sql.Rows) error {
			found, err := scanQuestion(rows)
			page, at = append(page, found), place{micros(found.Asked), found.ID}
			return err
		}, micros(d.latest.At(d.clock())), q.ID, q.Principal, open, at.asked, at.id, q.Binding)
		return page, at, err
	})
}

const (
	forgetAsked  = `delete from question where principal = $1`
	forgetAskers = `delete from question where session in %s`
)

// ForgetQuestions removes the questions of the principal, if it is not "", and of the sessions, whatever their answers are, and
// returns how many there were.
func (d *DB) ForgetQuestions(ctx context.Context, principal string, sessions []string) (removed int64, err error) {
	err = d.writer.do(ctx, &op{alone: true, run: func(ctx context.Context, u *unit) (err error) {
		removed, err = changeIn(ctx, u, forgetAskers, sessions)
		if err != nil || principal == "" {
			return err
		}
		n, err := u.change(ctx, forgetAsked, principal)
		removed += n
		return err
	}})
	if err != nil {
		return 0, err
	}
	return removed, nil
}
