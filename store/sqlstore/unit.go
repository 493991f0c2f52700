package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// An op is something to do in a write transaction, beside others.
type op struct {
	sessions []string                                 // to have in the draft, with their ancestors
	run      func(ctx context.Context, u *unit) error // nil: nothing but the entries. It checks first: with an error it has changed nothing
	entries  []audit.Entry                            // to append if run succeeds; each was checked
	made     func() (audit.Entry, error)              // makes another of them; nil: it was made, or there is none
	instead  func(error) audit.Entry                  // makes the one in the place of that if it cannot be made
	alone    bool                                     // in a transaction of its own, because its changes are not in the draft
	synced   bool                                     // durable when it returns, also without Options.Unsynced; alone too
	long     bool                                     // may take longWrite; alone too

	first int64 // afterwards: the number of the first of the entries
	err   error // afterwards
	kept  bool  // a transaction of which that was not known at first has committed it: it is not done again
	done  chan struct{}
	probe bool // of a database that has stalled

	mu        sync.Mutex // held while run runs
	abandoned bool       // nobody waits any more
}

// make makes the entry that is left to make. It is called by who deferred the op, or has the turn.
func (o *op) make() error {
	if o.made == nil {
		return nil
	}
	e, err := o.made()
	if err == nil {
		err = check([]audit.Entry{e})
	}
	if err != nil {
		e = o.instead(err)
		err = check([]audit.Entry{e})
	}
	if err != nil {
		return fmt.Errorf("making an entry: %w", err)
	}
	o.entries, o.made = append(o.entries, e), nil
	return nil
}

// perform runs the op, unless it was abandoned.
func (o *op) perform(ctx context.Context, u *unit) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.abandoned {
		return ErrStalled
	}
	if o.run == nil {
		return nil
	}
	return o.run(ctx, u)
}

// abandon keeps the op from running. It waits for a run that has begun.
func (o *op) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.abandoned = true
}

// A unit is one write transaction: the rows that it has read, and those that it is going to write.
type unit struct {
	appender
	prover *prover
	ops    []*op // that it does
	doubt  *unit // the transaction before, if it is not known whether it was committed
	last   *last // the transaction before, if the database is as that has left it
	draft  *store.Draft
	wrote  bool // anything

	rows      map[string]store.Row   // sessions as they were read
	proven    map[string]record.Kept // these, as the log proves them
	damaged   map[string]error       // sessions that are not as it does
	journal   []audit.Entry          // of the rows that change, after those of the ops
	journaled []record.Kept          // those rows

	failed error // the first error of a statement: the transaction is lost
}

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

// begin takes the lock of the writers and reads the rows that the ops need.
func (u *unit) begin(ctx context.Context) error {
	u.anchor = u.prover.anchor.Load()
	r, err := u.last.readHead(ctx, u)
	if err != nil {
		return err
	}
	u.snapshot = *u.prover.snapshot(u.statements, r)
	if u.anchor != nil {
		if err := u.prover.checkSealed(u.head); err != nil {
			return err
		}
		if err := u.anchor.Check(ctx, u.prover.lasting(u.statements), u.head); err != nil {
			return err
		}
	}
	if err := u.resolve(ctx); err != nil {
		return err
	}
	u.before = u.head
	u.draft.Room = u.prover.opts.MaxSessions - int(u.sessions)
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
	if err := u.last.readSessions(ctx, u, keys); err != nil {
		return err
	}
	u.rows = make(map[string]store.Row, len(keys))
	for _, key := range u.draft.Keys() {
		u.rows[key], _ = u.draft.Row(key)
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
	}
	told, err := u.tell(ctx, entries)
	if err != nil {
		return err
	}
	if u.keepSessions(changed, told); u.failed != nil {
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

// change runs a statement of an op's own, and returns how many rows it changed.
func (u *unit) change(ctx context.Context, text string, args ...any) (int64, error) {
	n, err := u.exec(ctx, text, args...)
	u.wrote = u.wrote || n > 0
	return n, u.fail(err)
}

// read runs a query of an op's own.
func (u *unit) read(ctx context.Context, text string, scan func(*sql.Rows) error, args ...any) error {
	return u.fail(u.query(ctx, text, scan, args...))
}

// fail has the transaction fail with an op that has changed something.
func (u *unit) fail(err error) error {
	if err != nil && u.failed == nil {
		u.failed = err
	}
	return err
}

// changeIn runs an op's own statement for values, many at a time, and returns how many rows it changed.
func changeIn[T any](ctx context.Context, u *unit, text string, values []T) (changed int64, err error) {
	for query, args := range batches(text, values) {
		n, err := u.change(ctx, query, args...)
		if err != nil {
			return 0, err
		}
		changed += n
	}
	return changed, nil
}

// keep has the log tell of a row as the transaction leaves it.
func (u *unit) keep(k record.Kept) {
	body, err := k.Event(u.now())
	_ = u.fail(err)
	outcome := "kept"
	if k.Gone != "" {
		outcome = "removed"
	}
	u.journal = append(u.journal, audit.Entry{Time: u.now(), Chain: k.Chain(), Kind: string(record.StateRow), Subject: k.Table,
		Outcome: outcome, Body: body})
	u.journaled = append(u.journaled, k)
}

// settled compares rows that the transaction has read with the log; see [prover.settled]. Damage is an [ErrState].
func (u *unit) settled(ctx context.Context, name *record.Kept, rows []record.Kept) error {
	c := claim{name: name, rows: rows, known: u.prover.proofs.get(name.Chain())}
	for i := range u.journaled {
		if u.journaled[i].Chain() == name.Chain() {
			c.pending = append(c.pending, u.journaled[i])
		}
	}
	return u.prover.told(u.prover.settled(ctx, &u.snapshot, c))
}

// anchored tells the anchor how far the log has come. With an error, the commit is not acknowledged: nothing holds the
// log to it.
func (u *unit) anchored(ctx context.Context) error {
	log := u.prover.lasting(&u.prover.reads)
	if u.batch == nil || u.anchor == nil || log == nil {
		return nil
	}
	if err := u.anchor.Committed(ctx, log, u.before, u.head); err != nil {
		return fmt.Errorf("%w: %w", errUncertain, err)
	}
	return nil
}

// errUncertain is the kind of error of a commit whose outcome is not known.
var errUncertain = errors.New("the database did not say whether it committed")

// committed remembers the rows of which the transaction told the log.
func (u *unit) committed() {
	for i := range u.journaled {
		k := &u.journaled[i]
		row := &u.batch.Rows[len(u.batch.Rows)-len(u.journaled)+i]
		chain := k.Chain()
		known := u.prover.proofs.get(chain)
		leaf, err := audit.ParseLeaf(row.Leaf)
		if err != nil || leaf.Pos > 0 && (known == nil || known.link.ID != leaf.Chain || known.link.Next != leaf.Pos) {
			continue // the next reader looks
		}
		link := audit.Link{Name: chain, ID: leaf.Chain, Next: leaf.Pos + 1, Last: tlog.RecordHash(row.Leaf)}
		u.prover.proofs.put(chain, known.with(k, row.Seq, link))
	}
	if u.batch == nil {
		return
	}
	told := map[string]bool{}
	for i := len(u.batch.Rows) - 1; i >= 0; i-- { // the last of each chain
		row := &u.batch.Rows[i]
		if told[row.Chain] || !sessional(row.Chain) {
			continue
		}
		told[row.Chain] = true
		if end, err := lastOf(row); err == nil {
			u.prover.proofs.put(row.Chain, end)
		}
	}
}

// now returns the time of the transaction.
func (u *unit) now() time.Time { return u.draft.Now }

// lately returns the time of the transaction, or of a later one before it.
func (u *unit) lately() time.Time { return u.prover.latest.At(u.now()) }

// steady returns the time at which labels expire, not later than that of the events of the transaction.
func (u *unit) steady() time.Time {
	if at := u.prover.now(); at.Before(u.now()) {
		return at
	}
	return u.now()
}

// check reports whether others may append the entries.
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

// own reports that entries of others cannot be in the chains of the state.
func own(entries []audit.Entry) error {
	for i := range entries {
		if e := &entries[i]; e.Kind == string(record.StateRow) || strings.HasPrefix(e.Chain, record.StateChain) {
			return fmt.Errorf("%w: only the state has chains that begin with %q", audit.ErrInvalid, record.StateChain)
		}
	}
	return nil
}

// resolve finds out whether the transaction before this one, which has the lock, was committed, if that is not known:
// because its answer was lost, or the anchor could not note it. Its ops are not done again then.
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
