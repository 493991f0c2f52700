// Package sqlstore keeps the state of Weir and its log in a database: SQLite in one file for the processes of one user,
// PostgreSQL for a fleet.
//
//	db, err := sqlstore.Open(ctx, "/home/alice/.local/state/weir/state.db", nil)
//	db, err := sqlstore.Open(ctx, "postgres://weir@db.example.com/weir", nil)
//	sessions := session.New(session.Options{Store: db})
//	log, err := audit.Open(ctx, db.Log(), anchor)
//
// A [DB] is a [store.Backend]; [DB.Log] is an [audit.Store] in the same database, and [DB.JoinNoted] writes a label and the
// entry that tells of it in one transaction. Both databases are asked in the same SQL; only types, transactions and
// the way to connect differ.
//
// What it promises, beyond package store:
//
//   - What was acknowledged is on disk: SQLite in WAL mode with synchronous=FULL, PostgreSQL as its synchronous_commit says. With
//     [Options].Unsynced it is soon.
//   - Write transactions have one order. SQLite takes its write lock first, PostgreSQL locks the one row of the table state; what
//     a transaction reads is what the one before it wrote. A conflict that the database reports is tried again.
//   - Each write transaction checks the seal of the log's head, once the log has an anchor, and seals the new one.
//   - Concurrent writers share transactions: who comes while one runs is in the next. An error of one is its own.
//   - What [DB.Defer] and [DB.Tally] take is written with the next transaction, within [Options].Linger and before Close returns.
//     While it cannot be written, both return why.
//   - [DB.Answered] tells of the answers of this process, and with PostgreSQL of those of all.
//   - The schema only moves forward, in a transaction. A database that a newer Weir has touched, or whose history is another, is
//     refused ([ErrSchema]).
//   - Each operation ends in time: with [ErrStalled] if the database does not answer. [DB.Health] tells, and [Options].Told of each change.
//   - Nothing is decided by, and nothing committed to, a file that is not where it was opened any more ([ErrMoved]).
//
// A file is made readable by its owner only, and so is its directory, when it is opened for the first time. A file that is not the
// user's alone is refused, but for reading ([Options].ReadOnly).
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// ErrSchema is the kind of error of a database with another schema than this program knows.
var ErrSchema = errors.New("the database has another schema")

// ErrClosed is the kind of error of a use after Close.
var ErrClosed = errors.New("the database is closed")

// Options are the options of [Open]. Nil means the zero value.
type Options struct {
	Now         func() time.Time // the clock; default time.Now
	MaxSessions int              // then new ones are refused; default 1,000,000
	Linger      time.Duration    // how long deferred writes may wait; default 50 ms
	Anchor      *audit.Anchor    // of the log, see [audit.Open]; nil: a log that has one cannot be appended to
	Untouched   bool             // nothing is written when it is opened, but the schema
	Readers     int              // connections that read at one time; default 8

	// Damaged is told once of each row of the state that is not what the log proves, beside the event that tells of it. It must not use
	// the database. Nil: nobody is.
	Damaged func(error)

	// Unsynced commits without waiting for the disk. It is dangerous: a process that ends, however it does, loses nothing, but
	// if the machine does, or the database server, the newest transactions may be gone, though they were acknowledged.
	Unsynced bool

	// Timeout is how long an operation may take: default 5 s. With its time in the queue of the writers it takes less than twice that.
	// Queries that read the log may take a minute, and those that add up all of it as long as they need, as migrations may. Taking over the
	// state of an older version and rebuilding it may take ten minutes.
	Timeout time.Duration

	Told     func(Health) // of each change of [DB.Health], in the course of an operation; it must not use the database; nil: nobody
	Existing bool         // a file that is not there is an error, and is not made
	ReadOnly bool         // never writes to it, nor makes or migrates anything: for whoever may read the files, also where they cannot be written
}

// A DB is an open database. Close it.
type DB struct {
	latest store.Clock // of questions: one that has expired stays so, whatever becomes of the machine's clock

	opts     Options
	pool     *sql.DB
	dialect  *dialect
	place    *place // nil: it is not a file
	held     *sql.Conn
	health   *health
	refusals refusals
	writer   *writer
	reads    statements // of what decisions need
	scans    statements // of the log
	recent   recent
	proofs   proofs
	endCache audit.EndCache
	steady   steady // of labels of resources
	encoder  record.Encoder
	listener listener
	anchor   atomic.Pointer[audit.Anchor] // of the log; nil: none was given
	sealed   atomic.Bool                  // whether each head has to be, with the ends of the chains
}

// Open opens the database, and brings its schema up to date. The target is a path or a postgres:// URL.
func Open(ctx context.Context, target string, opts *Options) (*DB, error) {
	d := &DB{}
	if opts != nil {
		d.opts = *opts
	}
	d.opts = d.opts.withDefaults()
	d.dialect = dialectOf(target)
	d.health = newHealth(d.opts.Told)
	if err := d.open(ctx, target); err != nil {
		if d.pool != nil {
			err = errors.Join(err, d.release(), d.pool.Close(), d.dialect.remove())
		}
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	d.reads = statements{db: d.pool, prepared: map[string]*sql.Stmt{}, around: d.reading(d.opts.Timeout)}
	d.scans = statements{db: d.pool, prepared: map[string]*sql.Stmt{}, around: d.reading(longRead)}
	d.recent = recent{db: d, text: d.dialect.version}
	d.listener.target, d.listener.listen = target, d.dialect.listen
	d.writer = newWriter(d)
	err := d.begin(ctx)
	if err == nil {
		d.steady.began = d.opts.Now()
		d.steady.believed, err = d.Believed(ctx, d.steady.began)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database: %w", err), d.Close())
	}
	return d, nil
}

// begin holds the log to its anchor, and has it tell of what an older version wrote.
func (d *DB) begin(ctx context.Context) error {
	if d.opts.ReadOnly || d.opts.Untouched {
		return nil
	}
	if d.opts.Anchor != nil {
		if _, err := audit.Open(ctx, d.Log(), d.opts.Anchor); err != nil {
			return err
		}
	} else if head, err := d.Log().Head(ctx); err != nil || len(head.Seal) > 0 {
		return err // it waits for somebody with the anchor
	}
	if err := d.commitToEnds(ctx); err != nil {
		return err
	}
	d.sealed.Store(d.opts.Anchor != nil)
	return d.Adopt(ctx)
}

func (d *DB) open(ctx context.Context, target string) error {
	if err := d.dialect.open(ctx, d, target); err != nil {
		return err
	}
	d.pool.SetMaxOpenConns(d.connections())
	d.pool.SetMaxIdleConns(d.connections())
	if err := d.migrate(ctx); err != nil || d.place == nil || d.opts.ReadOnly {
		return err
	}
	return d.hold(ctx)
}

// hold keeps one connection for as long as the database is open: the files beside it stay the same then.
func (d *DB) hold(ctx context.Context) (err error) {
	if d.held, err = d.pool.Conn(ctx); err != nil {
		return err
	}
	if _, err := applied(ctx, d.held); err != nil {
		return err
	}
	return d.place.hold()
}

func (d *DB) release() error {
	c := d.held
	if d.held = nil; c == nil {
		return nil
	}
	return c.Close()
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = 1_000_000
	}
	if o.Linger <= 0 {
		o.Linger = 50 * time.Millisecond
	}
	if o.Readers <= 0 {
		o.Readers = 8
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	return o
}

// Close writes what was deferred and closes the database. Operations that run end first.
func (d *DB) Close() error {
	d.listener.close()
	d.hangUp()
	err := d.writer.close()
	d.hangUp()
	return errors.Join(err, d.recent.close(), d.reads.close(), d.scans.close(), d.release(), d.pool.Close(), d.dialect.remove())
}

// hangUp closes all connections to a server that has stalled. Else it would be told of each one's end, and waited for.
func (d *DB) hangUp() {
	if d.dialect.hangUp != nil && d.health.get().State == Stalled {
		d.dialect.hangUp()
	}
}

func (d *DB) clock() time.Time { return d.opts.Now().UTC().Truncate(time.Microsecond) }

// Kind returns what the database is: "sqlite" or "postgres".
func (d *DB) Kind() string { return d.dialect.name }

// isURL reports whether the target is a database server's.
func isURL(target string) bool {
	return strings.HasPrefix(target, "postgres://") || strings.HasPrefix(target, "postgresql://")
}

// micros returns the time as it is kept; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
