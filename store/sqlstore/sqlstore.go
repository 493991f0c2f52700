// Package sqlstore keeps the state of Weir and its log in a database: SQLite in one file for the processes of one user,
// PostgreSQL for a fleet.
//
//	db, err := sqlstore.Open(ctx, "/home/alice/.local/state/weir/state.db", nil)
//	db, err := sqlstore.Open(ctx, "postgres://weir@db.example.com/weir", nil)
//	sessions := session.New(session.Options{Store: db})
//	log, err := audit.Open(ctx, db.Log(), anchor)
//
// A [DB] is a [store.Backend]; [DB.Log] is an [audit.Store] in the same database, and [DB.JoinNoted] writes a label and
// the entry that tells of it in one transaction. Both databases are asked in the same SQL; only types, transactions and
// the way to connect differ.
//
// Promises beyond those of package store:
//
//   - An acknowledged write is on disk: SQLite in WAL mode with synchronous=FULL, PostgreSQL as its synchronous_commit
//     says. With [Options].Unsynced it is soon.
//   - Write transactions have one order. SQLite takes its write lock first, PostgreSQL locks the one row of the table
//     state; a transaction reads the rows that the one before it wrote. A conflict that the database reports is tried
//     again.
//   - Each write transaction checks the seal of the log's head, once the log has an anchor, and seals the new one.
//   - Concurrent writers share transactions: who comes while one runs is in the next. An error of one is its own.
//   - Writes of [DB.Defer] and [DB.Tally] are part of the next transaction, within [Options].Linger and before Close
//     returns. While it cannot be written, both return why.
//   - [DB.Answered] tells of the answers of this process, and with PostgreSQL of those of all.
//   - The schema only moves forward, in a transaction. A database that a newer Weir has touched, or whose history is
//     another, is refused ([ErrSchema]).
//   - Each operation ends in time: with [ErrStalled] if the database does not answer. [DB.Health] tells, and
//     [Options].Told of each change.
//   - Nothing is decided by, and nothing committed to, a file that is not where it was opened any more ([ErrMoved]).
//
// A file is made readable by its owner only, and so is its directory, when it is opened for the first time. A file that
// is not the user's alone is refused, but for reading ([Options].ReadOnly).
package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/store"
)

// A DB is an open database. Close it.
type DB struct {
	*writer
	*sessions
	*approvals
	*pins
	*taints
	*values
	*admin
	*repair
	*upkeep
}

var (
	_ store.Backend   = (*DB)(nil)
	_ store.Announcer = (*DB)(nil)
)

// Open opens the database, and brings its schema up to date. The target is a path or a postgres:// URL.
func Open(ctx context.Context, target string, opts *Options) (*DB, error) {
	if opts == nil {
		opts = &Options{}
	}
	p := &pool{opts: opts.withDefaults(), dialect: dialectOf(target)}
	p.health = newHealth(p.opts.Told)
	if err := p.open(ctx, target); err != nil {
		return nil, fmt.Errorf("opening the database: %w", errors.Join(err, p.close()))
	}
	w := newWriter(&prover{pool: p})
	d := &DB{writer: w, sessions: &sessions{w}, approvals: newApprovals(w, target),
		pins: &pins{w}, taints: &taints{w}, values: &values{w}, admin: &admin{w}, repair: &repair{w}, upkeep: &upkeep{w}}
	if err := d.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database: %w", err), d.Close())
	}
	return d, nil
}

// begin holds the log to its anchor, has it tell of the state that an older version wrote, and starts the clock of
// labels.
func (d *DB) begin(ctx context.Context) (err error) {
	if !d.opts.ReadOnly && !d.opts.Untouched {
		if err := d.tie(ctx); err != nil {
			return err
		}
	}
	d.steady.began = d.opts.Now()
	d.steady.believed, err = d.Believed(ctx, d.steady.began)
	return err
}

// tie holds the log to its anchor, and has it tell of the state that an older version wrote.
func (d *DB) tie(ctx context.Context) error {
	if d.opts.Anchor != nil {
		if _, err := audit.Open(ctx, d.Log(), d.opts.Anchor); err != nil {
			return err
		}
	} else if head, err := d.Log().Head(ctx); err != nil || len(head.Seal) > 0 {
		return err // until an operator opens it with the anchor
	}
	if err := d.commitToEnds(ctx); err != nil {
		return err
	}
	d.sealed.Store(d.opts.Anchor != nil)
	return d.Adopt(ctx)
}

// Close writes the deferred writes and closes the database. Operations that run end first.
func (d *DB) Close() error {
	d.listener.close()
	d.abandon()
	err := d.writer.close()
	d.abandon()
	return errors.Join(err, d.recent.close(), d.pool.close())
}

// Kind returns the kind of the database: "sqlite" or "postgres".
func (d *DB) Kind() string { return d.dialect.name }

// Log returns the log in the database.
func (d *DB) Log() *Log { return &Log{logReader: logReader{&d.scans}, writer: d.writer} }

// Defer appends the entries within [Options].Linger. The error is why earlier ones could not be written.
func (d *DB) Defer(ctx context.Context, entries ...audit.Entry) error {
	if err := check(entries); err != nil {
		return err
	}
	return d.later(ctx, &op{entries: entries})
}

// DeferMade is Defer of an entry that is made when it is written, on another goroutine, so that the caller need not
// wait for it. If many wait to be made, this one is made at once. In the place of one that cannot be made, or not be
// written as it is, stands that which instead makes of the error: else it would keep all after it from being written.
func (d *DB) DeferMade(ctx context.Context, made func() (audit.Entry, error), instead func(error) audit.Entry) error {
	o := &op{made: made, instead: instead}
	if d.crowded() {
		if err := o.make(); err != nil {
			return err
		}
	}
	return d.later(ctx, o)
}

// Flush writes the deferred writes.
func (d *DB) Flush(ctx context.Context) error { return d.flush(ctx) }

// Health returns how the database does, by the last operation that ended.
func (d *DB) Health() Health { return d.health.get() }

// Refused returns how many rows of the state were refused.
func (d *DB) Refused() Refused { return d.refusals.get() }

// Believed returns the time now, or the last one before it that is to be believed.
func (d *DB) Believed(ctx context.Context, now time.Time) (time.Time, error) {
	return believed(ctx, &d.scans, now)
}
