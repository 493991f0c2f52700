// Package sqlstore keeps the state of Weir and its log in a database: SQLite in one file for the processes of one user,
// PostgreSQL for a fleet.
//
//	db, err := sqlstore.Open(ctx, "/home/alice/.local/state/weir/state.db", nil)
//	db, err := sqlstore.Open(ctx, "postgres://weir@db.example.com/weir", nil)
//	sessions := session.New(session.Options{Store: db})
//	log, err := audit.Open(ctx, db.Log(), key)
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
//   - Concurrent writers share transactions: who comes while one runs is in the next. An error of one is its own.
//   - What [DB.Defer] and [DB.Tally] take is written with the next transaction, within [Options].Linger and before Close returns.
//     While it cannot be written, both return why.
//   - [DB.Answered] tells of the answers of this process, and with PostgreSQL of those of all.
//   - The schema only moves forward, in a transaction. A database that a newer Weir has touched, or whose history is another, is
//     refused ([ErrSchema]).
//
// A file is made readable by its owner only, and so is its directory. A file that is not the user's alone is refused.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

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
	Readers     int              // connections that read at one time; default 8

	// Unsynced commits without waiting for the disk. It is dangerous: a process that ends, however it does, loses nothing, but
	// if the machine does, or the database server, the newest transactions may be gone, though they were acknowledged.
	Unsynced bool
}

// A DB is an open database. Close it.
type DB struct {
	latest store.Clock // of questions: one that has expired stays so, whatever becomes of the machine's clock

	opts     Options
	pool     *sql.DB
	dialect  *dialect
	writer   *writer
	reads    statements
	recent   recent
	listener listener
}

// Open opens the database, and brings its schema up to date. The target is a path or a postgres:// URL.
func Open(ctx context.Context, target string, opts *Options) (*DB, error) {
	d := &DB{}
	if opts != nil {
		d.opts = *opts
	}
	d.opts = d.opts.withDefaults()
	d.dialect = dialectOf(target)
	var err error
	if d.pool, err = d.dialect.open(target, !d.opts.Unsynced); err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	d.pool.SetMaxOpenConns(d.opts.Readers + 2)
	d.pool.SetMaxIdleConns(d.opts.Readers + 2)
	if err := d.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database: %w", err), d.pool.Close())
	}
	d.reads = statements{db: d.pool, prepared: map[string]*sql.Stmt{}}
	d.recent = recent{db: d.pool, text: d.dialect.version}
	d.listener.target, d.listener.listen = target, d.dialect.listen
	d.writer = newWriter(d)
	return d, nil
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
	return o
}

// Close writes what was deferred and closes the database. Operations that run end first.
func (d *DB) Close() error {
	d.listener.close()
	err := d.writer.close()
	return errors.Join(err, d.recent.close(), d.reads.close(), d.pool.Close())
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
