package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"os"
	"strings"
)

// A dialect is what differs between the databases: how to connect, how a write transaction begins, and types.
type dialect struct {
	name     string
	open     func(ctx context.Context, d *DB, target string) error // sets the pool, and the place of a file
	begin    string                                                // a write transaction
	lock     string                                                // follows the statement that reads the state, which then no other transaction can read so
	patient  string                                                // has the transaction wait for the program as long as that takes; "" if it does
	snapshot []string                                              // begin a transaction that reads
	size     string                                                // how many bytes the database has
	used     string                                                // how many of these are in use; "" if that is not known
	tell     string                                                // tells other processes of an answer, once the transaction is committed; "" if that cannot be
	version  string                                                // the query for a number that changes with each commit of others; "" if there is none
	backup   string                                                // the statement that writes a copy to a file; "" if there is none
	synced   string                                                // has the connection wait for the disk at each commit from now on
	scrub    string                                                // the query that overwrites what was removed and is still in files; "" if there is none
	types    *strings.Replacer                                     // of the words in the schema

	conflict func(error) bool // whether a transaction that ended so had no effect, because of another, and is worth another attempt
	lost     func(error) bool // whether the connection was lost, or the server is starting or ending
	dropped  func(error) bool // whether a connection was lost that had been made
	known    string           // the query for whether there is a schema
	examine  []func(context.Context, *sql.Conn, *Integrity) error

	hangUp func()   // closes all connections at once; nil if that is never needed
	copied []string // directories to remove in the end

	listen func(ctx context.Context, target string, ring func()) error // hears of answers until an error; nil if that cannot be
}

func dialectOf(target string) *dialect {
	if isURL(target) {
		return &dialect{
			name: "postgres", open: openPostgres, begin: "begin isolation level read committed", lock: " for update",
			snapshot: []string{"begin isolation level repeatable read read only", postgresPatient},
			patient:  postgresPatient,
			size:     "select pg_database_size(current_database())",
			types:    strings.NewReplacer("INT", "bigint", "BYTES", "bytea", "TEXT", `text collate "C"`),
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
		size:     "select page_count * page_size from pragma_page_count, pragma_page_size",
		used:     "select (page_count - freelist_count) * page_size from pragma_page_count, pragma_freelist_count, pragma_page_size",
		types:    strings.NewReplacer("INT", "integer", "BYTES", "blob", "TEXT", "text"),
		examine:  []func(context.Context, *sql.Conn, *Integrity) error{examineSQLite, examineSchema, examineTypes},
		known:    "select count(*) from sqlite_master where name = 'schema'",
		conflict: sqliteConflict, lost: badConn, dropped: badConn,
	}
}

func badConn(err error) bool { return errors.Is(err, driver.ErrBadConn) }

// remove removes copies that were made.
func (dia *dialect) remove() (all error) {
	for _, dir := range dia.copied {
		all = errors.Join(all, os.RemoveAll(dir))
	}
	return all
}
