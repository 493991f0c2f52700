package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A dialect is the difference between the databases: how to connect, how a write transaction begins, and types.
type dialect struct {
	name     string
	open     func(ctx context.Context, p *pool, target string) error // sets the connections, and the place of a file
	begin    string                                                  // a write transaction
	lock     string                                                  // follows the statement that reads the state, and locks it
	patient  string                                                  // has the transaction wait for the program without a limit; "" if it does
	snapshot []string                                                // begin a transaction that reads
	size     string                                                  // how many bytes the database has
	used     string                                                  // how many of these are in use; "" if that is not known
	tell     string                                                  // tells other processes of an answer, with the commit; "" if it cannot
	version  string                                                  // the query for a number that changes with each other commit; "" if none
	backup   string                                                  // the statement that writes a copy to a file; "" if there is none
	synced   string                                                  // has the connection wait for the disk at each commit from now on
	scrub    string                                                  // the query that overwrites removed rows in the files; "" if there is none
	takeOver string                                                  // takes the write-ahead log over into the file; "" if there is none
	types    *strings.Replacer                                       // of the words in the schema

	conflict func(error) bool // whether a transaction that ended so had no effect, because of another, and is worth another attempt
	lost     func(error) bool // whether the connection was lost, or the server is starting or ending
	dropped  func(error) bool // whether a connection was lost that had been made
	known    string           // the query for whether there is a schema
	examine  []func(context.Context, *sql.Conn, *Integrity) error

	listen func(ctx context.Context, target string, ring func()) error // calls ring for each answer until an error; nil if that cannot be
}

// A pool is the connections to a database. Each operation on it ends in time.
type pool struct {
	opts    Options
	dialect *dialect
	db      *sql.DB
	place   *place   // nil: it is not a file
	hangUp  func()   // closes all connections at once; nil if that is never needed
	copied  []string // directories to remove in the end
	held    *sql.Conn
	index   walIndex // of a file that is written
	health  *health
	reads   statements // of decisions
	scans   statements // of the log
}

// open makes the connections to the database, and brings its schema up to date.
func (p *pool) open(ctx context.Context, target string) error {
	if err := p.dialect.open(ctx, p, target); err != nil {
		return err
	}
	p.db.SetMaxOpenConns(p.connections())
	p.db.SetMaxIdleConns(p.connections())
	p.reads = statements{db: p.db, prepared: map[string]*sql.Stmt{}, around: p.reading(p.opts.Timeout)}
	p.scans = statements{db: p.db, prepared: map[string]*sql.Stmt{}, around: p.reading(longRead)}
	if err := migrate(ctx, p); err != nil || p.place == nil || p.opts.ReadOnly {
		return err
	}
	return p.hold(ctx)
}

// hold keeps one connection for as long as the database is open: the files beside it stay the same then.
func (p *pool) hold(ctx context.Context) (err error) {
	if p.held, err = p.db.Conn(ctx); err != nil {
		return err
	}
	if _, err := applied(ctx, p.held); err != nil {
		return err
	}
	if err := p.place.hold(); err != nil {
		return err
	}
	p.index.attach(p.place.held[len(p.place.held)-1].info)
	return nil
}

// close closes all connections, and removes the copies that were made.
func (p *pool) close() error {
	all := errors.Join(p.reads.close(), p.scans.close(), p.index.close())
	if held := p.held; held != nil {
		p.held = nil
		all = errors.Join(all, held.Close())
	}
	if p.db != nil {
		all = errors.Join(all, p.db.Close())
	}
	for _, dir := range p.copied {
		all = errors.Join(all, os.RemoveAll(dir))
	}
	return all
}

// abandon closes all connections to a server that has stalled. Closing them one by one would tell the server of each,
// and wait for it.
func (p *pool) abandon() {
	if p.hangUp != nil && p.health.get().State == Stalled {
		p.hangUp()
	}
}

func (p *pool) clock() time.Time { return p.opts.Now().UTC().Truncate(time.Microsecond) }

// longRead is how long one query may take that reads a part of the log: as a rule a page of it.
const longRead = time.Minute

// bounded returns a context for an operation on a database server that ends in time. A file needs none: it does not
// wait for anything but its locks, and those have a limit of their own.
func (p *pool) bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if p.place != nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}

// stalled returns the error of an operation that took longer than it may, if it is that and not its caller who gave up.
// Connecting has a limit of its own, which may end first.
func stalled(caller, bound context.Context, err error) error {
	if err == nil || caller.Err() != nil || !errors.Is(bound.Err(), context.DeadlineExceeded) && !pgconn.Timeout(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrStalled, err)
}

// reading returns the wrapper of queries outside of transactions: with a limit to each, on the file that was opened,
// and anew if a connection of the pool was dead. A query changes nothing, so one that returned no row may be asked
// again.
func (p *pool) reading(limit time.Duration) func(context.Context, func(context.Context) (bool, error)) error {
	return func(caller context.Context, query func(context.Context) (began bool, err error)) error {
		if _, err := p.health.admit(); err != nil {
			return err
		}
		if err := p.place.check(); err != nil {
			return p.health.note(err)
		}
		ctx, cancel := p.bounded(caller, limit)
		defer cancel()
		for attempt := 0; ; attempt++ {
			began, err := query(ctx)
			if attempt < p.connections() && !began && ctx.Err() == nil && p.dialect.dropped(err) {
				continue
			}
			err = stalled(caller, ctx, err)
			if caller.Err() == nil && (err == nil || !began) {
				err = p.health.note(err)
			}
			return err
		}
	}
}

// inSnapshot calls read with statements in a transaction that reads, and ends it. Only read may last longer than an
// operation may.
func (p *pool) inSnapshot(ctx context.Context, read func(*statements) error) error {
	c, err := p.beginReading(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	reads := &statements{db: c, prepared: map[string]*sql.Stmt{}}
	err = read(reads)
	_, end := c.ExecContext(context.WithoutCancel(ctx), "rollback")
	return errors.Join(err, reads.close(), end)
}

// beginReading returns a connection in a transaction that reads. Nothing else may last so long.
func (p *pool) beginReading(ctx context.Context) (c *sql.Conn, err error) {
	if err := p.place.check(); err != nil {
		return nil, err
	}
	bound, cancel := p.bounded(ctx, p.opts.Timeout)
	defer cancel()
	if c, err = p.db.Conn(bound); err != nil {
		return nil, stalled(ctx, bound, err)
	}
	for _, text := range p.dialect.snapshot {
		if _, err := c.ExecContext(bound, text); err != nil {
			return nil, errors.Join(stalled(ctx, bound, err), c.Close())
		}
	}
	return c, nil
}

// inTransaction calls do in a write transaction, which it commits if do returns nil.
func (p *pool) inTransaction(ctx context.Context, do func(*sql.Conn) error) error {
	c, err := p.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, p.dialect.begin); err != nil {
		return err
	}
	if err := do(c); err != nil {
		_, rollback := c.ExecContext(context.WithoutCancel(ctx), "rollback")
		return errors.Join(err, rollback)
	}
	_, err = c.ExecContext(ctx, "commit")
	return err
}

// untilNoConflict calls do until it ends with no conflict with another transaction.
func (p *pool) untilNoConflict(do func() error) error {
	for attempt := 0; ; attempt++ {
		err := do()
		if err == nil || attempt == maxAttempts || !p.dialect.conflict(err) {
			return err
		}
		pause(attempt)
	}
}

// connections is how many connections the pool has at most: readers, the writer, one that looks for commits of others,
// one that listens or holds the file.
func (p *pool) connections() int { return p.opts.Readers + 3 }

// maxAttempts is how often a transaction is tried that conflicts with others.
const maxAttempts = 50

// pause waits before the next attempt.
func pause(attempt int) {
	time.Sleep(rand.N(time.Duration(min(attempt+1, 20)) * time.Millisecond))
}
