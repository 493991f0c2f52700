package e2e

import (
	"flag"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

var postgresBin = flag.String("e2e.postgres", "", "the directory of PostgreSQL's programs; without it a fleet is tested on SQLite only")

// A postgres is a server of a test's own, on a unix socket.
type postgres struct {
	dir    string
	as     *syscall.SysProcAttr
	server *exec.Cmd
}

// startPostgres starts one, and sets it up for a role of Weir that cannot change the log. It does not run as root: then the user postgres runs it.
func startPostgres(t *testing.T) *postgres {
	t.Helper()
	if *postgresBin == "" {
		t.Skip("-e2e.postgres is not set")
	}
	dir, err := os.MkdirTemp("", "weir-pg-") // a short path: that of a socket has to be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &postgres{dir: dir, as: &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}}
	if os.Geteuid() == 0 {
		p.as.Credential = postgresUser(t)
		if err := os.Chown(dir, int(p.as.Credential.Uid), int(p.as.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := p.command("initdb", "-D", p.data(), "-U", "dba", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput()
	if err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	p.start(t)
	t.Cleanup(func() { p.stop(syscall.SIGQUIT) })
	if out, err := exec.Command(world.weir, "state", "init", "--store", p.placeOf("dba")).CombinedOutput(); err != nil {
		t.Fatalf("weir state init: %v\n%s", err, out)
	}
	return p
}

// place names a database on it, for --store.
func (p *postgres) place() string { return p.placeOf("weir") }

// placeOf names the database for a role.
func (p *postgres) placeOf(role string) string {
	return "postgres://" + role + "@/postgres?" + url.Values{"host": {p.dir}, "sslmode": {"disable"}}.Encode()
}

func (p *postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *postgres) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(*postgresBin, program), args...)
	cmd.SysProcAttr, cmd.Dir = p.as, p.dir
	return cmd
}

func (p *postgres) start(t *testing.T) {
	t.Helper()
	p.server = p.command("postgres", "-D", p.data(), "-k", p.dir, "-c", "listen_addresses=", "-c", "max_connections=200")
	if err := p.server.Start(); err != nil {
		t.Errorf("starting PostgreSQL: %v", err)
		return
	}
	for deadline := time.Now().Add(time.Minute); p.command("pg_isready", "-q", "-h", p.dir, "-U", "dba").Run() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("PostgreSQL does not start")
			return
		}
	}
}

// stop ends the server: by SIGINT in an orderly way that waits for nobody, by SIGQUIT as in a crash.
func (p *postgres) stop(how os.Signal) {
	_ = p.server.Process.Signal(how)
	_ = p.server.Wait()
}

// cut ends all connections of weir.
func (p *postgres) cut() {
	const cut = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'weir'"
	_ = p.command("psql", "-q", "-h", p.dir, "-U", "dba", "-d", "postgres", "-c", cut).Run() // none, if the server is down
}

func postgresUser(t *testing.T) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
