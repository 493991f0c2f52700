package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
)

// A dialect is what differs between the databases: how to connect, how a write transaction begins, and types.
type dialect struct {
	name     string
	open     func(target string, synced bool) (*sql.DB, error)
	begin    string            // a write transaction
	lock     string            // follows the statement that reads the state, which then no other transaction can read so
	snapshot string            // a transaction that reads
	size     string            // how many bytes the database has
	tell     string            // tells other processes of an answer, once the transaction is committed; "" if that cannot be
	version  string            // the query for a number that changes with each commit of others; "" if there is none
	backup   string            // the statement that writes a copy to a file; "" if there is none
	scrub    string            // the query that overwrites what was removed and is still in files; "" if there is none
	types    *strings.Replacer // of the words in the schema

	conflict func(error) bool // whether a transaction that ended so had no effect, because of another, and is worth another attempt
	lost     func(error) bool // whether the connection was lost, or the server is starting or ending

	listen func(ctx context.Context, target string, ring func()) error // hears of answers until an error; nil if that cannot be
}

func dialectOf(target string) *dialect {
	if isURL(target) {
		return &dialect{
			name: "postgres", open: openPostgres, begin: "begin isolation level read committed", lock: " for update",
			snapshot: "begin isolation level repeatable read read only",
			size:     "select pg_database_size(current_database())",
			types:    strings.NewReplacer("INT", "bigint", "BYTES", "bytea", "TEXT", `text collate "C"`),
			tell:     postgresTell,
			conflict: postgresConflict, lost: postgresLost, listen: listenPostgres,
		}
	}
	return &dialect{
		name: "sqlite", open: openSQLite, begin: "begin immediate", snapshot: "begin",
		version:  "pragma data_version",
		backup:   "vacuum into $1",
		scrub:    "pragma wal_checkpoint(truncate)",
		size:     "select page_count * page_size from pragma_page_count, pragma_page_size",
		types:    strings.NewReplacer("INT", "integer", "BYTES", "blob", "TEXT", "text"),
		conflict: sqliteConflict, lost: func(err error) bool { return errors.Is(err, driver.ErrBadConn) },
	}
}

// openSQLite opens a file, and makes it first, so that its mode is not left to the umask. The files beside it get its mode.
func openSQLite(path string, synced bool) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others may read %s: its mode is %v, not 0600", path, info.Mode())
	}
	synchronous := "synchronous(full)"
	if !synced {
		synchronous = "synchronous(normal)" // syncs when the write-ahead log is taken over, not at each commit
	}
	pragmas := url.Values{
		"_pragma": {"busy_timeout(20000)", "journal_mode(wal)", synchronous, "secure_delete(on)", "cache_size(-8192)"},
	}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: pragmas.Encode()}).String())
}

func sqliteConflict(err error) bool {
	const busy, locked = 5, 6
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == busy || e.Code()&0xff == locked)
}

func openPostgres(target string, synced bool) (*sql.DB, error) {
	config, err := configPostgres(target)
	if err != nil {
		return nil, err
	}
	if !synced {
		config.RuntimeParams["synchronous_commit"] = "off"
	}
	return stdlib.OpenDB(*config), nil
}

// configPostgres returns how to connect to a server.
func configPostgres(target string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(target)
	if err == nil && config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "weir"
	}
	return config, err
}

// postgresConflict knows serialization failures and deadlocks, and tables that two processes make at once.
func postgresConflict(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "40001", "40P01", "23505", "42P07":
		return true
	}
	return false
}

func postgresLost(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) { // what is no answer of the server comes from the way to it
		return !errors.Is(err, context.Canceled)
	}
	return strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08")
}
