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

// An object is one of an SQLite schema: a table, an index, a view or a trigger.
type object struct{ kind, name, text string }

const (
	// listObjects leaves out the tables of ANALYZE.
	listObjects = `select type, name, coalesce(sql, '') from sqlite_master where name not in ('sqlite_stat1', 'sqlite_stat4') order by type, name`
	listColumns = `select m.name, c.name, c.type from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' order by m.name, c.cid`
)

// A shape is the schema that the migrations make.
type shape struct {
	objects map[object]bool
	tables  map[string][]object // their columns, with their types as texts
}

// shaped returns the schema that the migrations make, by doing them in memory.
func shaped(ctx context.Context) (s shape, err error) {
	pool, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return s, err
	}
	defer pool.Close()
	c, err := pool.Conn(ctx)
	if err != nil {
		return s, err
	}
	defer c.Close()
	todo, err := steps()
	if err == nil {
		err = bring(ctx, c, sqliteTypes, todo)
	}
	if err != nil {
		return s, err
	}
	s = shape{map[object]bool{}, map[string][]object{}}
	all, err := objects(ctx, c, listObjects)
	for _, o := range all {
		s.objects[o] = true
	}
	columns, also := objects(ctx, c, listColumns)
	for _, o := range columns {
		s.tables[o.kind] = append(s.tables[o.kind], o)
	}
	return s, errors.Join(err, also)
}

func objects(ctx context.Context, c *sql.Conn, text string) (all []object, err error) {
	rows, err := c.QueryContext(ctx, text)
	err = each(rows, err, func(rows *sql.Rows) error {
		var o object
		err := rows.Scan(&o.kind, &o.name, &o.text)
		all = append(all, o)
		return err
	})
	return all, err
}

// examineSchema finds objects that the migrations do not make: a trigger or a view can change and hide rows.
func examineSchema(ctx context.Context, c *sql.Conn, in *Integrity) error {
	in.Checked = append(in.Checked, "SQLite: the schema is the one of this version, without triggers and views")
	want, err := shaped(ctx)
	if err != nil {
		return err
	}
	there, err := objects(ctx, c, listObjects)
	for _, o := range there {
		if !want.objects[o] {
			in.Findings = append(in.Findings, fmt.Sprintf("the %s %.100q is not of the schema", o.kind, o.name))
		}
		delete(want.objects, o)
	}
	for o := range want.objects {
		in.Findings = append(in.Findings, fmt.Sprintf("the %s %s of the schema is missing or another", o.kind, o.name))
	}
	return err
}

// examineTypes finds values that are not of the type of their column, which SQLite takes: they are equal to none that a
// query looks for.
func examineTypes(ctx context.Context, c *sql.Conn, in *Integrity) error {
	in.Checked = append(in.Checked, "SQLite: each value is of the type of its column")
	want, err := shaped(ctx)
	if err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(want.tables)) {
		columns := want.tables[table]
		sums := make([]string, len(columns))
		counts, places := make([]int64, len(columns)), make([]any, len(columns))
		for i, column := range columns {
			bad := fmt.Sprintf("typeof(%s) <> '%s'", column.name, strings.ToLower(column.text))
			if strings.EqualFold(column.text, "blob") {
				bad = fmt.Sprintf("(%s and %s <> '')", bad, column.name) // an empty one is the default
			}
			sums[i], places[i] = "coalesce(sum("+bad+"), 0)", &counts[i]
		}
		if err := c.QueryRowContext(ctx, "select "+strings.Join(sums, ", ")+" from "+table).Scan(places...); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
		for i, n := range counts {
			if n > 0 {
				in.Findings = append(in.Findings, fmt.Sprintf("table %s: %d values of %s are not of the type %s", table, n, columns[i].name, columns[i].text))
			}
		}
	}
	return nil
}

// listAttached lists objects that change or hide rows of tables and are not of the schema. The names of the tables go
// in first, then those of the indices.
const listAttached = `with own as (select oid, relname, relkind from pg_class
	where relnamespace = current_schema()::regnamespace and relname in (%[1]s))
select 'trigger', tgname || ' on ' || relname, '' from pg_trigger join own on own.oid = tgrelid where not tgisinternal
union all select 'rule', rulename || ' on ' || relname, '' from pg_rewrite join own on own.oid = ev_class
union all select 'policy', polname || ' on ' || relname, '' from pg_policy join own on own.oid = polrelid
union all select 'table', 'that inherits ' || relname, '' from pg_inherits join own on own.oid in (inhparent, inhrelid)
union all select 'relation', relname, '' from own where relkind <> 'r'
union all select 'index', i.relname || ' on ' || own.relname, '' from pg_index join own on own.oid = indrelid join pg_class i on i.oid = indexrelid
	where i.relname not in (%[2]s) and i.relname <> own.relname || '_pkey'
union all select 'column', attname || ' of ' || relname, '' from pg_attribute join own on own.oid = attrelid where attnum > 0 and not attisdropped
	and (atttypid not in ('bigint'::regtype, 'bytea'::regtype, 'text'::regtype) or attgenerated <> '')`

// examinePostgres finds objects that are attached to the tables and not made by the migrations. Other tables may be
// beside them.
func examinePostgres(ctx context.Context, c *sql.Conn, in *Integrity) error {
	in.Checked = append(in.Checked, "PostgreSQL: the tables have no triggers, rules, policies, heirs,"+
		" indices or types beyond the schema of this version")
	want, err := shaped(ctx)
	if err != nil {
		return err
	}
	var tables, indices []string
	for o := range want.objects {
		if o.kind == "table" {
			tables = append(tables, "'"+o.name+"'")
		} else {
			indices = append(indices, "'"+o.name+"'")
		}
	}
	found, err := objects(ctx, c, fmt.Sprintf(listAttached, strings.Join(tables, ", "), strings.Join(indices, ", ")))
	for _, o := range found {
		in.Findings = append(in.Findings, fmt.Sprintf("the %s %.100q is not of the schema", o.kind, o.name))
	}
	return err
}

// An Integrity is the result of a database's check of its own files: of pages, indices and constraints, which the log's
// hashes do not cover.
type Integrity struct {
	Checked   []string `json:"checked"`             // in words
	Unchecked []string `json:"unchecked,omitempty"` // in words, with the reason
	Findings  []string `json:"findings,omitempty"`  // may quote the database
}

// examineSQLite finds pages that are damaged, used twice or never, rows out of order, and rows and indices that do not
// agree.
func examineSQLite(ctx context.Context, c *sql.Conn, in *Integrity) error {
	in.Checked = append(in.Checked, "SQLite: pragma integrity_check, of all tables and indices")
	in.Unchecked = append(in.Unchecked, "free pages, which hold nothing")
	said, err := column(ctx, c, "pragma integrity_check(100)")
	for _, s := range said {
		if s != "ok" {
			in.Findings = append(in.Findings, s)
		}
	}
	return err
}

const (
	listTables  = `select quote_ident(tablename) from pg_tables where schemaname = current_schema() and tablename in (%s) order by tablename`
	listIndices = `select indexrelid::regclass::text from pg_index where indrelid in
	(select oid from pg_class where relnamespace = current_schema()::regnamespace) order by 1`
	mayCheck = `select coalesce((select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where case
	when extname = 'amcheck' then has_function_privilege(quote_ident(n.nspname) || '.bt_index_check(regclass, boolean)', 'execute') end), '')`
)

// examineRows has the server read each row of each table of the store. Others may be beside them, which this role may
// not read.
func examineRows(ctx context.Context, c *sql.Conn, in *Integrity) error {
	in.Checked = append(in.Checked, "PostgreSQL: each row of each table can be read")
	tables, err := column(ctx, c, fmt.Sprintf(listTables, tableNames()))
	if err != nil {
		return err
	}
	for _, table := range tables {
		var bytes sql.NullInt64
		if err := c.QueryRowContext(ctx, "select sum(length(t::text)) from "+table+" t").Scan(&bytes); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	return nil
}

// examineIndices compares the indices with their tables, if the extension amcheck is there and this user may use it.
func examineIndices(ctx context.Context, c *sql.Conn, in *Integrity) error {
	var schema string
	if err := c.QueryRowContext(ctx, mayCheck).Scan(&schema); err != nil {
		return err
	}
	in.Unchecked = append(in.Unchecked, "checksums of pages: pg_checksums, or data_checksums of the server")
	if schema == "" {
		in.Unchecked = append(in.Unchecked, "indices: the extension amcheck is not there, or this user may not call bt_index_check(regclass, boolean)")
		return nil
	}
	in.Checked = append(in.Checked, "PostgreSQL: bt_index_check of amcheck, of all indices")
	indices, err := column(ctx, c, listIndices)
	if err != nil {
		return err
	}
	check := `select "` + strings.ReplaceAll(schema, `"`, `""`) + `".bt_index_check($1::regclass, true)`
	for _, index := range indices {
		if _, err := c.ExecContext(ctx, check, index); err != nil {
			return fmt.Errorf("index %s: %w", index, err)
		}
	}
	return nil
}

// column returns the texts that a query returns.
func column(ctx context.Context, c *sql.Conn, text string) (all []string, err error) {
	rows, err := c.QueryContext(ctx, text)
	err = each(rows, err, func(rows *sql.Rows) error {
		var s string
		err := rows.Scan(&s)
		all = append(all, s)
		return err
	})
	return all, err
}
