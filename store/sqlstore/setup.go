package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A Setup is how a PostgreSQL database keeps a store for a role of Weir that can append entries to the log, and can
// neither change nor remove them. The tables belong to another role, the owner, which runs the setup, migrates the
// schema and erases entries.
type Setup struct {
	Role   string // of Weir
	Schema string // of the tables
	owner  string // that connects
}

// SetupOf returns the setup of the database at a postgres:// URL for a role, "" for the one that connects, in the first
// schema of the URL's search_path, or else in public.
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

// Script returns the statements that make the role and the tables where they are missing, bring the schema up to date,
// make the role that runs them the owner, and grant Weir's role the privileges it needs and no more. They may be run
// again. They belong in one transaction.
func (s Setup) Script() ([]string, error) {
	if s.Role == s.owner {
		return nil, fmt.Errorf("%w: %s", ErrSameRole, s.Role)
	}
	todo, err := steps()
	if err != nil {
		return nil, err
	}
	role, schema := ident(s.Role), ident(s.Schema)
	types := postgresTypes
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

// Run runs the script in one transaction, as the role that the target names.
func (s Setup) Run(ctx context.Context, target string) error {
	script, err := s.Script()
	if err != nil {
		return err
	}
	return administer(ctx, target, func(p *pool) error {
		return denied(p.untilNoConflict(func() error {
			return p.inTransaction(ctx, func(c *sql.Conn) error {
				for _, statement := range script {
					if _, err := c.ExecContext(ctx, statement); err != nil {
						return err
					}
				}
				return nil
			})
		}))
	})
}

// administer calls do with a connection to a database server that may have no store yet.
func administer(ctx context.Context, target string, do func(*pool) error) (err error) {
	p := &pool{opts: Options{}.withDefaults(), dialect: dialectOf(target)}
	if err := p.dialect.open(ctx, p, target); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.db.Close()) }()
	return do(p)
}

// ErrSameRole is the kind of error of a setup that Weir's own role would run: it would own the tables, and an owner can
// change them.
var ErrSameRole = errors.New("the role that connects and Weir's role have to be two")
