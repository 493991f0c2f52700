package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
)

// dialectOf returns the dialect of the database at a target.
func dialectOf(target string) *dialect {
	if isURL(target) {
		return &dialect{
			name: "postgres", open: openPostgres, begin: "begin isolation level read committed", lock: " for update",
			snapshot: []string{"begin isolation level repeatable read read only", postgresPatient},
			patient:  postgresPatient,
			size:     "select pg_database_size(current_database())",
			types:    postgresTypes,
			tell:     postgresTell,
			synced:   "set synchronous_commit = on",
			conflict: postgresConflict, lost: postgresLost, dropped: postgresDropped, listen: listenPostgres,
			examine: []func(context.Context, *sql.Conn, *Integrity) error{examineRows, examinePostgres, examineIndices},
			known:   "select count(*) from pg_class where oid = to_regclass('schema')",
		}
	}
	return &dialect{
		name: "sqlite", open: openSQLite, begin: "begin immediate", snapshot: []string{"begin"},
		version:  "pragma data_version",
		backup:   "vacuum into $1",
		synced:   "pragma synchronous = full",
		scrub:    "pragma wal_checkpoint(truncate)",
		takeOver: "pragma wal_checkpoint(passive)",
		size:     "select page_count * page_size from pragma_page_count, pragma_page_size",
		used:     "select (page_count - freelist_count) * page_size from pragma_page_count, pragma_freelist_count, pragma_page_size",
		types:    sqliteTypes,
		examine:  []func(context.Context, *sql.Conn, *Integrity) error{examineSQLite, examineSchema, examineTypes},
		known:    "select count(*) from sqlite_master where name = 'schema'",
		conflict: sqliteConflict, lost: badConn, dropped: badConn,
	}
}

func badConn(err error) bool { return errors.Is(err, driver.ErrBadConn) }

// isURL reports whether the target is a database server's.
func isURL(target string) bool {
	return strings.HasPrefix(target, "postgres://") || strings.HasPrefix(target, "postgresql://")
}
