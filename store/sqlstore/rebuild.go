package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// Rebuilt is how many rows [DB.Rebuild] wrote and removed.
type Rebuilt struct{ Written, Removed int }

const (
	countCalls = `select count(*), coalesce(max(time), 0) from entry where chain = $1 and kind = 'decision'`
	readUse    = `select calls, seen, height from session where key = $1`
	readBody   = `select body from question where id = $1`
	removeRow  = `delete from %s where %s = $1`

	rewriteQuestion = writeQuestion + ` on conflict (id) do update set principal = excluded.principal, session = excluded.session,
	binding = excluded.binding, body = excluded.body, answer = excluded.answer, asked = excluded.asked, expires = excluded.expires`

	// rewriteSession also writes the columns that never change otherwise.
	rewriteSession = `
insert into session (key, parent, principal, label, calls, created, seen, height) values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (key) do update set parent = excluded.parent, principal = excluded.principal, label = excluded.label, calls = excluded.calls,
	created = excluded.created, seen = excluded.seen, height = excluded.height`

	// raiseHeights raises those that are too low by one step.
	raiseHeights = `update session set height = (select max(c.height) + 1 from session c where c.parent = session.key)
where key <> '' and height < (select max(c.height) + 1 from session c where c.parent = session.key)`

	countSessions = `select count(*) from session`
)

// keyColumns are the columns that name the rows of the tables of the state.
var keyColumns = map[string]string{record.SessionTable: "key", record.TaintTable: "resource", record.QuestionTable: "id", record.ValueTable: "id"}

// Rebuild writes the rows with these names as the log proves them, and removes those that it does not, with the entry
// that tells of it, in one transaction. The caller has verified the log. No event has the text of a question: a
// question whose text is lost is removed, which the log tells of too. A session that is missing, and of which no entry
// tells the calls, gets at least as many as it had. A value whose body is lost stays, and cannot be read.
func (d *repair) Rebuild(ctx context.Context, names []record.Kept, note func(Rebuilt) (audit.Entry, error)) (done Rebuilt, err error) {
	o := &op{alone: true, long: true}
	o.run = func(ctx context.Context, u *unit) (err error) {
		b := rebuilding{unit: u}
		for i := range names {
			if err := b.row(ctx, &names[i]); err != nil {
				return u.fail(err)
			}
		}
		if err := b.settleSessions(ctx); err != nil {
			return u.fail(err)
		}
		done = b.done
		entry, err := note(done)
		if err == nil {
			o.entries, err = []audit.Entry{entry}, check([]audit.Entry{entry})
		}
		return u.fail(err)
	}
	if err := d.do(ctx, o); err != nil {
		return Rebuilt{}, err
	}
	return done, nil
}

// A rebuilding writes rows of the state as the log proves them, in a write transaction.
type rebuilding struct {
	*unit
	done Rebuilt
}

// row writes or removes one row.
func (u *rebuilding) row(ctx context.Context, name *record.Kept) error {
	column := keyColumns[name.Table]
	if column == "" {
		return fmt.Errorf("there is no table %q", name.Table)
	}
	proved, err := u.prove(ctx, name.Chain(), nil, true)
	if err != nil {
		return err
	}
	row := record.Kept{State: record.State{Gone: "unproved"}}
	if proved != nil {
		if found, ok := proved.rows.get(name.Key); ok {
			row = found
		}
	}
	if row.Gone == "" {
		written, err := u.rewrite(ctx, &row)
		if err != nil || written {
			u.done.Written++
			return err
		}
		u.keep(row.Left("its text is lost"))
	}
	u.done.Removed++
	_, err = u.change(ctx, fmt.Sprintf(removeRow, name.Table, column), name.Key)
	return err
}

// rewrite writes a row as it is proved, and reports whether that could be done.
func (u *rebuilding) rewrite(ctx context.Context, row *record.Kept) (bool, error) {
	text, err := formatLabel(row.Label)
	if err != nil {
		return false, err
	}
	switch row.Table {
	case record.TaintTable:
		_, err = u.change(ctx, writeTaint, row.Key, text, row.Created, row.Expires)
	case record.SessionTable:
		err = u.rewriteSession(ctx, row, text)
	case record.QuestionTable:
		body := []byte{}
		if err := u.read(ctx, readBody, func(rows *sql.Rows) error { return rows.Scan(&body) }, row.Key); err != nil {
			return false, err
		}
		if saltedDigest(row.Key, body) != row.Digest {
			if body = []byte{}; saltedDigest(row.Key, body) != row.Digest {
				return false, nil
			}
		}
		_, err = u.change(ctx, rewriteQuestion, row.Key, row.Principal, row.Session, row.Binding, notNil(body), row.Answer, row.Created, row.Expires)
	case record.ValueTable:
		err = u.rewriteValue(ctx, row, text)
	}
	return err == nil, err
}

// rewriteValue writes a value as it is proved. One whose body is lost stays, with none: a count of bits goes on.
func (u *rebuilding) rewriteValue(ctx context.Context, row *record.Kept, text string) error {
	body := []byte{}
	if err := u.read(ctx, readValue, func(rows *sql.Rows) error { return rows.Scan(&body) }, row.Key); err != nil {
		return err
	}
	if saltedDigest(row.Key, body) != row.Digest {
		lost := *row
		body, lost.Digest = []byte{}, saltedDigest(row.Key, nil)
		row = &lost
		if u.keep(lost); u.failed != nil {
			return u.failed
		}
	}
	_, err := u.change(ctx, writeValue, row.Key, row.Principal, row.Session, text, row.Note, row.Digest, len(body), row.Created, notNil(body))
	return err
}

func (u *rebuilding) rewriteSession(ctx context.Context, row *record.Kept, text string) error {
	var calls, seen, height, decisions, last int64
	err := u.read(ctx, readUse, func(rows *sql.Rows) error { return rows.Scan(&calls, &seen, &height) }, row.Key)
	if err == nil {
		err = u.read(ctx, countCalls, func(rows *sql.Rows) error { return rows.Scan(&decisions, &last) }, row.Key)
	}
	if err != nil {
		return err
	}
	if seen == 0 { // it is missing
		calls = decisions
	}
	proved, err := u.counted(ctx, &u.prover.proofs, row.Key)
	if err != nil {
		return err
	}
	if proved != nil {
		calls = *proved
	}
	_, err = u.change(ctx, rewriteSession, row.Key, row.Parent, row.Principal, text, calls, row.Created, max(seen, last, row.Created), height)
	return err
}

// settleSessions corrects the heights and the number of the sessions that there are.
func (u *rebuilding) settleSessions(ctx context.Context) error {
	for range store.MaxDepth {
		n, err := u.change(ctx, raiseHeights)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	if err := u.read(ctx, countSessions, func(rows *sql.Rows) error { return rows.Scan(&u.sessions) }); err != nil {
		return err
	}
	u.wrote = true
	return u.fail(u.writeState(ctx))
}
