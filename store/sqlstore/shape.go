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
	// listObjects leaves out what ANALYZE writes.
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
		err = dialectOf("").bring(ctx, c, todo)
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
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var o object
		if err := rows.Scan(&o.kind, &o.name, &o.text); err != nil {
			return all, err
		}
		all = append(all, o)
	}
	return all, rows.Err()
}

// examineSchema finds what the migrations do not make: a trigger or a view can change and hide what is written and read.
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

// examineTypes finds values that are not of the type of their column, which SQLite takes: they are equal to none that a query looks for.
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

// listAttached lists what changes or hides rows of tables and is not of the schema. The names of the tables go in first, then those of the indices.
const listAttached = `with own as (select oid, relname, relkind from pg_class where relnamespace = current_schema()::regnamespace and relname in (%[1]s))
select 'trigger', tgname || ' on ' || relname, '' from pg_trigger join own on own.oid = tgrelid where not tgisinternal
union all select 'rule', rulename || ' on ' || relname, '' from pg_rewrite join own on own.oid = ev_class
union all select 'policy', polname || ' on ' || relname, '' from pg_policy join own on own.oid = polrelid
union all select 'table', 'that inherits ' || relname, '' from pg_inherits join own on own.oid in (inhparent, inhrelid)
union all select 'relation', relname, '' from own where relkind <> 'r'
union all select 'index', i.relname || ' on ' || own.relname, '' from pg_index join own on own.oid = indrelid join pg_class i on i.oid = indexrelid
	where i.relname not in (%[2]s) and i.relname <> own.relname || '_pkey'
union all select 'column', attname || ' of ' || relname, '' from pg_attribute join own on own.oid = attrelid where attnum > 0 and not attisdropped
	and (atttypid not in ('bigint'::regtype, 'bytea'::regtype, 'text'::regtype) or attgenerated <> '')`

// examinePostgres finds what is attached to the tables and not made by the migrations. Other tables may be beside them.
func examinePostgres(ctx context.Context, c *sql.Conn, in *Integrity) error {
	in.Checked = append(in.Checked, "PostgreSQL: the tables have no triggers, rules, policies, heirs, indices or types beyond the schema of this version")
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
