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

// startPostgres starts a server of the test's own, on a unix socket, and returns the place of a database on it. It does not
// run as root: then the user postgres runs it.
func startPostgres(t *testing.T) string {
	t.Helper()
	if *postgresBin == "" {
		t.Skip("-e2e.postgres is not set")
	}
	dir, err := os.MkdirTemp("", "weir-pg-") // a short path: that of a socket has to be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	as := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Geteuid() == 0 {
		as.Credential = postgresUser(t)
		if err := os.Chown(dir, int(as.Credential.Uid), int(as.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(*postgresBin, program), args...)
		cmd.SysProcAttr, cmd.Dir = as, dir
		return cmd
	}
	data := filepath.Join(dir, "data")
	out, err := command("initdb", "-D", data, "-U", "weir", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput()
	if err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := command("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=200")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT)
		_ = server.Wait()
	})
	for deadline := time.Now().Add(time.Minute); command("pg_isready", "-q", "-h", dir, "-U", "weir").Run() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("PostgreSQL does not start")
		}
	}
	return "postgres://weir@/postgres?" + url.Values{"host": {dir}, "sslmode": {"disable"}}.Encode()
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
