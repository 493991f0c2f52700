package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"time"
)

// migrations are the steps from an empty database to the schema of this program: 001.sql, 002.sql and so on. Once
// released, a step never changes: its digest is kept in the database, and one that differs is refused.
//
//go:embed migrations/*.sql
var migrations embed.FS

const (
	makeSchema  = `create table if not exists schema (version INT primary key, digest TEXT not null)`
	readSchema  = `select version, digest from schema order by version`
	writeSchema = `insert into schema (version, digest) values ($1, $2)`
)

// steps returns the texts of the migrations.
func steps() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, name := range names {
		b, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(b))
	}
	return texts, nil
}

// migrate brings the schema up to date, in a write transaction if there is anything to do. To read, it has to be up to date.
func (d *DB) migrate(ctx context.Context) error {
	todo, err := steps()
	if err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		err = d.migrateOnce(ctx, todo)
		if err == nil || attempt == maxAttempts || !d.dialect.conflict(err) {
			return err
		}
		pause(attempt)
	}
}

func (d *DB) migrateOnce(ctx context.Context, todo []string) error {
	done, err := d.schema(ctx)
	switch {
	case err != nil:
		return err
	case len(done) >= len(todo):
		return compare(done, todo)
	case d.opts.ReadOnly:
		return fmt.Errorf("%w: it is at version %d, and this program reads version %d: start weir on it, or run weir state init, first",
			ErrSchema, len(done), len(todo))
	}
	err = denied(d.inTransaction(ctx, func(c *sql.Conn) error { return d.dialect.bring(ctx, c, todo) }))
	if errors.Is(err, ErrDenied) {
		err = fmt.Errorf("%w: it is at version %d, and this program needs version %d: %w", ErrSchema, len(done), len(todo), err)
	}
	return err
}

// bring does the steps that the database has not seen.
func (dia *dialect) bring(ctx context.Context, c *sql.Conn, todo []string) error {
	if _, err := c.ExecContext(ctx, dia.types.Replace(makeSchema)); err != nil {
		return err
	}
	done, err := applied(ctx, c)
	if err != nil {
		return err
	}
	if err := compare(done, todo); err != nil {
		return err
	}
	for i := len(done); i < len(todo); i++ {
		text := todo[i]
		for statement := range strings.SplitSeq(dia.types.Replace(text), ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := c.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("schema %d: %w", i+1, err)
			}
		}
		if _, err := c.ExecContext(ctx, writeSchema, i+1, digestOf(text)); err != nil {
			return err
		}
	}
	return nil
}

func digestOf(step string) string {
	sum := sha256.Sum256([]byte(step))
	return hex.EncodeToString(sum[:])
}

// compare returns an error that is ErrSchema if the steps that a database has seen are not the first of this program's.
func compare(done, todo []string) error {
	if len(done) > len(todo) {
		return fmt.Errorf("%w: it is at version %d, and this program knows %d: use a newer weir", ErrSchema, len(done), len(todo))
	}
	for i := range done {
		if done[i] != digestOf(todo[i]) {
			return fmt.Errorf("%w: its version %d is not this program's", ErrSchema, i+1)
		}
	}
	return nil
}

// schema returns the digests of the steps that the database has seen, none if it is empty.
func (d *DB) schema(ctx context.Context) (done []string, err error) {
	bound, cancel := d.bounded(ctx, d.opts.Timeout)
	defer cancel()
	c, err := d.pool.Conn(bound)
	if err != nil {
		return nil, stalled(ctx, bound, err)
	}
	defer c.Close()
	var there int
	if err := c.QueryRowContext(bound, d.dialect.known).Scan(&there); err != nil || there == 0 {
		return nil, stalled(ctx, bound, err)
	}
	done, err = applied(bound, c)
	return done, stalled(ctx, bound, err)
}

// applied returns the digests of the steps that the database has seen.
func applied(ctx context.Context, c *sql.Conn) ([]string, error) {
	rows, err := c.QueryContext(ctx, readSchema)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var done []string
	for rows.Next() {
		var version int
		var digest string
		if err := rows.Scan(&version, &digest); err != nil {
			return nil, err
		}
		if done = append(done, digest); version != len(done) {
			return nil, fmt.Errorf("%w: version %d follows version %d", ErrSchema, version, len(done)-1)
		}
	}
	return done, rows.Err()
}

// inTransaction calls do in a write transaction, which it commits if do returns nil.
func (d *DB) inTransaction(ctx context.Context, do func(*sql.Conn) error) error {
	c, err := d.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, d.dialect.begin); err != nil {
		return err
	}
	if err := do(c); err != nil {
		_, rollback := c.ExecContext(context.WithoutCancel(ctx), "rollback")
		return errors.Join(err, rollback)
	}
	_, err = c.ExecContext(ctx, "commit")
	return err
}

// maxAttempts is how often a transaction is tried that conflicts with others.
const maxAttempts = 50

// pause waits before the next attempt.
func pause(attempt int) {
	time.Sleep(rand.N(time.Duration(min(attempt+1, 20)) * time.Millisecond))
}
