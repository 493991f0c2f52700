package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

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
	if err := u.load(ctx, chains...); err != nil {
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
		switch {
		case errors.Is(err, store.ErrState):
			u.damaged[key] = err
		case err != nil:
			return err
		case len(rows) > 0:
			u.proven[key] = rows[0]
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

// family puts a session and all its descendants into the draft. The error is also of one that is not what the log proves.
func (u *unit) family(ctx context.Context, key string) error {
	err := u.read(ctx, readFamily, u.put, key)
	keys := u.draft.Keys()
	if err == nil {
		err = u.check(ctx, keys...)
	}
	return cmp.Or(u.fail(err), u.sound(keys...))
}

const writeSessions = `
insert into session (key, parent, principal, label, calls, created, seen, height) values %s
on conflict (key) do update set parent = excluded.parent, label = excluded.label, calls = excluded.calls,
	seen = excluded.seen, height = excluded.height`

// writeSessions writes the rows of sessions.
func (u *unit) writeSessions(ctx context.Context, changed []*store.Row) error {
	values := make([]any, 0, len(changed)*8)
	for _, r := range changed {
		text, err := formatLabel(r.Label)
		if err != nil {
			return err
		}
		values = append(values, r.Key, r.Parent, r.Principal, text, r.Calls, micros(r.Created), micros(r.Seen), r.Height)
	}
	u.wrote = true
	return u.insert(ctx, writeSessions, 8, values)
}

// keepSessions has the log tell of the sessions whose rows changed in more than what a call counts.
func (u *unit) keepSessions(changed []*store.Row) {
	for _, r := range changed {
		k := keptSession(&r.Session)
		if before, ok := u.proven[r.Key]; !ok || !before.Same(&k) {
			u.keep(k)
		}
	}
}
