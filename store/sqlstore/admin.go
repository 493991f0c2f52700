package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// admin implements [store.Custodian].
type admin struct{ *writer }

// Lower implements [store.Custodian].
func (d *admin) Lower(ctx context.Context, key string, drop label.Label) ([]store.Rise, error) {
	return d.LowerNoted(ctx, key, drop)
}

// LowerNoted lowers like Lower, and appends the entries to the log in the same transaction.
func (d *admin) LowerNoted(ctx context.Context, key string, drop label.Label, entries ...audit.Entry) (changes []store.Rise, err error) {
	if err := check(entries); err != nil {
		return nil, err
	}
	err = d.do(ctx, &op{alone: true, entries: entries, run: func(ctx context.Context, u *unit) (err error) {
		if err := u.family(ctx, key); err != nil {
			return err
		}
		changes, err = u.draft.Lower(key, drop)
		return err
	}})
	if err != nil {
		return nil, err
	}
	return changes, nil
}

// End implements [store.Custodian].
func (d *admin) End(ctx context.Context, key string) ([]string, error) { return d.EndNoted(ctx, key) }

// EndNoted ends like End, and appends the entries to the log in the same transaction.
func (d *admin) EndNoted(ctx context.Context, key string, entries ...audit.Entry) (keys []string, err error) {
	if err := check(entries); err != nil {
		return nil, err
	}
	err = d.do(ctx, &op{alone: true, entries: entries, run: func(ctx context.Context, u *unit) error {
		if err := u.family(ctx, key); err != nil {
			return err
		}
		found, err := u.draft.Descendants(key)
		if err != nil {
			return err
		}
		keys = found
		if err := dropValues(ctx, u, found, "removed"); err != nil {
			return err
		}
		for _, k := range found {
			if _, err := u.change(ctx, removeSession, k); err != nil {
				return err
			}
			s, _ := u.draft.Get(k)
			gone := keptSession(&s)
			u.keep(gone.Left("removed"))
		}
		u.sessions -= int64(len(found))
		return u.fail(u.writeState(ctx))
	}})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// Expire implements [store.Custodian], in transactions of some hundred rows. A session or a label of a resource goes if
// the log proves that it is as old as its row says, and the log tells of that; one that is damaged stays. The chain of
// a question proves when it expires.
func (d *admin) Expire(ctx context.Context, seen time.Time) (out store.Expired, err error) {
	sessions := func(ctx context.Context, u *unit, after string) (string, int64, error) {
		return (&expiry{u}).sessions(ctx, micros(seen), after)
	}
	for more := true; more; { // once again for the parents of those that went
		n, err := d.expire(ctx, sessions)
		if err != nil {
			return store.Expired{}, err
		}
		out.Sessions, more = out.Sessions+n, n > 0
	}
	if out.Taints, err = d.expire(ctx, func(ctx context.Context, u *unit, after string) (string, int64, error) {
		return (&expiry{u}).taints(ctx, after)
	}); err != nil {
		return store.Expired{}, err
	}
	err = d.do(ctx, &op{alone: true, run: func(ctx context.Context, u *unit) (err error) {
		out.Questions, err = u.change(ctx, expireQuestions, micros(u.now()))
		return err
	}})
	if err != nil {
		return store.Expired{}, err
	}
	return out, nil
}

// expire has rows removed, some in each transaction. The next one begins after the last key that was looked at.
func (d *admin) expire(ctx context.Context,
	some func(ctx context.Context, u *unit, after string) (last string, n int64, err error)) (removed int64, err error) {
	for after := ""; ; {
		var n int64
		last := ""
		err := d.do(ctx, &op{alone: true, run: func(ctx context.Context, u *unit) (err error) {
			last, n, err = some(ctx, u, after)
			return u.fail(err)
		}})
		if err != nil {
			return 0, err
		}
		if removed += n; last == "" {
			return removed, nil
		}
		after = last
	}
}

// Holds reports whether an entry of the state, which the caller has checked, is needed as a proof: a row is there that
// its chain is named after, or should be there by the last entry of the chain. So is each of a chain that is damaged.
func (d *admin) Holds(ctx context.Context, r *audit.Row) (holds bool, err error) {
	k, err := record.ParseState(r.Body)
	text, ok := holders[k.Table]
	if err != nil || !ok {
		return true, nil // it should not be there, and stays for who looks
	}
	key, now := k.Key, micros(d.now())
	switch k.Table {
	case record.QuestionTable:
		key, now = k.Binding, micros(d.clock())
	case record.ValueTable:
		key = k.Session
	}
	err = d.reads.query(ctx, text, func(*sql.Rows) error { holds = true; return nil }, key)
	if err != nil || holds {
		return true, err
	}
	if k.Table == record.QuestionTable { // each event says when it expires
		return k.Live(now), nil
	}
	var end *proof
	err = d.still(ctx, func(s *snapshot) (err error) {
		end, err = s.prove(ctx, k.Chain(), nil, k.Table == record.ValueTable)
		return err
	})
	switch {
	case errors.Is(err, audit.ErrDamaged):
		return true, nil
	case err != nil:
		return true, err
	case end == nil: // a newer entry was erased
		return false, nil
	}
	for row := range end.rows.all() {
		holds = holds || row.Live(now)
	}
	return holds, nil
}

// holders find rows by the words in the names of their chains.
var holders = map[string]string{
	record.SessionTable:  `select 1 from session where key = $1`,
	record.TaintTable:    `select 1 from taint where resource = $1`,
	record.QuestionTable: `select 1 from question where binding = $1 limit 1`,
	record.ValueTable:    `select 1 from hidden where session = $1 limit 1`,
}

const (
	removeSession = `delete from session where key = $1`

	// overdueSessions are those without children that were not heard of since a time, as their rows have it; their
	// parents' turn comes next.
	overdueSessions = `select ` + sessionColumns + ` from session s where s.seen < $1 and s.key > $2
	and not exists (select 1 from session c where c.parent = s.key and c.parent <> '') order by s.key limit 200`
	overdueTaints   = `select ` + taintColumns + ` from taint where expires > 0 and expires <= $1 and resource > $2 order by resource limit 200`
	removeTaint     = `delete from taint where resource = $1`
	expireQuestions = `delete from question where expires <= $1`
)

// An expiry removes rows that have expired, in a write transaction.
type expiry struct{ *unit }

// sessions removes some of those that were heard of last before a time.
func (u *expiry) sessions(ctx context.Context, seen int64, after string) (last string, n int64, err error) {
	var found []record.Kept
	err = u.read(ctx, overdueSessions, func(rows *sql.Rows) error {
		r, err := scanSession(rows)
		k, err := legible(keptSession(&r.Session), err)
		found = append(found, k)
		return err
	}, seen, after)
	if err == nil {
		last, n, err = u.remove(ctx, removeSession, found, seen, func(ctx context.Context, k *record.Kept) (bool, error) {
			return u.unheard(ctx, k, seen)
		})
	}
	if err != nil || n == 0 {
		return last, 0, err
	}
	u.unit.sessions -= n
	return last, n, u.fail(u.writeState(ctx))
}

// unheard reports whether a session is as the log proves, and was not heard of there since a time. The columns of an
// entry are believed only with the digest of its leaf.
func (u *expiry) unheard(ctx context.Context, k *record.Kept, seen int64) (bool, error) {
	if sound, err := u.intact(ctx, k); err != nil || !sound {
		return false, err
	}
	for _, chain := range [...]string{k.Chain(), k.Key} {
		old, err := u.quiet(ctx, chain, seen)
		if errors.Is(err, audit.ErrDamaged) {
			_ = u.prover.damage(k, -1, "the end of its chain is missing or was changed") // which the log tells of
			return false, nil
		}
		if err != nil || !old {
			return false, err
		}
	}
	return true, nil
}

// quiet reports whether a chain has no entry since a time. That its last entry is the one that is found, the head
// tells.
func (u *expiry) quiet(ctx context.Context, chain string, seen int64) (bool, error) {
	link, err := u.ending(ctx, chain, nil)
	if err != nil {
		return false, err
	}
	old, found := true, link == nil
	err = u.read(ctx, readEnd, func(rows *sql.Rows) error {
		r, err := scanRow(rows)
		if err != nil {
			return err
		}
		_, err = r.Check()
		old = err == nil && micros(r.Time) < seen
		found = found || tlog.RecordHash(r.Leaf) == link.Last
		return nil
	}, chain, 1)
	if err == nil && !found {
		err = fmt.Errorf("%w: the last entry of the chain %.200q is missing or was changed", audit.ErrDamaged, chain)
	}
	return old, err
}

// intact reports whether a row is as the log proves, which tells of it if not.
func (u *expiry) intact(ctx context.Context, k *record.Kept) (bool, error) {
	err := u.settled(ctx, k, []record.Kept{*k})
	if errors.Is(err, store.ErrState) {
		return false, nil
	}
	return err == nil, err
}

// taints removes some of those that have expired.
func (u *expiry) taints(ctx context.Context, after string) (last string, n int64, err error) {
	var found []record.Kept
	err = u.read(ctx, overdueTaints, func(rows *sql.Rows) error {
		t, err := scanTaint(rows)
		k, err := legible(keptTaint(&t), err)
		found = append(found, k)
		return err
	}, micros(u.steady()), after)
	if err != nil {
		return "", 0, err
	}
	return u.remove(ctx, removeTaint, found, 0, u.intact)
}

// remove removes those of the rows that pass a check, and returns the last key and how many they were. The log tells of
// a time with them.
func (u *expiry) remove(ctx context.Context, text string, rows []record.Kept, expires int64,
	check func(context.Context, *record.Kept) (bool, error)) (last string, n int64, err error) {
	for i := range rows {
		k := &rows[i]
		passes, err := check(ctx, k)
		if err == nil && passes {
			_, err = u.change(ctx, text, k.Key)
		}
		if err == nil && passes && k.Table == record.SessionTable {
			err = dropValues(ctx, u.unit, []string{k.Key}, record.Expired)
		}
		if err != nil {
			return "", 0, err
		}
		if last = k.Key; passes {
			gone := k.Left(record.Expired)
			gone.Expires = expires
			u.keep(gone)
			n++
		}
	}
	return last, n, nil
}
