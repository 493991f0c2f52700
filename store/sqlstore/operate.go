package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// longRead is how long one query may take that reads a part of the log: as a rule a page of it.
const longRead = time.Minute

// bounded returns a context for an operation on a database server that ends in time. A file needs none: it does not wait for anything
// but its locks, and those have a limit of their own.
func (d *DB) bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if d.place != nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}

// stalled returns the error of an operation that took longer than it may, if it is that and not its caller who gave up. Connecting has a
// limit of its own, which may end first.
func stalled(caller, bound context.Context, err error) error {
	if err == nil || caller.Err() != nil || !errors.Is(bound.Err(), context.DeadlineExceeded) && !pgconn.Timeout(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrStalled, err)
}

// reading returns what queries outside of transactions run in: with a limit to each, on the file that was opened, and anew if a
// connection of the pool was dead. A query changes nothing, so one that returned no row may be asked again.
func (d *DB) reading(limit time.Duration) func(context.Context, func(context.Context) (bool, error)) error {
	return func(caller context.Context, query func(context.Context) (began bool, err error)) error {
		if _, err := d.health.admit(); err != nil {
			return err
		}
		if err := d.place.check(); err != nil {
			return d.health.note(err)
		}
		ctx, cancel := d.bounded(caller, limit)
		defer cancel()
		for attempt := 0; ; attempt++ {
			began, err := query(ctx)
			if attempt < d.connections() && !began && ctx.Err() == nil && d.dialect.dropped(err) {
				continue
			}
			err = stalled(caller, ctx, err)
			if caller.Err() == nil && (err == nil || !began) {
				err = d.health.note(err)
			}
			return err
		}
	}
}

// beginReading returns a connection in a transaction that reads. Nothing else may last so long.
func (d *DB) beginReading(ctx context.Context) (c *sql.Conn, err error) {
	if err := d.place.check(); err != nil {
		return nil, err
	}
	bound, cancel := d.bounded(ctx, d.opts.Timeout)
	defer cancel()
	if c, err = d.pool.Conn(bound); err != nil {
		return nil, stalled(ctx, bound, err)
	}
	for _, text := range d.dialect.snapshot {
		if _, err := c.ExecContext(bound, text); err != nil {
			return nil, errors.Join(stalled(ctx, bound, err), c.Close())
		}
	}
	return c, nil
}

// connections is how many connections the pool has at most: readers, the writer, one that looks for commits of others, one that
// listens or holds the file.
func (d *DB) connections() int { return d.opts.Readers + 3 }

// Health returns how the database does, by the last operation that ended.
func (d *DB) Health() Health { return d.health.get() }
