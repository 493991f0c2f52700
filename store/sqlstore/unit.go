package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// A unit is one write transaction: what it has read, and what it is going to write.
type unit struct {
	snapshot // as the transaction leaves it
	db       *DB
	ops      []*op // that it does
	doubt    *unit // the transaction before, if it is not known whether it was committed
	draft    *store.Draft
	anchor   *audit.Anchor // nil: what is sealed is not extended
	batch    *audit.Batch  // what was appended; nil if nothing
	before   audit.Head    // that the transaction extends
	closed   bool          // the ends of the chains are others, so an entry has to tell of it
	wrote    bool          // anything

	proven    map[string]record.Kept // sessions as they were read, and as the log proves them
	damaged   map[string]error       // sessions that are not as it does
	journal   []audit.Entry          // of the rows that change, after those of the ops
	journaled []record.Kept          // those rows
	enlisted  []string               // listed chains that begin

	failed error // the first error of a statement: the transaction is lost
}

func newUnit(db *DB, s *statements, ops []*op, doubt *unit) *unit {
	u := &unit{snapshot: snapshot{statements: s}, db: db, ops: ops, doubt: doubt, draft: store.NewDraft(),
		proven: map[string]record.Kept{}, damaged: map[string]error{}}
	u.draft.Now = db.clock()
	return u
}

const writeState = `update state set size = $1, edge = $2, sealed = $3, sessions = $4, ends = $5 where id = 1`

// all does the ops and writes the changes that they make.
func (u *unit) all(ctx context.Context) error {
	if err := u.begin(ctx); err != nil {
		return err
	}
	var entries []audit.Entry
	for _, o := range u.ops {
		if o.kept {
			continue
		}
		o.first = u.head.Size + int64(len(entries))
		if o.err = u.sound(o.sessions...); o.err == nil {
			o.err = o.perform(ctx, u)
		}
		if u.failed != nil {
			return u.failed
		}
		if o.err == nil {
			entries = append(entries, o.entries...)
		}
	}
	return u.end(ctx, entries)
}

// begin takes the lock of the writers and reads what the ops need.
func (u *unit) begin(ctx context.Context) error {
	u.anchor = u.db.anchor.Load()
	r, err := readHead(ctx, u.statements, u.db.dialect.lock)
	if err != nil {
		return err
	}
	u.snapshot = *u.db.snapshot(u.statements, r)
	if u.anchor != nil {
		if err := u.db.checkSealed(u.head); err != nil {
			return err
		}
		if err := u.anchor.Check(ctx, lasting(u.db, u.statements), u.head); err != nil {
			return err
		}
	}
	if err := u.resolve(ctx); err != nil {
		return err
	}
	u.before = u.head
	u.draft.Room = u.db.opts.MaxSessions - int(u.sessions)
	named := map[string]bool{}
	var keys []string
	for _, o := range u.ops {
		for _, key := range o.sessions {
			if key != "" && !named[key] {
				named[key] = true
				keys = append(keys, key)
			}
		}
	}
	if err := u.among(ctx, readLineage, keys, u.put); err != nil {
		return err
	}
	for _, key := range u.draft.Keys() {
		keys = append(keys, key)
		if s, _ := u.draft.Get(key); s.Parent != "" {
			keys = append(keys, s.Parent) // whose row may be missing
		}
	}
	if err := u.check(ctx, keys...); err != nil {
		return err
	}
	u.draft.Track()
	return nil
}

// end writes the sessions that changed, the entries and the state.
func (u *unit) end(ctx context.Context, entries []audit.Entry) error {
	changed, created := u.draft.Changed()
	if len(changed) > 0 {
		if err := u.writeSessions(ctx, changed); err != nil {
			return err
		}
		u.keepSessions(changed)
	}
	if u.failed != nil {
		return u.failed
	}
	if entries = append(entries, u.journal...); len(entries) > 0 {
		if err := u.append(ctx, entries); err != nil {
			return err
		}
	}
	switch {
	case u.batch != nil:
	case u.closed: // else a head could be shown in the place of another of its size
		return errors.New("the ends of chains change, and no entry tells of it")
	case created == 0:
		return nil
	}
	u.wrote = true
	u.sessions += int64(created)
	return u.writeState(ctx)
}

func (u *unit) writeState(ctx context.Context) error {
	_, err := u.statements.exec(ctx, writeState, u.head.Size, u.head.EdgeBytes(), notNil(u.head.Seal), u.sessions, notNil(u.ends.RootNode()))
	return err
}

// change runs a statement of an op's own, and returns how many rows it changed.
func (u *unit) change(ctx context.Context, text string, args ...any) (int64, error) {
	n, err := u.statements.exec(ctx, text, args...)
	if err != nil && u.failed == nil {
		u.failed = err
	}
	u.wrote = u.wrote || n > 0
	return n, err
}

// read runs a query of an op's own.
func (u *unit) read(ctx context.Context, text string, scan func(*sql.Rows) error, args ...any) error {
	err := u.statements.query(ctx, text, scan, args...)
	if err != nil && u.failed == nil {
		u.failed = err
	}
	return err
}

const sessionColumns = `s.key, s.parent, s.principal, s.label, s.calls, s.created, s.seen, s.height`

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

func scanSession(rows *sql.Rows) (r store.Row, err error) {
	var text []byte
	var created, seen int64
	err = rows.Scan(&r.Key, &r.Parent, &r.Principal, &text, &r.Calls, &created, &seen, &r.Height)
	if err != nil {
		return r, err
	}
	r.Created, r.Seen = fromMicros(created), fromMicros(seen)
	if r.Label, err = parseLabel(text); err != nil {
		return r, fmt.Errorf("session %q: %w", r.Key, err)
	}
	return r, nil
}

func parseLabel(text []byte) (l label.Label, err error) {
	if string(text) == "{}" {
		return l, nil
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return label.Label{}, fmt.Errorf("reading a label: %w", err)
	}
	return l, nil
}

func formatLabel(l label.Label) (string, error) {
	b, err := json.Marshal(l)
	return string(b), err
}

const writeSessions = `
insert into session (key, parent, principal, label, calls, created, seen, height) values %s
on conflict (key) do update set parent = excluded.parent, label = excluded.label, calls = excluded.calls,
	seen = excluded.seen, height = excluded.height`

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

const (
	readChains  = `select name, id, next, last from chain where name in %s`
	writeChains = `insert into chain (name, id, next, last) values %s
on conflict (name) do update set id = excluded.id, next = excluded.next, last = excluded.last`
	writeRows  = `insert into entry (seq, leaf, salt, time, chain, kind, subject, outcome, body) values %s`
	writeNodes = `insert into node (level, n, hash) values %s`
)

// append gives the entries their places and writes them.
func (u *unit) append(ctx context.Context, entries []audit.Entry) error {
	links, err := u.links(ctx, entries)
	if err != nil {
		return err
	}
	if u.anchor == nil {
		if err := audit.CheckHead(ctx, nil, nil, u.head); err != nil {
			return err
		}
	}
	if u.batch, err = audit.Sequence(u.head, links, entries); err != nil {
		return err
	}
	u.head = u.batch.Head
	rows := make([]any, 0, len(u.batch.Rows)*9)
	var asides []any
	for i := range u.batch.Rows {
		r := &u.batch.Rows[i]
		if r.Aside != nil {
			asides = append(asides, r.Seq, micros(r.Time), r.Aside)
		}
		rows = append(rows, r.Seq, r.Leaf, r.Salt, micros(r.Time), r.Chain, r.Kind, r.Subject, r.Outcome, u.db.writer.bodies.pack(r.Body))
	}
	if err := u.insert(ctx, writeRows, 9, rows); err != nil {
		return err
	}
	if err := u.insert(ctx, writeAsides, 3, asides); err != nil {
		return err
	}
	var nodes []any
	for _, n := range u.batch.Nodes {
		nodes = append(nodes, n.Level, n.N, n.Hash[:])
	}
	if err := u.insert(ctx, writeNodes, 3, nodes); err != nil {
		return err
	}
	ends := make([]any, 0, len(u.batch.Links)*4)
	for _, l := range u.batch.Links {
		ends = append(ends, l.Name, l.ID.String(), l.Next, l.Last[:])
		if err := u.ends.SetEnd(l); err != nil {
			return err
		}
	}
	if err := u.insert(ctx, writeChains, 4, ends); err != nil {
		return err
	}
	return u.commitEnds(ctx)
}

func scanLink(rows *sql.Rows) (l audit.Link, err error) {
	var id string
	var last []byte
	if err := rows.Scan(&l.Name, &id, &l.Next, &last); err != nil {
		return l, err
	}
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != len(l.ID) || hex.EncodeToString(raw) != id || len(last) != tlog.HashSize {
		return l, fmt.Errorf("%w: the end of the chain %.60q", audit.ErrDamaged, l.Name)
	}
	copy(l.ID[:], raw)
	copy(l.Last[:], last)
	return l, nil
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// anchored tells the anchor how far the log has come. With an error, what was committed is not acknowledged: nothing holds the log to it.
func (u *unit) anchored(ctx context.Context) error {
	log := lasting(u.db, &u.db.reads)
	if u.batch == nil || u.anchor == nil || log == nil {
		return nil
	}
	if err := u.anchor.Committed(ctx, log, u.before, u.head); err != nil {
		return fmt.Errorf("%w: %w", errUncertain, err)
	}
	return nil
}

// now returns the time of the transaction.
func (u *unit) now() time.Time { return u.draft.Now }

const readLeaf = `select leaf from entry where seq = $1`

// in reports whether a log with this head has the entries of the transaction. One that appended none is in no log.
func (u *unit) in(ctx context.Context, s *statements, head audit.Head) (landed bool, err error) {
	if u.batch == nil || head.Size <= u.head.Size {
		return u.batch != nil && head.Equal(u.head), nil
	}
	row := &u.batch.Rows[0]
	err = s.query(ctx, readLeaf, func(rows *sql.Rows) error {
		var leaf []byte
		err := rows.Scan(&leaf)
		landed = bytes.Equal(leaf, row.Leaf)
		return err
	}, row.Seq)
	return landed, err
}

// resolve finds out whether the transaction before this one, which has the lock, was committed, if that is not known: because its answer
// was lost, or the anchor could not note it. Its ops are not done again then.
func (u *unit) resolve(ctx context.Context) error {
	if u.doubt == nil {
		return nil
	}
	landed, err := u.doubt.in(ctx, u.statements, u.head)
	if err != nil {
		return err
	}
	for _, o := range u.doubt.ops {
		o.kept = o.kept || landed
	}
	u.doubt = nil
	return nil
}
