package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// An Integrity is what a database says of its own files: of pages, indices and constraints, which the log's hashes do not cover.
type Integrity struct {
	Checked   []string `json:"checked"`             // in words
	Unchecked []string `json:"unchecked,omitempty"` // in words, with the reason
	Findings  []string `json:"findings,omitempty"`  // what is wrong; may quote the database
}

// Integrity has the database check itself, as far as it can and this user may. It reads all of it. A database that is too damaged for
// that is a finding, not an error.
func (d *DB) Integrity(ctx context.Context) (in Integrity, err error) {
	c, err := d.beginReading(ctx)
	if err != nil {
		return in, err
	}
	defer c.Close()
	for _, step := range d.dialect.examine {
		if err := step(ctx, c, &in); err != nil && ctx.Err() == nil {
			in.Findings = append(in.Findings, err.Error())
			break // the transaction may be lost
		}
	}
	if _, err := c.ExecContext(context.WithoutCancel(ctx), "rollback"); err != nil && len(in.Findings) == 0 {
		return in, err
	}
	return in, ctx.Err()
}

// examineSQLite finds pages that are damaged, used twice or never, rows out of order, and rows and indices that do not agree.
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

// examineRows has the server read each row of each table of the store. Others may be beside them, which this role may not read.
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
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return all, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}
