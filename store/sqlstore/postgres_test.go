package sqlstore_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/audit/audittest"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
	"github.com/weir-mcp/weir/store/storetest"
)

// postgresBin is the directory with initdb and postgres. The tests make a cluster of their own, on a unix socket.
var postgresBin = flag.String("postgres", "", "the directory of PostgreSQL's programs, such as /usr/lib/postgresql/15/bin; without it its tests are skipped")

// A cluster is a PostgreSQL server of a test's own.
type cluster struct {
	settings []string // of the server
	dir      string
	server   *exec.Cmd
	schemas  atomic.Int32
	cred     *syscall.SysProcAttr
}

// startCluster makes a cluster and ends it with the test. PostgreSQL does not run as root: then the user postgres runs it.
func startCluster(tb testing.TB, settings ...string) *cluster {
	tb.Helper()
	if *postgresBin == "" {
		tb.Skip("-postgres is not set")
	}
	dir, err := os.MkdirTemp("", "weir-pg-") // a short path: that of a socket has to be
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	c := &cluster{dir: dir, settings: settings, cred: &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}}
	if os.Geteuid() == 0 {
		c.asPostgres(tb)
	}
	c.run(tb, "initdb", "-D", filepath.Join(dir, "data"), "-U", "weir", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	c.start(tb)
	tb.Cleanup(func() { c.stop(tb) })
	return c
}

func (c *cluster) asPostgres(tb testing.TB) {
	tb.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		tb.Fatal(err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		tb.Fatal(err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		tb.Fatal(err)
	}
	c.cred.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(c.dir, uid, gid); err != nil {
		tb.Fatal(err)
	}
}

func (c *cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(*postgresBin, program), args...)
	cmd.SysProcAttr, cmd.Dir = c.cred, c.dir
	return cmd
}

func (c *cluster) run(tb testing.TB, program string, args ...string) {
	tb.Helper()
	if out, err := c.command(program, args...).CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", program, err, out)
	}
}

func (c *cluster) start(tb testing.TB) {
	tb.Helper()
	args := []string{"-D", filepath.Join(c.dir, "data"), "-k", c.dir, "-c", "listen_addresses=", "-c", "max_connections=200"}
	for _, setting := range c.settings {
		args = append(args, "-c", setting)
	}
	c.server = c.command("postgres", args...)
	if err := c.server.Start(); err != nil {
		tb.Fatal(err)
	}
	db, err := sql.Open("pgx", c.target(""))
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	deadline, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := db.PingContext(deadline)
		if err == nil {
			return
		}
		if deadline.Err() != nil {
			tb.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// stop ends the server at once; its log brings back committed transactions.
func (c *cluster) stop(tb testing.TB) {
	tb.Helper()
	if err := c.server.Process.Signal(syscall.SIGQUIT); err != nil {
		tb.Error(err)
	}
	_ = c.server.Wait()
}

// target returns the URL of the database, with a schema if it is not "".
func (c *cluster) target(schema string) string {
	q := url.Values{"host": {c.dir}, "sslmode": {"disable"}}
	if schema != "" {
		q.Set("search_path", schema)
	}
	return "postgres://weir@/postgres?" + q.Encode()
}

// fresh returns the URL of an empty schema.
func (c *cluster) fresh(tb testing.TB) string {
	tb.Helper()
	schema := fmt.Sprint("s", c.schemas.Add(1))
	db, err := sql.Open("pgx", c.target(""))
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("create schema " + schema); err != nil {
		tb.Fatal(err)
	}
	return c.target(schema)
}

func TestPostgres(t *testing.T) {
	c := startCluster(t)
	storetest.RunBackend(t, func(t *testing.T, now func() time.Time) store.Backend {
		return open(t, c.fresh(t), &sqlstore.Options{Now: now})
	})
}

func TestPostgresLog(t *testing.T) {
	c := startCluster(t)
	audittest.Run(t, func(t *testing.T) audit.Store { return open(t, c.fresh(t), nil).Log() })
}

// Who waits on one connection to a server is told of an answer on another, after its own was cut too.
func TestPostgresTellsOfAnswers(t *testing.T) {
	c := startCluster(t)
	target := c.fresh(t)
	here, there := open(t, target, nil), open(t, target, nil)
	admin, err := sql.Open("pgx", c.target(""))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	next := here.Answered()
	wait := func() {
		t.Helper()
		select {
		case <-next:
		case <-time.After(time.Minute):
			t.Fatal("nobody was told")
		}
		next = here.Answered()
	}
	wait() // until it listens
	for i := range 3 {
		q := store.Question{ID: fmt.Sprint("q", i), Principal: "p", Binding: "b", Expires: time.Now().Add(time.Hour)}
		if err := there.Ask(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if _, err := there.Answer(t.Context(), q.ID, "p", store.Accepted); err != nil {
			t.Fatal(err)
		}
		wait()
		if _, err := admin.Exec(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%'`); err != nil {
			t.Fatal(err)
		}
		wait() // until it listens again
	}
}
