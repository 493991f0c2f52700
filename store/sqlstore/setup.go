package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A Setup is how a PostgreSQL database keeps a store for a role of Weir that can append entries to the log, and can neither change nor
// remove them. The tables belong to another role, the owner, which runs the setup, migrates the schema and erases entries.
type Setup struct {
	Role   string // of Weir
	Schema string // of the tables
	owner  string // that connects
}

// A grant is all that Weir's role may do with a table.
type grant struct {
	table  string
	may    string // privileges, with commas
	column string // may be updated too; "": none
}

// grants are of all tables. Rows of the log are appended only: entries, and the nodes of their tree. A checkpoint is replaced by another
// of the same size when the key is rotated; its signature proves it. The seal of the log's head proves the ends of its chains, and the log the rows of the other tables.
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
	{table: "pin", may: "select, insert, update, delete"},
}

// SetupOf returns the setup of the database at a postgres:// URL for a role, "" for the one that connects, in the first schema of the
// URL's search_path, or else in public.
func SetupOf(target, role string) (s Setup, err error) {
	if !isURL(target) {
		return s, errors.New("a file has no roles: the store has to be a postgres:// URL")
	}
	config, err := pgx.ParseConfig(target)
	if err != nil {
		return s, err
	}
	first, _, _ := strings.Cut(config.RuntimeParams["search_path"], ",")
	s = Setup{Role: cmp.Or(role, config.User), owner: config.User, Schema: cmp.Or(strings.Trim(strings.TrimSpace(first), `"`), "public")}
	for _, name := range []string{s.Role, s.Schema} {
		if name == "" || len(name) > 63 || strings.HasPrefix(name, "pg_") || strings.ContainsRune(name, 0) {
			return s, fmt.Errorf("%.80q cannot be the name of a role or a schema", name)
		}
	}
	return s, nil
}

// Script returns the statements that make the role and the tables where they are missing, bring the schema up to date, make the role that
// runs them the owner, and grant Weir's role what it needs and no more. They may be run again. They belong in one transaction.
func (s Setup) Script() ([]string, error) {
	if s.Role == s.owner {
		return nil, fmt.Errorf("%w: %s", ErrSameRole, s.Role)
	}
	todo, err := steps()
	if err != nil {
		return nil, err
	}
	role, schema := ident(s.Role), ident(s.Schema)
	types := dialectOf("postgres://").types
	script := []string{
		block("", "if not exists (select from pg_roles where rolname = %s) then create role %s login; end if;", literal(s.Role), role),
		block("", "if not exists (select from pg_namespace where nspname = %s) then create schema %s; end if;", literal(s.Schema), schema),
		"set local search_path to " + schema,
		block("declare t text; ", `for t in select tablename from pg_tables where schemaname = %s and tablename in (%s) and tableowner = %s loop
	execute format('alter table %%I owner to current_user', t);
end loop;`, literal(s.Schema), tableNames(), literal(s.Role)),
		types.Replace(makeSchema),
		block("", "if exists (select from schema where version > %d) then raise exception 'the schema is newer than this weir'; end if;", len(todo)),
	}
	for i, text := range todo {
		script = append(script, block("", `if exists (select from schema where version = %[1]d and digest <> '%[2]s') then
	raise exception 'version %[1]d of the schema is not that of this weir';
end if;
if not exists (select from schema where version = %[1]d) then
%[3]s;
	insert into schema (version, digest) values (%[1]d, '%[2]s');
end if;`, i+1, digestOf(text), strings.TrimRight(types.Replace(text), ";\n")))
	}
	script = append(script, "revoke all on schema "+schema+" from "+role, "grant usage on schema "+schema+" to "+role)
	for _, g := range grants {
		script = append(script, fmt.Sprintf("revoke all on table %s from public, %s", g.table, role),
			fmt.Sprintf("grant %s on table %s to %s", g.may, g.table, role))
		if g.column != "" {
			script = append(script, fmt.Sprintf("grant update (%s) on table %s to %s", g.column, g.table, role))
		}
	}
	return script, nil
}

// block returns statements of PL/pgSQL as one statement.
func block(declare, format string, args ...any) string {
	return "do $weir$ " + declare + "begin\n" + fmt.Sprintf(format, args...) + "\nend $weir$"
}

func ident(name string) string { return pgx.Identifier{name}.Sanitize() }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// tableNames returns the names of all tables as literals.
func tableNames() string {
	names := make([]string, len(grants))
	for i, g := range grants {
		names[i] = literal(g.table)
	}
	return strings.Join(names, ", ")
}

// Run runs the script in one transaction, as the role that the target names.
func (s Setup) Run(ctx context.Context, target string) error {
	script, err := s.Script()
	if err != nil {
		return err
	}
	return administer(ctx, target, func(d *DB) error {
		for attempt := 0; ; attempt++ {
			err := d.inTransaction(ctx, func(c *sql.Conn) error {
				for _, statement := range script {
					if _, err := c.ExecContext(ctx, statement); err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil || attempt == maxAttempts || !d.dialect.conflict(err) {
				return denied(err)
			}
			pause(attempt)
		}
	})
}

// administer calls do with a connection to a database server that may have no store yet.
func administer(ctx context.Context, target string, do func(*DB) error) (err error) {
	d := &DB{opts: Options{}.withDefaults(), dialect: dialectOf(target)}
	if err := d.dialect.open(ctx, d, target); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.pool.Close()) }()
	return do(d)
}

// ErrSameRole is the kind of error of a setup that Weir's own role would run: it would own the tables, and an owner can change them.
var ErrSameRole = errors.New("the role that connects and Weir's role have to be two")

// ErrDenied is the kind of error of what the role of the database may not do.
var ErrDenied = errors.New("the role of the database may not do that")

// denied returns the error of a statement with its kind. A role that may use no schema of its path is told that there is none.
func denied(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && (e.Code == "42501" || e.Code == "3F000") {
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	return err
}

const mayErase = `select has_table_privilege('entry', 'delete')`

// MayErase returns an error that is [ErrDenied] if the role of the database may not erase entries.
func (d *DB) MayErase(ctx context.Context) error {
	if d.place != nil {
		return nil
	}
	may := false
	err := d.reads.query(ctx, mayErase, func(rows *sql.Rows) error { return rows.Scan(&may) })
	if err == nil && !may {
		err = fmt.Errorf("%w: it may not erase entries of the log", ErrDenied)
	}
	return err
}
