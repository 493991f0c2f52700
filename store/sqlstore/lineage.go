package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// readLineage reads sessions and all their ancestors.
const readLineage = `
with recursive lineage (key, parent) as (
	select key, parent from session where key in %s
	union
	select a.key, a.parent from session a join lineage l on a.key = l.parent
)
select ` + sessionColumns + ` from session s join lineage l on s.key = l.key`

// put puts a session that was read into the draft.
func (u *unit) put(rows *sql.Rows) error {
	r, err := scanSession(rows)
	if err == nil {
		u.draft.Put(r)
	}
	return err
}

// check compares sessions of the draft with the log, and remembers those that are not as it proves.
func (u *unit) check(ctx context.Context, keys ...string) error {
	chains := make([]string, len(keys))
	for i, key := range keys {
		name := keptSession(&store.Session{Key: key})
		chains[i] = name.Chain()
	}
	if err := u.load(ctx, append(chains, keys...)...); err != nil {
		return err
	}
	for _, key := range keys {
		if _, known := u.proven[key]; known || u.damaged[key] != nil {
			continue
		}
		var rows []record.Kept
		name := keptSession(&store.Session{Key: key})
		if s, ok := u.draft.Get(key); ok {
			rows = append(rows, keptSession(&s))
		}
		err := u.settled(ctx, &name, rows)
		if err == nil && len(rows) > 0 {
			err = u.recount(ctx, key)
		}
		switch {
		case errors.Is(err, store.ErrState):
			u.damaged[key] = err
		case err != nil:
			return err
		case len(rows) > 0:
			s, _ := u.draft.Get(key)
			u.proven[key] = keptWithCalls(&s)
		}
	}
	return nil
}

// sound returns the damage of the sessions or of their ancestors.
func (u *unit) sound(keys ...string) error {
	for _, key := range keys {
		for key != "" {
			if err := u.damaged[key]; err != nil {
				return err
			}
			s, ok := u.draft.Get(key)
			if !ok {
				break
			}
			key = s.Parent
		}
	}
	return nil
}

const readFamily = `
with recursive family (key) as (
	select key from session where key = $1
	union
	select c.key from session c join family f on c.parent = f.key and c.parent <> ''
)
select ` + sessionColumns + ` from session s join family f on s.key = f.key`

// family puts a session and all its descendants into the draft. The error is also of one that is not as the log proves.
func (u *unit) family(ctx context.Context, key string) error {
	err := u.read(ctx, readFamily, u.put, key)
	keys := u.draft.Keys()
	if err == nil {
		err = u.check(ctx, keys...)
	}
	return cmp.Or(u.fail(err), u.sound(keys...))
}

const (
	writeCalls    = `update session set calls = $1 where key = $2`
	writeSessions = `
insert into session (key, parent, principal, label, calls, created, seen, height) values %s
on conflict (key) do update set parent = excluded.parent, label = excluded.label, calls = excluded.calls,
	seen = excluded.seen, height = excluded.height`
)

// writeSessions writes the rows of sessions. Where the number of calls alone is another, no index changes.
func (u *unit) writeSessions(ctx context.Context, changed []*store.Row) error {
	u.wrote = true
	var values []any
	for _, r := range changed {
		if was, ok := u.rows[r.Key]; ok && was.Parent == r.Parent && was.Seen.Equal(r.Seen) && was.Height == r.Height && was.Label.Equal(r.Label) {
			if _, err := u.exec(ctx, writeCalls, r.Calls, r.Key); err != nil {
				return err
			}
			continue
		}
		text, err := formatLabel(r.Label)
		if err != nil {
			return err
		}
		values = append(values, r.Key, r.Parent, r.Principal, text, r.Calls, micros(r.Created), micros(r.Seen), r.Height)
	}
	return u.insert(ctx, writeSessions, 8, values)
}

// keepSessions has the log tell of the sessions that changed, but for those of which only the calls did, if entries
// tell of these.
func (u *unit) keepSessions(changed []*store.Row, told map[string]bool) {
	for _, r := range changed {
		k := keptSession(&r.Session)
		before, ok := u.proven[r.Key]
		if ok && before.Same(&k) && (told[r.Key] || *before.Calls == r.Calls) {
			continue
		}
		calls := r.Calls
		k.Calls = &calls
		u.keep(k)
	}
}

// recount gives a session of the draft the number of calls that the log proves. The error of damage is an [ErrState].
func (u *unit) recount(ctx context.Context, key string) error {
	n, err := u.counted(ctx, &u.prover.proofs, key)
	switch {
	case errors.Is(err, audit.ErrDamaged):
		name := keptSession(&store.Session{Key: key})
		return u.prover.told(doubtful(&name, -1, err.Error()))
	case err == nil && n != nil:
		u.draft.Recount(key, *n)
	}
	return err
}

// tell has the last entry of each chain of a session tell how many calls the session has made, or an event of its row
// if the entry cannot. It returns the sessions of which the number is told.
func (u *unit) tell(ctx context.Context, entries []audit.Entry) (told map[string]bool, err error) {
	last, told := map[string]int{}, map[string]bool{}
	var chains []string
	for i := range entries {
		chain := entries[i].Chain
		if _, known := last[chain]; !known && sessional(chain) {
			name := keptSession(&store.Session{Key: chain})
			chains = append(chains, chain, name.Chain())
		}
		last[chain] = i
	}
	if err := u.load(ctx, chains...); err != nil {
		return nil, err
	}
	for i := 0; i < len(chains); i += 2 {
		key := chains[i]
		n, err := u.calls(ctx, key)
		if err != nil {
			return nil, err
		}
		if n == nil {
			continue
		}
		told[key] = true
		body, ok := record.WithCalls(entries[last[key]].Body, *n)
		if ok && len(body) <= audit.MaxBody {
			entries[last[key]].Body = body
		} else if err := u.retell(ctx, key, n); err != nil {
			return nil, err
		}
	}
	return told, nil
}

// calls returns how many calls a session has made when the transaction ends; nil if no entry tells.
func (u *unit) calls(ctx context.Context, key string) (*int64, error) {
	if s, ok := u.draft.Get(key); ok && u.damaged[key] == nil {
		return &s.Calls, nil
	}
	n, err := u.counted(ctx, &u.prover.proofs, key)
	if errors.Is(err, audit.ErrDamaged) {
		many := int64(manyCalls)
		return &many, nil
	}
	return n, err
}

// retell has an event of a session's row tell how many calls it has made.
func (u *unit) retell(ctx context.Context, key string, calls *int64) error {
	name := keptSession(&store.Session{Key: key})
	proved, err := u.prove(ctx, name.Chain(), u.prover.proofs.get(name.Chain()), false)
	if err != nil || proved == nil {
		return undamaged(err)
	}
	if row, ok := proved.rows.get(key); ok && row.Gone == "" {
		row.Calls = calls
		u.keep(row)
	}
	return nil
}
