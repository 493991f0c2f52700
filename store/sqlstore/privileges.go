package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Privileges are the differences between the privileges of a role of PostgreSQL on a store and the ones that Weir
// needs.
type Privileges struct {
	Role    string   `json:"role"`
	Schema  string   `json:"schema"`
	TooWide []string `json:"too_wide"` // in words: by which it may change or remove entries of the log, now or in the end
	Missing []string `json:"missing"`  // in words: the ones that Weir needs and it does not have
}

// OK reports whether the role has the privileges that Weir needs and no more.
func (p *Privileges) OK() bool { return len(p.TooWide)+len(p.Missing) == 0 }

// Inspect returns the privileges of the setup's role on the store in the database at a target, with any role
// connecting.
func (s Setup) Inspect(ctx context.Context, target string) (p Privileges, err error) {
	p = Privileges{Role: s.Role, Schema: s.Schema}
	err = administer(ctx, target, func(db *pool) error {
		reads := &statements{db: db.db, prepared: map[string]*sql.Stmt{}}
		return errors.Join(p.inspect(ctx, reads), reads.close())
	})
	return p, err
}

// reach names the roles that a role is, or may become.
const reach = `with reach as (select oid, rolname, rolsuper, rolcreaterole from pg_roles where pg_has_role($1::name, oid, 'member')) `

const (
	readRole = reach + `select rolname, rolsuper, rolcreaterole from reach order by rolname <> $1, rolname`

	readOwned = reach + `select 'database', datname from pg_database join reach on reach.oid = datdba where datname = current_database()
union all select 'schema', nspname from pg_namespace join reach on reach.oid = nspowner where nspname = $2
union all select 'table', relname from pg_class join reach on reach.oid = relowner
	where relnamespace = (select oid from pg_namespace where nspname = $2) and relname in (%s) order by 1, 2`

	readSchemaPrivileges = reach + `select
	coalesce(bool_or(has_schema_privilege(reach.oid, n.oid, 'create')), false),
	coalesce(bool_or(has_database_privilege(reach.oid, current_database(), 'create')), false),
	coalesce(bool_or(has_schema_privilege($1::name, n.oid, 'usage')), false), has_database_privilege($1::name, current_database(), 'connect')
from reach left join pg_namespace n on n.nspname = $2`

	readTablePrivileges = reach + `select c.relname, lower(may), bool_or(has_table_privilege(reach.oid, c.oid, may)),
	has_table_privilege($1::name, c.oid, may)
from pg_class c, reach, unnest(array['SELECT', 'INSERT', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) may
where c.relnamespace = (select oid from pg_namespace where nspname = $2) and c.relname in (%[1]s) group by 1, 2, c.oid, may
union all
select c.relname, 'update (' || attname || ')', bool_or(has_column_privilege(reach.oid, c.oid, attnum, 'UPDATE')),
	has_column_privilege($1::name, c.oid, attnum, 'UPDATE')
from pg_class c join pg_attribute a on a.attrelid = c.oid, reach
where attnum > 0 and not attisdropped and c.relnamespace = (select oid from pg_namespace where nspname = $2) and c.relname in (%[1]s)
group by 1, 2, c.oid, attnum order by 1, 2`
)

// inspect fills in the privileges that are too wide and that are missing.
func (p *Privileges) inspect(ctx context.Context, reads *statements) error {
	p.TooWide, p.Missing = []string{}, []string{}
	super := false
	err := reads.query(ctx, readRole, func(rows *sql.Rows) error {
		var name string
		var all, creates bool
		if err := rows.Scan(&name, &all, &creates); err != nil || super {
			return err
		}
		super = super || name == p.Role && all
		p.TooWide = append(p.TooWide, p.ofRole(name, all, creates)...)
		return nil
	}, p.Role)
	if err != nil || super {
		return err
	}
	owned, err := p.owned(ctx, reads)
	if err != nil {
		return err
	}
	if err := p.ofSchema(ctx, reads); err != nil {
		return err
	}
	return p.ofTables(ctx, reads, owned)
}

// ofRole returns the rights of a role that the role is, or may become, by itself and without grants.
func (p *Privileges) ofRole(name string, super, creates bool) (wide []string) {
	as := ""
	if name != p.Role {
		as = fmt.Sprintf("as a member of %q ", name)
	}
	switch {
	case super:
		wide = append(wide, "it "+as+"is a superuser")
	case name == "pg_execute_server_program" || name == "pg_write_server_files":
		wide = append(wide, "it "+as+"may change files of the database server")
	case creates:
		wide = append(wide, "it "+as+"may create roles, and make itself a member of others")
	}
	return wide
}

// owned adds the objects that the role owns, and returns the tables among them.
func (p *Privileges) owned(ctx context.Context, reads *statements) (tables map[string]bool, err error) {
	tables = map[string]bool{}
	names := map[string][]string{}
	err = reads.query(ctx, fmt.Sprintf(readOwned, tableNames()), func(rows *sql.Rows) error {
		var kind, name string
		err := rows.Scan(&kind, &name)
		names[kind] = append(names[kind], name)
		if kind == "table" {
			tables[name] = true
		}
		return err
	}, p.Role, p.Schema)
	for _, kind := range []string{"database", "schema", "table"} {
		if all := slices.Compact(names[kind]); len(all) > 0 {
			p.TooWide = append(p.TooWide, fmt.Sprintf("it is the owner of the %s %s, or a member of that", kind, strings.Join(all, ", ")))
		}
	}
	return tables, err
}

// ofSchema adds the privileges by which the role could put other tables in the place of those of the store.
func (p *Privileges) ofSchema(ctx context.Context, reads *statements) error {
	return reads.query(ctx, readSchemaPrivileges, func(rows *sql.Rows) error {
		var inSchema, inDatabase, uses, connects bool
		err := rows.Scan(&inSchema, &inDatabase, &uses, &connects)
		if inSchema {
			p.TooWide = append(p.TooWide, "it may create tables in the schema "+p.Schema)
		}
		if inDatabase {
			p.TooWide = append(p.TooWide, "it may create schemas in the database")
		}
		if !uses {
			p.Missing = append(p.Missing, "usage of the schema "+p.Schema)
		}
		if !connects {
			p.Missing = append(p.Missing, "connecting to the database")
		}
		return err
	}, p.Role, p.Schema)
}

// ofTables holds the privileges on tables against the grants.
func (p *Privileges) ofTables(ctx context.Context, reads *statements, owned map[string]bool) error {
	seen, wide := map[string]bool{}, map[string][]string{}
	err := reads.query(ctx, fmt.Sprintf(readTablePrivileges, tableNames()), func(rows *sql.Rows) error {
		var table, may string
		var reached, own bool
		if err := rows.Scan(&table, &may, &reached, &own); err != nil {
			return err
		}
		seen[table] = true
		needed := needs(table, may)
		switch {
		case needed && !own:
			p.Missing = append(p.Missing, may+" on the table "+table)
		case !needed && reached && !owned[table]:
			wide[table] = append(wide[table], may)
		}
		return nil
	}, p.Role, p.Schema)
	for _, table := range slices.Sorted(maps.Keys(wide)) {
		p.TooWide = append(p.TooWide, fmt.Sprintf("it may %s on the table %s", strings.Join(wide[table], ", "), table))
	}
	for _, g := range grants {
		if err == nil && !seen[g.table] {
			p.Missing = append(p.Missing, "the table "+g.table)
		}
	}
	return err
}

// needs reports whether Weir needs a privilege on a table, "update (COLUMN)" for one column.
func needs(table, may string) bool {
	i := slices.IndexFunc(grants, func(g grant) bool { return g.table == table })
	verb, column, _ := strings.Cut(may, " ")
	return i >= 0 && (slices.Contains(strings.Split(grants[i].may, ", "), verb) || column != "" && column == "("+grants[i].column+")")
}
