package sqlstore_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
	"github.com/weir-mcp/weir/store/storetest"
)

// as returns the URL of the same database for another role.
func as(t *testing.T, target, role string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// restricted returns the URL of an empty schema for a role that was set up for it.
func (c *cluster) restricted(t *testing.T, role string) string {
	t.Helper()
	owner := c.fresh(t)
	s, err := sqlstore.SetupOf(owner, role)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it may be run again
		if err := s.Run(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := s.Inspect(t.Context(), owner); err != nil || !p.OK() {
		t.Fatalf("%+v, %v", p, err)
	}
	return as(t, owner, role)
}

// A restricted role does all that a store has to do.
func TestPostgresRoleKeepsState(t *testing.T) {
	c := startCluster(t)
	storetest.RunBackend(t, func(t *testing.T, now func() time.Time) store.Backend {
		return open(t, c.restricted(t, "keeper"), &sqlstore.Options{Now: now})
	})
}

// A restricted role appends to the log, signs and rotates, and can neither change nor remove its entries, nor the schema.
func TestPostgresRoleOnlyAppends(t *testing.T) {
	c := startCluster(t)
	target := c.restricted(t, "keeper")
	anchor, err := audit.OpenAnchor(t.TempDir()+"/anchor", "example.com/log", nil)
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, target, &sqlstore.Options{Anchor: anchor})
	entries := []audit.Entry{{Time: time.Now(), Chain: "a", Kind: "k", Body: []byte("{}"), Aside: []byte("aside")}}
	if _, err := db.Log().Append(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(t.Context(), db.Log(), anchor)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := log.Rotate(t.Context(), time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Log().RemoveAsides(t.Context(), []int64{0}); err != nil || n != 1 {
		t.Errorf("removed %d, %v", n, err)
	}
	if err := db.MayErase(t.Context()); !errors.Is(err, sqlstore.ErrDenied) {
		t.Errorf("erasing: %v", err)
	}
	if err := open(t, as(t, target, "weir"), &sqlstore.Options{Untouched: true}).MayErase(t.Context()); err != nil {
		t.Errorf("erasing by the owner: %v", err)
	}
	raw, err := sql.Open("pgx", target)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for _, text := range []string{
		"update entry set body = ''", "delete from entry", "truncate entry", "alter table entry add column x int", "drop table entry",
		"alter table entry disable trigger all", "update node set hash = ''", "delete from node", "truncate node", "delete from checkpoint",
		"update checkpoint set size = 0", "truncate checkpoint, chain", "delete from chain", "delete from state", "truncate state",
		"update schema set version = 9", "delete from schema", "create table other (x int)", "create schema keeper",
		"create rule r as on insert to entry do instead nothing", "create trigger t before insert on entry execute function suppress_redundant_updates_trigger()",
		"alter table entry owner to keeper", "grant all on entry to keeper", "set role weir", "set session_replication_role = replica",
		"insert into entry select * from entry on conflict (seq) do update set body = excluded.body", "create index i on entry (time)",
		"alter table entry enable row level security", "create table heir () inherits (entry)",
	} {
		_, err := raw.Exec(text)
		var e *pgconn.PgError
		if denied := errors.As(err, &e) && slices.Contains([]string{"42501", "0LP01"}, e.Code); !denied && !strings.HasPrefix(text, "grant") {
			t.Errorf("%s: %v", text, err)
		}
	}
	report, err := audit.Verify(t.Context(), db.Log(), audit.VerifyOptions{Anchor: anchor})
	if err != nil || report.Result() != audit.OK {
		t.Errorf("%+v, %v", report, err)
	}
	in, err := db.Integrity(t.Context())
	if err != nil || len(in.Findings) > 0 {
		t.Errorf("%+v, %v", in, err)
	}
}

// Each privilege that is too wide or missing is told, as long as it is.
func TestPostgresRoleInspected(t *testing.T) {
	c := startCluster(t)
	target := c.restricted(t, "keeper")
	owner := as(t, target, "weir")
	s, err := sqlstore.SetupOf(owner, "keeper")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("pgx", owner)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	exec := func(text string) {
		t.Helper()
		if _, err := raw.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	exec("create role clerk; grant update on entry to clerk")
	for _, c := range []struct{ do, undo, wide, missing string }{
		{do: "grant update on entry to keeper", wide: "update (body)"},
		{do: "grant update (salt) on entry to public", undo: "revoke update (salt) on entry from public", wide: "update (salt) on the table entry"},
		{do: "grant delete on entry to keeper", wide: "delete on the table entry"},
		{do: "grant truncate, trigger on node to keeper", wide: "trigger, truncate on the table node"},
		{do: "grant update on checkpoint to keeper", wide: "update (size) on the table checkpoint"},
		{do: "alter table entry owner to keeper", undo: "alter table entry owner to weir", wide: "owner of the table entry"},
		{do: "grant weir to keeper", undo: "revoke weir from keeper", wide: `member of "weir" is a superuser`},
		{do: "alter role keeper noinherit; grant clerk to keeper", undo: "revoke clerk from keeper; alter role keeper inherit", wide: "update (body)"},
		{do: "grant pg_write_all_data to keeper", undo: "revoke pg_write_all_data from keeper", wide: "delete"},
		{do: "grant pg_execute_server_program to keeper", undo: "revoke pg_execute_server_program from keeper", wide: "files of the database server"},
		{do: "alter role keeper createrole", undo: "alter role keeper nocreaterole", wide: "create roles"},
		{do: "alter role keeper superuser", undo: "alter role keeper nosuperuser", wide: "it is a superuser"},
		{do: "grant create on schema " + s.Schema + " to keeper", wide: "create tables in the schema"},
		{do: "grant create on database postgres to public", undo: "revoke create on database postgres from public", wide: "create schemas"},
		{do: "alter schema " + s.Schema + " owner to keeper", undo: "alter schema " + s.Schema + " owner to weir", wide: "owner of the schema"},
		{do: "revoke insert on entry from keeper", missing: "insert on the table entry"},
		{do: "revoke usage on schema " + s.Schema + " from keeper", missing: "usage of the schema"},
		{do: "alter table node rename to node2", undo: "alter table node2 rename to node", missing: "the table node"},
	} {
		exec(c.do)
		p, err := s.Inspect(t.Context(), owner)
		if err != nil || !strings.Contains(strings.Join(p.TooWide, "\n"), c.wide) || !strings.Contains(strings.Join(p.Missing, "\n"), c.missing) || p.OK() {
			t.Errorf("%s: %+v, %v", c.do, p, err)
		}
		if c.undo != "" {
			exec(c.undo)
		}
		if err := s.Run(t.Context(), owner); err != nil {
			t.Fatalf("after %s: %v", c.do, err)
		}
		if p, err := s.Inspect(t.Context(), owner); err != nil || !p.OK() {
			t.Errorf("after %s: %+v, %v", c.undo, p, err)
		}
	}
}

// A store that Weir's role made itself is taken over with its content, and the role then opens it and goes on.
func TestPostgresRoleTakesOver(t *testing.T) {
	c := startCluster(t)
	owner := c.fresh(t)
	raw, err := sql.Open("pgx", owner)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	s, err := sqlstore.SetupOf(owner, "keeper")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec(fmt.Sprintf("create role keeper login; grant create on schema %s to keeper; grant usage on schema %[1]s to keeper", s.Schema)); err != nil {
		t.Fatal(err)
	}
	target := as(t, owner, "keeper")
	before := open(t, target, nil)
	if _, _, err := before.Open(t.Context(), store.Ref{Key: "a", Principal: "alice"}, noLimits); err != nil {
		t.Fatal(err)
	}
	if _, _, err := before.Join(t.Context(), "a", label.Label{Untrusted: true}, noLimits); err != nil {
		t.Fatal(err)
	}
	if p, err := before.Privileges(t.Context()); err != nil || p.OK() || p.Role != "keeper" {
		t.Errorf("before: %+v, %v", p, err)
	}
	if err := s.Run(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	after := open(t, target, nil)
	if p, err := after.Privileges(t.Context()); err != nil || !p.OK() {
		t.Errorf("after: %+v, %v", p, err)
	}
	for _, db := range []*sqlstore.DB{before, after} {
		if kept, err := db.Get(t.Context(), "a"); err != nil || !kept.Label.Untrusted {
			t.Errorf("%+v, %v", kept, err)
		}
		if _, err := db.Log().Append(t.Context(), []audit.Entry{{Time: time.Now(), Chain: "a", Kind: "k"}}); err != nil {
			t.Error(err)
		}
	}
}

// Retention under a restricted role removes sessions and content, and says that events stay; the owner erases those. An erasure that the
// role may not do changes nothing.
func TestPostgresRoleRetention(t *testing.T) {
	c := startCluster(t)
	target := c.restricted(t, "keeper")
	anchor, err := audit.OpenAnchor(t.TempDir()+"/anchor", "example.com/log", nil)
	if err != nil {
		t.Fatal(err)
	}
	by := func(target string) (*sqlstore.DB, *ledger.Ledger) {
		t.Helper()
		db := open(t, target, &sqlstore.Options{Anchor: anchor})
		l, err := ledger.New(t.Context(), ledger.Options{DB: db, Anchor: anchor})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return db, l
	}
	db, l := by(target)
	now, day := time.Now(), 24*time.Hour
	for i := range 4 {
		e := record.New(record.Decision, now.Add(time.Duration(i-3)*20*day))
		e.Session, e.Principal, e.Effect = "a", "alice", "allow"
		body, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		entry := audit.Entry{Time: e.Time, Chain: e.Session, Kind: string(e.Kind), Outcome: "allow", Body: body, Aside: []byte("aside")}
		if _, err := db.Log().Append(t.Context(), []audit.Entry{entry}); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		t.Helper()
		head, err := db.Log().Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return head.Size
	}
	r := ledger.Retention{Sessions: 30 * day, Events: 30 * day, Content: 10 * day}
	if _, _, err := l.Prune(t.Context(), r, now); !errors.Is(err, sqlstore.ErrDenied) {
		t.Errorf("pruned: %v", err)
	}
	before := size()
	if _, _, err := l.Prune(t.Context(), r, now); !errors.Is(err, sqlstore.ErrDenied) || size() != before {
		t.Errorf("pruned again: %v, %d entries, before %d", err, size(), before)
	}
	chosen, err := l.Select(t.Context(), ledger.Selection{Principal: "alice"})
	if err != nil || len(chosen.Events) != 4 || len(chosen.Contents) != 1 {
		t.Fatalf("left: %+v, %v", chosen, err)
	}
	if err := l.Erase(t.Context(), chosen, false, record.New(record.Erase, now)); !errors.Is(err, sqlstore.ErrDenied) || size() != before {
		t.Errorf("erased: %v, %d entries, before %d", err, size(), before)
	}
	_, owner := by(as(t, target, "weir"))
	if o, _, err := owner.Prune(t.Context(), r, now); err != nil || len(o.Events.Events) != 2 {
		t.Errorf("pruned by the owner: %+v, %v", o, err)
	}
	if report, err := audit.Verify(t.Context(), db.Log(), audit.VerifyOptions{Anchor: anchor}); err != nil || len(report.Findings) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if p, err := db.Privileges(t.Context()); err != nil || !p.OK() {
		t.Errorf("%+v, %v", p, err)
	}
}

// A role that may not change the schema says that it is to be brought up to date, and changes nothing.
func TestPostgresRoleDoesNotMigrate(t *testing.T) {
	c := startCluster(t)
	target := c.restricted(t, "keeper")
	raw, err := sql.Open("pgx", as(t, target, "weir"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec("delete from schema where version = (select max(version) from schema)"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlstore.Open(t.Context(), target, nil); !errors.Is(err, sqlstore.ErrSchema) || !errors.Is(err, sqlstore.ErrDenied) {
		t.Errorf("%v", err)
	}
	empty := as(t, c.fresh(t), "keeper")
	if _, err := sqlstore.Open(t.Context(), empty, nil); !errors.Is(err, sqlstore.ErrSchema) {
		t.Errorf("%v", err)
	}
	s, err := sqlstore.SetupOf(empty, "other")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), empty); !errors.Is(err, sqlstore.ErrDenied) {
		t.Errorf("set up by a role that may not: %v", err)
	}
}

// An owner that is no superuser sets a store up for a role that an administrator has made.
func TestPostgresRoleByOwner(t *testing.T) {
	c := startCluster(t)
	target := c.fresh(t)
	raw, err := sql.Open("pgx", target)
	must(t, err)
	defer raw.Close()
	owner := as(t, target, "lord")
	s, err := sqlstore.SetupOf(owner, "serf")
	must(t, err)
	_, err = raw.Exec("create role lord login; alter schema " + s.Schema + " owner to lord")
	must(t, err)
	if err := s.Run(t.Context(), owner); !errors.Is(err, sqlstore.ErrDenied) {
		t.Errorf("a role was made: %v", err)
	}
	_, err = raw.Exec("create role serf login")
	must(t, err, s.Run(t.Context(), owner), s.Run(t.Context(), owner))
	for _, by := range []string{owner, as(t, target, "serf")} { // both may look
		if p, err := s.Inspect(t.Context(), by); err != nil || !p.OK() {
			t.Errorf("%s: %+v, %v", by, p, err)
		}
	}
	must(t, appendOne(t.Context(), open(t, as(t, target, "serf"), nil)))
}

// The grants are of all tables of the schema, and names are quoted.
func TestGrantsNameAllTables(t *testing.T) {
	script, err := sqlstore.Setup{Role: `we"ir`, Schema: "it's"}.Script()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(script, ";\n")
	for _, want := range []string{`rolname = 'we"ir'`, `create role "we""ir" login`, `nspname = 'it''s'`, `create schema "it's"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
	target := file(t)
	open(t, target, nil)
	raw, err := sql.Open("sqlite", target)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	rows, err := raw.Query("select name from sqlite_master where type = 'table'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var table string
		if err := rows.Scan(&table); err != nil {
			t.Fatal(err)
		}
		if want := `revoke all on table ` + table + ` from public, "we""ir"`; !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if err := rows.Err(); err != nil || n < 10 {
		t.Errorf("%d tables, %v", n, err)
	}
}

func TestSetupRefused(t *testing.T) {
	for _, c := range []struct{ target, role, want string }{
		{"/tmp/state.db", "weir", "a file has no roles"},
		{"postgres://dba@h/d", "pg_monitor", "cannot be the name"},
		{"postgres://dba@h/d", strings.Repeat("x", 64), "cannot be the name"},
		{"postgres://dba@h/d?search_path=pg_temp", "weir", "cannot be the name"},
		{"postgres://weir@h/d", "weir", "have to be two"},
		{"postgres://weir@h/d", "", "have to be two"},
		{"postgres://dba@h:nine/d", "weir", "port"},
	} {
		s, err := sqlstore.SetupOf(c.target, c.role)
		if err == nil {
			_, err = s.Script()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %q: %v", c.target, c.role, err)
		}
	}
	for target, schema := range map[string]string{
		"postgres://dba@h/d": "public", "postgres://dba@h/d?search_path=a,b": "a", `postgres://dba@h/d?search_path=%22A%20b%22`: "A b",
	} {
		if s, err := sqlstore.SetupOf(target, "weir"); err != nil || s.Schema != schema {
			t.Errorf("%s: %+v, %v", target, s, err)
		}
	}
}
