package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// sessions implement [store.Store].
type sessions struct{ *writer }

// Open implements [store.Store]. Opening without a write is one query.
func (d *sessions) Open(ctx context.Context, ref store.Ref, lim store.Limits) (store.Session, []store.Rise, error) {
	return d.OpenNoted(ctx, ref, lim, nil)
}

// OpenNoted opens like Open, and appends the entry that note makes for each label that rises to the log in the same
// transaction. An error of note means that nothing was opened. It may be called more than once, and must not use the
// database. Nil notes nothing.
func (d *sessions) OpenNoted(ctx context.Context, ref store.Ref, lim store.Limits, note func(store.Rise) (audit.Entry, error)) (
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
	if err := d.do(ctx, o); err != nil {
		return store.Session{}, nil, err
	}
	return s, rises, nil
}

// Join implements [store.Store].
func (d *sessions) Join(ctx context.Context, key string, l label.Label, lim store.Limits) (store.Session, []store.Rise, error) {
	return d.JoinNoted(ctx, key, l, lim)
}

// JoinNoted joins like Join, and appends the entries to the log in the same transaction, even if nothing rises.
func (d *sessions) JoinNoted(ctx context.Context, key string, l label.Label, lim store.Limits, entries ...audit.Entry) (
	s store.Session, rises []store.Rise, err error) {
	if err := check(entries); err != nil {
		return store.Session{}, nil, err
	}
	o := &op{sessions: []string{key}, entries: entries, run: func(_ context.Context, u *unit) (err error) {
		s, rises, err = u.draft.Join(key, l, lim)
		return err
	}}
	if err := d.do(ctx, o); err != nil {
		return store.Session{}, nil, err
	}
	return s, rises, nil
}

// Decided appends entries about a decision on a session, if it is as it was decided on (see [store.Session.Still]), and
// counts the call that may go by it, if counts is set. It returns the number of calls of the session, with this one.
func (d *sessions) Decided(ctx context.Context, on store.Session, counts bool, entries ...audit.Entry) (calls int64, err error) {
	if err := check(entries); err != nil {
		return 0, err
	}
	err = d.do(ctx, &op{sessions: []string{on.Key}, entries: entries, run: func(_ context.Context, u *unit) error {
		now, _ := u.draft.Get(on.Key)
		calls = now.Calls
		err := on.Still(now)
		if err == nil && counts {
			calls, err = u.draft.Count(on.Key)
		}
		return err
	}})
	if err != nil {
		return 0, err
	}
	return calls, nil
}

// Count implements [store.Store].
func (d *sessions) Count(ctx context.Context, key string) (n int64, err error) {
	o := &op{sessions: []string{key}, run: func(_ context.Context, u *unit) (err error) {
		n, err = u.draft.Count(key)
		return err
	}}
	if err := d.do(ctx, o); err != nil {
		return 0, err
	}
	return n, nil
}

// Tally counts one call of the session, like Count, but within [Options].Linger. A session that is not there is not
// counted.
func (d *sessions) Tally(ctx context.Context, key string) error {
	return d.later(ctx, &op{sessions: []string{key}, run: func(_ context.Context, u *unit) error {
		_, err := u.draft.Count(key)
		return err
	}})
}

// session reads one session, and compares it with the log, unless it is remembered.
func (d *sessions) session(ctx context.Context, key string) (store.Session, bool, error) {
	var r recentSession
	known := false
	at, err := d.recall(ctx, func(m *recent) { r, known = m.sessions.Get(key) })
	if err == nil && !known {
		if r, err = d.readSession(ctx, key); err == nil {
			d.remember(at, func(m *recent) { m.sessions.Set(key, r) })
		}
	}
	return r.Session, r.there && err == nil, err
}

// readSession reads one session, and compares it with the log: in a transaction, if it does not fit the rows read
// before.
func (d *sessions) readSession(ctx context.Context, key string) (recentSession, error) {
	check, err := d.since()
	if err != nil {
		return recentSession{}, err
	}
	r := sessionRow{}
	if err = r.missing(d.reads.query(ctx, readSession, r.scan, key)); err == nil {
		if err = check(ctx, &d.reads, r.head); err != nil {
			return recentSession{}, err
		}
		r.Key = key
		err = d.prove(ctx, d.snapshot(&d.reads, r.headRow), &r.recentSession)
	}
	if unsettled(err) {
		r, err = d.provenSession(ctx, key)
	}
	return r.recentSession, err
}

// provenSession compares a session, or that there is none, with the log, in a transaction that reads.
func (d *sessions) provenSession(ctx context.Context, key string) (r sessionRow, err error) {
	err = d.still(ctx, func(s *snapshot) error {
		r = sessionRow{}
		if err := s.query(ctx, readSession, r.scan, key); err != nil {
			return err
		}
		r.Key = key
		return d.prove(ctx, s, &r.recentSession)
	})
	return r, err
}

// prove compares a session, or that there is none, with the log, and has it tell how many calls the log proves.
func (d *sessions) prove(ctx context.Context, s *snapshot, r *recentSession) error {
	c := d.claimOf(r.Key, r)
	if err := d.settled(ctx, s, c); err != nil || !r.there {
		return err
	}
	n, err := s.counted(ctx, &d.proofs, r.Key)
	switch {
	case errors.Is(err, audit.ErrDamaged):
		return doubtful(c.name, -1, err.Error())
	case err == nil && n != nil:
		r.Calls = *n
	}
	return err
}

func (d *sessions) claimOf(key string, r *recentSession) claim {
	name := keptSession(&store.Session{Key: key})
	c := claim{name: &name, known: d.proofs.get(name.Chain())}
	if r.there {
		c.rows = []record.Kept{keptSession(&r.Session)}
	}
	return c
}

// Get implements [store.Store].
func (d *sessions) Get(ctx context.Context, key string) (store.Session, error) {
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
func (d *sessions) List(ctx context.Context, principal string) iter.Seq2[store.Session, error] {
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

// A sessionRow is a session, if it is there, and the head of the log that it was read with.
type sessionRow struct {
	recentSession
	headRow
}

func (s *sessionRow) scan(rows *sql.Rows) error {
	var text []byte
	var created, seen int64
	if err := s.headRow.scan(rows, &s.there, &s.Parent, &s.Principal, &text, &s.Calls, &created, &seen); err != nil {
		return err
	}
	s.Created, s.Seen = fromMicros(created), fromMicros(seen)
	var err error
	s.Label, err = parseLabel(text)
	return err
}

// readSession reads the state, with a session if it is there.
const readSession = `select ` + stateColumns + `, case when s.key is null then 0 else 1 end, coalesce(s.parent, ''), coalesce(s.principal, ''),
	coalesce(s.label, '{}'), coalesce(s.calls, 0), coalesce(s.created, 0), coalesce(s.seen, 0)
from state t left join session s on s.key = $1 where t.id = 1`
