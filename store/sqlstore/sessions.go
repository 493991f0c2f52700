package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

var _ store.Backend = (*DB)(nil)

// Open implements [store.Store]. What needs no write is one query.
func (d *DB) Open(ctx context.Context, ref store.Ref, lim store.Limits) (store.Session, []store.Rise, error) {
	return d.OpenNoted(ctx, ref, lim, nil)
}

// OpenNoted opens like Open, and appends the entry that note makes for each label that rises to the log in the same transaction.
// An error of note means that nothing was opened. It may be called more than once, and must not use the database. Nil notes nothing.
func (d *DB) OpenNoted(ctx context.Context, ref store.Ref, lim store.Limits, note func(store.Rise) (audit.Entry, error)) (
	s store.Session, rises []store.Rise, err error) {
	if err := cmp.Or(ctx.Err(), ref.Check()); err != nil {
		return store.Session{}, nil, err
	}
	s, ok, err := d.session(ctx, ref.Key)
	if err != nil {
		return store.Session{}, nil, fmt.Errorf("opening session %q: %w", ref.Key, err)
	}
	if ok && s.Principal == ref.Principal && (ref.Parent == "" || ref.Parent == s.Parent) {
		return s, nil, nil
	}
	o := &op{sessions: []string{ref.Key, ref.Parent}}
	o.run = func(_ context.Context, u *unit) (err error) {
		if s, rises, err = u.draft.Open(ref, lim); err != nil || note == nil {
			return err
		}
		o.entries, err = noted(rises, note)
		u.failed = err // the draft has the session already
		return err
	}
	if err := d.writer.do(ctx, o); err != nil {
		return store.Session{}, nil, err
	}
	return s, rises, nil
}

// Join implements [store.Store].
func (d *DB) Join(ctx context.Context, key string, l label.Label, lim store.Limits) (store.Session, []store.Rise, error) {
	return d.JoinNoted(ctx, key, l, lim)
}

// JoinNoted joins like Join, and appends the entries to the log in the same transaction, even if nothing rises.
func (d *DB) JoinNoted(ctx context.Context, key string, l label.Label, lim store.Limits, entries ...audit.Entry) (
	s store.Session, rises []store.Rise, err error) {
	if err := check(entries); err != nil {
		return store.Session{}, nil, err
	}
	o := &op{sessions: []string{key}, entries: entries, run: func(_ context.Context, u *unit) (err error) {
		s, rises, err = u.draft.Join(key, l, lim)
		return err
	}}
	if err := d.writer.do(ctx, o); err != nil {
		return store.Session{}, nil, err
	}
	return s, rises, nil
}

// Count implements [store.Store].
func (d *DB) Count(ctx context.Context, key string) (n int64, err error) {
	o := &op{sessions: []string{key}, run: func(_ context.Context, u *unit) (err error) {
		n, err = u.draft.Count(key)
		return err
	}}
	if err := d.writer.do(ctx, o); err != nil {
		return 0, err
	}
	return n, nil
}

// Tally counts one call of the session, like Count, but within [Options].Linger. A session that is not there is not counted.
func (d *DB) Tally(ctx context.Context, key string) error {
	return d.writer.later(ctx, &op{sessions: []string{key}, run: func(_ context.Context, u *unit) error {
		_, err := u.draft.Count(key)
		return err
	}})
}

// readSession reads the state, with a session if it is there.
const readSession = `select ` + stateColumns + `, case when s.key is null then 0 else 1 end, coalesce(s.parent, ''), coalesce(s.principal, ''),
	coalesce(s.label, '{}'), coalesce(s.calls, 0), coalesce(s.created, 0), coalesce(s.seen, 0)
from state t left join session s on s.key = $1 where t.id = 1`

// session reads one session, and compares it with the log: in a transaction, if it does not fit what was read before.
func (d *DB) session(ctx context.Context, key string) (s store.Session, ok bool, err error) {
	check, err := d.since()
	if err != nil {
		return s, false, err
	}
	r := recentSession{}
	if d.recent.text != "" {
		r, err = d.recent.get(ctx, key)
	} else {
		err = d.reads.query(ctx, readSession, r.scan, key)
	}
	if err = r.missing(err); err == nil {
		if err = check(ctx, &d.reads, r.head); err != nil {
			return s, false, err
		}
		r.Key = key
		err = d.settled(ctx, d.snapshot(&d.reads, r.headRow), d.claimOf(key, &r))
	}
	if unsettled(err) {
		r, err = d.provenSession(ctx, key)
	}
	return r.Session, r.there && err == nil, err
}

// Get implements [store.Store].
func (d *DB) Get(ctx context.Context, key string) (store.Session, error) {
	if err := ctx.Err(); err != nil {
		return store.Session{}, err
	}
	s, ok, err := d.session(ctx, key)
	if err == nil && !ok {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Session{}, fmt.Errorf("reading session %q: %w", key, err)
	}
	return s, nil
}

// listSessions reads sessions after one, the newest first.
const listSessions = `select ` + sessionColumns + ` from session s
where ($1 = '' or s.principal = $1) and (s.created < $2 or (s.created = $2 and s.key > $3))
order by s.created desc, s.key limit 200`

// List implements [store.Store].
func (d *DB) List(ctx context.Context, principal string) iter.Seq2[store.Session, error] {
	type place struct {
		created int64
		key     string
	}
	return pages(ctx, pageSize, place{created: math.MaxInt64}, func(at place) ([]store.Session, place, error) {
		var page []store.Session
		err := d.reads.query(ctx, listSessions, func(rows *sql.Rows) error {
			r, err := scanSession(rows)
			page, at = append(page, r.Session), place{micros(r.Created), r.Key}
			return err
		}, principal, at.created, at.key)
		return page, at, err
	})
}

// pageSize is how many sessions, questions, pins or taints a query lists.
const pageSize = 200

// pages iterates over pages of full items each, but for the last one. Each begins at a place and ends at another.
func pages[T, P any](ctx context.Context, full int, start P, read func(P) ([]T, P, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for at := start; ; {
			if err := ctx.Err(); err != nil {
				yield(none, err)
				return
			}
			page, next, err := read(at)
			if err != nil {
				yield(none, err)
				return
			}
			for _, x := range page {
				if err := ctx.Err(); err != nil {
					yield(none, err)
					return
				}
				if !yield(x, nil) {
					return
				}
			}
			if len(page) < full {
				return
			}
			at = next
		}
	}
}

// noted returns the entries that note makes for the rises.
func noted(rises []store.Rise, note func(store.Rise) (audit.Entry, error)) ([]audit.Entry, error) {
	entries := make([]audit.Entry, 0, len(rises))
	for _, r := range rises {
		entry, err := note(r)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, check(entries)
}

func check(entries []audit.Entry) error {
	if err := own(entries); err != nil {
		return err
	}
	for i := range entries {
		if err := entries[i].Check(); err != nil {
			return err
		}
	}
	return nil
}
