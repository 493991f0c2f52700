package sqlstore

import (
	"context"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

const (
	// readFamily reads a session and all its descendants.
	readFamily = `
with recursive family (key) as (
	select key from session where key = $1
	union
	select c.key from session c join family f on c.parent = f.key and c.parent <> ''
)
select ` + sessionColumns + ` from session s join family f on s.key = f.key`

	removeSession = `delete from session where key = $1`

	// expireSessions removes those without children; their parents' turn comes next.
	expireSessions = `delete from session where seen < $1 and not exists
	(select 1 from session c where c.parent = session.key and c.parent <> '')`
	expireQuestions = `delete from question where expires <= $1`
	expireTaints    = `delete from taint where expires > 0 and expires <= $1`
)

// Lower implements [store.Custodian].
func (d *DB) Lower(ctx context.Context, key string, drop label.Label) ([]store.Rise, error) {
	return d.LowerNoted(ctx, key, drop)
}

// LowerNoted lowers like Lower, and appends the entries to the log in the same transaction.
func (d *DB) LowerNoted(ctx context.Context, key string, drop label.Label, entries ...audit.Entry) (changes []store.Rise, err error) {
	if err := check(entries); err != nil {
		return nil, err
	}
	err = d.writer.do(ctx, &op{alone: true, entries: entries, run: func(ctx context.Context, u *unit) (err error) {
		if err := u.read(ctx, readFamily, u.put, key); err != nil {
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
func (d *DB) End(ctx context.Context, key string) ([]string, error) { return d.EndNoted(ctx, key) }

// EndNoted ends like End, and appends the entries to the log in the same transaction.
func (d *DB) EndNoted(ctx context.Context, key string, entries ...audit.Entry) (keys []string, err error) {
	if err := check(entries); err != nil {
		return nil, err
	}
	err = d.writer.do(ctx, &op{alone: true, entries: entries, run: func(ctx context.Context, u *unit) error {
		if err := u.read(ctx, readFamily, u.put, key); err != nil {
			return err
		}
		found, err := u.draft.Descendants(key)
		if err != nil {
			return err
		}
		keys = found
		for _, k := range found {
			if _, err := u.change(ctx, removeSession, k); err != nil {
				return err
			}
		}
		u.sessions -= int64(len(found))
		return u.saveState(ctx)
	}})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// saveState writes the state for an op that has changed it.
func (u *unit) saveState(ctx context.Context) error {
	err := u.writeState(ctx)
	if err != nil && u.failed == nil {
		u.failed = err
	}
	return err
}

// Expire implements [store.Custodian].
func (d *DB) Expire(ctx context.Context, seen time.Time) (out store.Expired, err error) {
	err = d.writer.do(ctx, &op{alone: true, run: func(ctx context.Context, u *unit) error {
		out = store.Expired{}
		for {
			n, err := u.change(ctx, expireSessions, micros(seen))
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			out.Sessions += n
		}
		now := micros(u.now())
		if out.Questions, err = u.change(ctx, expireQuestions, now); err != nil {
			return err
		}
		if out.Taints, err = u.change(ctx, expireTaints, now); err != nil {
			return err
		}
		u.sessions -= out.Sessions
		return u.saveState(ctx)
	}})
	if err != nil {
		return store.Expired{}, err
	}
	return out, nil
}
