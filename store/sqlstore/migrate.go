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
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// migrations are the steps from an empty database to the schema of this program: 001.sql, 002.sql and so on. Once
// released, a step never changes: its digest is kept in the database, and one that differs is refused.
//
//go:embed migrations/*.sql
var migrations embed.FS

// The types of the databases for the words in the schema.
var (
	sqliteTypes   = strings.NewReplacer("INT", "integer", "BYTES", "blob", "TEXT", "text")
	postgresTypes = strings.NewReplacer("INT", "bigint", "BYTES", "bytea", "TEXT", `text collate "C"`)
)

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

// migrate brings the schema up to date, in a write transaction if there is anything to do. To read, it has to be up to
// date.
func migrate(ctx context.Context, p *pool) error {
	todo, err := steps()
	if err != nil {
		return err
	}
	return p.untilNoConflict(func() error { return migrateOnce(ctx, p, todo) })
}

func migrateOnce(ctx context.Context, p *pool, todo []string) error {
	done, err := schema(ctx, p)
	switch {
	case err != nil:
		return err
	case len(done) >= len(todo):
		return compare(done, todo)
	case p.opts.ReadOnly:
		return fmt.Errorf("%w: it is at version %d, and this program reads version %d: start weir on it, or run weir state init, first",
			ErrSchema, len(done), len(todo))
	}
	err = denied(p.inTransaction(ctx, func(c *sql.Conn) error { return bring(ctx, c, p.dialect.types, todo) }))
	if errors.Is(err, ErrDenied) {
		err = fmt.Errorf("%w: it is at version %d, and this program needs version %d: %w", ErrSchema, len(done), len(todo), err)
	}
	return err
}

// bring does the steps that the database has not seen.
func bring(ctx context.Context, c *sql.Conn, types *strings.Replacer, todo []string) error {
	if _, err := c.ExecContext(ctx, types.Replace(makeSchema)); err != nil {
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
		for statement := range strings.SplitSeq(types.Replace(text), ";\n") {
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
		return fmt.Errorf("%w: it is at version %d, and this program knows %d: use a newer weir, or restore the backup made before the upgrade",
			ErrSchema, len(done), len(todo))
	}
	for i := range done {
		if done[i] != digestOf(todo[i]) {
			return fmt.Errorf("%w: its version %d is not this program's", ErrSchema, i+1)
		}
	}
	return nil
}

// schema returns the digests of the steps that the database has seen, none if it is empty.
func schema(ctx context.Context, p *pool) (done []string, err error) {
	bound, cancel := p.bounded(ctx, p.opts.Timeout)
	defer cancel()
	c, err := p.db.Conn(bound)
	if err != nil {
		return nil, stalled(ctx, bound, err)
	}
	defer c.Close()
	var there int
	if err := c.QueryRowContext(bound, p.dialect.known).Scan(&there); err != nil || there == 0 {
		return nil, stalled(ctx, bound, err)
	}
	done, err = applied(bound, c)
	return done, stalled(ctx, bound, err)
}

// applied returns the digests of the steps that the database has seen.
func applied(ctx context.Context, c *sql.Conn) (done []string, err error) {
	rows, err := c.QueryContext(ctx, readSchema)
	err = each(rows, err, func(rows *sql.Rows) error {
		var version int
		var digest string
		err := rows.Scan(&version, &digest)
		if done = append(done, digest); err == nil && version != len(done) {
			err = fmt.Errorf("%w: version %d follows version %d", ErrSchema, version, len(done)-1)
		}
		return err
	})
	return done, err
}

// A grant is all that Weir's role may do with a table.
type grant struct {
	table  string
	may    string // privileges, with commas
	column string // may be updated too; "": none
}

// grants are of all tables. Rows of the log are appended only: entries, and the nodes of their tree. A checkpoint is
// replaced by another of the same size when the key is rotated; its signature proves it. The seal of the log's head
// proves the ends of its chains, and the log the rows of the other tables.
var grants = []grant{
	{table: "schema", may: "select"},
	{table: "state", may: "select, update"},
	{table: "entry", may: "select, insert"},
	{table: "node", may: "select, insert"},
	{table: "checkpoint", may: "select, insert", column: "note"},
	{table: "chain", may: "select, insert, update"},
	{table: "ending", may: "select, insert, update"},
	{table: "aside", may: "select, insert, delete"},
	{table: "session", may: "select, insert, update, delete"},
	{table: "question", may: "select, insert, update, delete"},
	{table: "taint", may: "select, insert, update, delete"},
	{table: "hidden", may: "select, insert, update, delete"},
	{table: "pin", may: "select, insert, update, delete"},
}

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// tableNames returns the names of all tables as literals.
func tableNames() string {
	names := make([]string, len(grants))
	for i, g := range grants {
		names[i] = literal(g.table)
	}
	return strings.Join(names, ", ")
}

// ErrDenied is the kind of error of a statement that the role of the database may not run.
var ErrDenied = errors.New("the role of the database may not do that")

// denied returns the error of a statement with its kind. A role that may use no schema of its path is told that there
// is none.
func denied(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && (e.Code == "42501" || e.Code == "3F000") {
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	return err
}
