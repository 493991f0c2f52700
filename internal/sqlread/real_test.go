package sqlread_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weir-mcp/weir/internal/sqlread"
)

// postgresBin is the directory with initdb and postgres. The test makes a cluster of its own, on a unix socket.
var postgresBin = flag.String("postgres", "", "the directory of PostgreSQL's programs, such as /usr/lib/postgresql/15/bin; without it its tests are skipped")

const schema = `
create extension dblink; create extension tablefunc; create extension lo; create extension xml2; create extension pg_trgm; create extension file_fdw;
create table users (id int primary key, name text, active bool);
insert into users values (1, 'ann', true), (2, 'ben', false);
create table orders (id int primary key, user_id int, total numeric, created_at timestamptz, comment text);
insert into orders values (1, 1, 10, now(), 'x'), (2, 1, 20, now(), 'y');
create table notes (data jsonb, comment text, update text, "delete" text);
insert into notes values ('{"a": {"b": 1}, "items": [1, 2]}');
create view v as select * from users;
create sequence s;
create function writes() returns int language sql as $$ insert into users values ((select max(id) + 1 from users), 'evil', true) returning id $$;
create function of_row(users) returns int language sql as $$ select 1 $$`

// startPostgres starts a cluster and returns a connection as its superuser.
func startPostgres(t *testing.T) (conn *pgx.Conn, dir string) {
	t.Helper()
	if *postgresBin == "" {
		t.Skip("-postgres is not set")
	}
	dir, err := os.MkdirTemp("", "weir-pg-") // a short path: that of a socket has to be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Geteuid() == 0 { // PostgreSQL does not run as root
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	program := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(*postgresBin, name), args...)
		cmd.SysProcAttr, cmd.Dir = attr, dir
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := program("initdb", "-D", data, "-U", "weir", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := program("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Signal(syscall.SIGINT); server.Wait() })
	ctx := context.Background()
	for range 300 {
		if conn, err = pgx.Connect(ctx, "host="+dir+" user=weir dbname=postgres default_query_exec_mode=simple_protocol"); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(ctx) })
	for _, s := range strings.Split(schema, "\n") {
		if _, err := conn.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return conn, dir
}

// TestPostgreSQL runs, as a superuser, every statement of all corpora that counts as reading only. Each runs in a transaction that may
// write; none takes a transaction number, a lock that outlives it, a setting, a sequence, a large object, or a file.
func TestPostgreSQL(t *testing.T) {
	conn, dir := startPostgres(t)
	ctx, r, ran := context.Background(), new(sqlread.Reader), 0
	state := func() string {
		var s string
		err := conn.QueryRow(ctx, `select concat_ws(' / ', (select md5(string_agg(u::text, ',' order by id)) from users u), (select count(*) from pg_class),
			(select count(*) from pg_proc), (select last_value || '/' || is_called from s), (select count(*) from pg_largeobject_metadata),
			(select md5(string_agg(name || setting, ',' order by name)) from pg_settings), (select count(*) from pg_locks where locktype = 'advisory'),
			(select count(*) from pg_cursors), (select count(*) from pg_prepared_statements), (select count(*) from pg_listening_channels()),
			(select count(*) from pg_replication_slots), (select pg_current_snapshot()))`).Scan(&s)
		if err != nil {
			t.Fatal(err)
		}
		return s + files(t, filepath.Dir(dir), dir)
	}
	before := state()
	for _, name := range []string{"postgresql.reads.sql", "postgresql.acts.sql", "mysql.reads.sql", "mysql.acts.sql", "sqlite.reads.sql", "sqlite.acts.sql"} {
		for _, s := range statements(t, name) {
			if !r.ReadOnly(s, "postgresql") {
				continue
			}
			ran++
			_, err := conn.Exec(ctx, s)
			if err != nil && name == "postgresql.reads.sql" {
				t.Errorf("%s: %v", s, err)
			}
			if after := state(); after != before {
				t.Errorf("%s changed\n%s to\n%s", s, before, after)
				before = after
			}
		}
	}
	if ran < 140 {
		t.Errorf("only %d statements ran", ran)
	}
}

// lookers are the functions that PostgreSQL calls volatile and that only look, or give chance or the time.
var lookers = strings.Fields("random gen_random_uuid clock_timestamp timeofday currval lastval current_query pg_blocking_pids pg_safe_snapshot_blocking_pids " +
	"pg_database_size pg_indexes_size pg_relation_size pg_table_size pg_tablespace_size pg_total_relation_size pg_is_in_recovery pg_partition_ancestors " +
	"pg_partition_tree pg_current_wal_lsn pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_sequence_last_value")

// TestFunctions checks every function that the server has, in each way in which it can be called. Allowed are functions
// that the server itself calls stable, and lookers; the functions of extensions and users are not.
func TestFunctions(t *testing.T) {
	conn, _ := startPostgres(t)
	r := new(sqlread.Reader)
	rows, err := conn.Query(context.Background(), `select p.proname::text, n.nspname::text, bool_or(p.provolatile = 'v') from pg_proc p
		join pg_namespace n on n.oid = p.pronamespace group by 1, 2 order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	allowed := 0
	for rows.Next() {
		var name, space string
		var volatile bool
		if err := rows.Scan(&name, &space, &volatile); err != nil {
			t.Fatal(err)
		}
		quoted := `"` + name + `"`
		for _, s := range []string{
			"select " + quoted + "(1)", "select * from " + quoted + "(1)", "select pg_catalog." + quoted + "(1)", "select ('x'::text)." + quoted,
			"select f." + quoted + " from lower('x') f", "select (f)." + quoted + " from lower('x') f", "select 1 order by " + quoted + "()",
		} {
			if !r.ReadOnly(s, "postgresql") {
				continue
			}
			allowed++
			if volatile && !slices.Contains(lookers, name) {
				t.Errorf("%s may be called, and is volatile", s)
			}
			if space != "pg_catalog" && !strings.Contains(s, "pg_catalog") && volatile {
				t.Errorf("%s may be called, and is in %s", s, space)
			}
		}
		for _, s := range []string{"select " + space + "." + quoted + "(1)", "select x." + space + "." + quoted + "(1)"} {
			if space != "pg_catalog" && r.ReadOnly(s, "postgresql") {
				t.Errorf("%s may be called", s)
			}
		}
	}
	if err := rows.Err(); err != nil || allowed < 500 {
		t.Errorf("%d functions may be called: %v", allowed, err)
	}
}

// TestSQLite runs the statements that count as read-only on a database of SQLite: the file, its folder and the settings
// stay as they are.
func TestSQLite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.db")
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`create table users (id, name, active, created_at); insert into users values (1, 'ann', 1, '2026-01-01');
		create table orders (id, user_id, total, created_at, comment); insert into orders values (1, 1, 10, '2026-01-01', 'x');
		create table notes (data, comment, "update", "delete"); insert into notes values ('{"a": 1, "items": [1, 2]}', 'a', 'b', 'c')`); err != nil {
		t.Fatal(err)
	}
	r, ran, before := new(sqlread.Reader), 0, files(t, dir, "")
	for _, corpus := range []string{"sqlite.reads.sql", "sqlite.acts.sql", "postgresql.reads.sql", "postgresql.acts.sql", "mysql.reads.sql", "mysql.acts.sql"} {
		for _, s := range statements(t, corpus) {
			if !r.ReadOnly(s, "sqlite") {
				continue
			}
			ran++
			rows, err := db.Query(s, slices.Repeat([]any{sql.Named("name", 1)}, strings.Count(s, ":name"))...)
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
				rows.Close()
			}
			if err != nil && corpus == "sqlite.reads.sql" && !strings.Contains(s, "?") {
				t.Errorf("%s: %v", s, err)
			}
			if after := files(t, dir, ""); after != before {
				t.Errorf("%s changed %s", s, name)
				before = after
			}
		}
	}
	if ran < 45 {
		t.Errorf("only %d statements ran", ran)
	}
}

// files returns the files directly in a folder with their contents; of the data of PostgreSQL itself only the names of
// those that are no data of its own.
func files(t *testing.T, dir, cluster string) string {
	t.Helper()
	if cluster != "" {
		var names []string
		for _, folder := range []string{cluster, filepath.Join(cluster, "data")} {
			entries, err := os.ReadDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
		return strings.Join(names, " ")
	}
	hash := sha256.New()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		fmt.Fprintf(hash, "%s %x\n", name, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}
