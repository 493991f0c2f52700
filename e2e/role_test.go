package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPostgresRole has weir run by a role that cannot change the log: it makes calls, cannot erase, and the owner can. With a wider
// role it warns when it starts.
func TestPostgresRole(t *testing.T) {
	needEnabled(t)
	server := startPostgres(t)
	c := newCounted(t, secretsStay)
	c.store = server.place()
	call := func() (said string) {
		t.Helper()
		host, ready := greet(t, c.start(t))
		if !ready {
			t.Fatal("weir does not start")
		}
		o := &operation{tool: "append", session: "one"}
		o.ID, o.Unseen = "a", true
		if m, ok := host.do(o.ID, o.request(o.ID)); !ok || m.refused() {
			t.Errorf("%+v", m)
		}
		host.m.end(t)
		b, err := os.ReadFile(filepath.Join(c.dir, "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const warning = "the role of the database can change or remove entries of the log"
	if said := call(); strings.Contains(said, warning) {
		t.Errorf("it warns:\n%s", said)
	}
	c.verify(t)
	erase := []string{"audit", "erase", "--until", "2100-01-01", "--yes", "--why", "a test"}
	before := c.output(t, "audit", "export")
	if out, err := c.command(erase...).CombinedOutput(); err == nil || !strings.Contains(string(out), "the owner of the tables erases entries") {
		t.Errorf("erased: %v\n%s", err, out)
	}
	if after := c.output(t, "audit", "export"); !bytes.Equal(before, after) {
		t.Errorf("an erasure that was denied changed the log:\n%s\nbefore:\n%s", after, before)
	}
	c.store = server.placeOf("dba")
	c.output(t, erase...)
	c.verify(t)
	if said := call(); strings.Count(said, warning) != 1 || !strings.Contains(said, "superuser") {
		t.Errorf("as a superuser it does not warn once:\n%s", said)
	}
}

// TestPostgresRoleChecked reads the output of weir state init as programs and administrators do.
func TestPostgresRoleChecked(t *testing.T) {
	needEnabled(t)
	server := startPostgres(t)
	init := func(args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(world.weir, append([]string{"state", "init"}, args...)...)
		out, err := cmd.CombinedOutput()
		if exit, ok := err.(*exec.ExitError); err != nil && !ok || ok && exit.ExitCode() < 0 {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	psql := func(text string) {
		t.Helper()
		cmd := server.command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", server.dir, "-U", "dba", "-d", "postgres")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	check := func(want int, args ...string) (r struct {
		OK      bool     `json:"ok"`
		TooWide []string `json:"too_wide"`
		Missing []string `json:"missing"`
	}) {
		t.Helper()
		out, status := init(append(args, "--check", "--json")...)
		if err := json.Unmarshal([]byte(out), &r); err != nil || status != want || r.OK != (want == 0) {
			t.Errorf("%v: exit status %d, %v\n%s", args, status, err, out)
		}
		return r
	}
	check(0, "--store", server.place())
	psql("grant delete on entry to weir; revoke select on taint from weir")
	if r := check(1, "--store", server.place()); len(r.TooWide) != 1 || len(r.Missing) != 1 {
		t.Errorf("%+v", r)
	}
	script, status := init("--print", "--store", server.placeOf("dba"))
	if status != 0 {
		t.Fatal(script)
	}
	psql(script)
	check(0, "--store", server.placeOf("dba"), "--role", "weir")
	psql("create schema other; create role clerk login")
	other := server.placeOf("dba") + "&search_path=fresh"
	script, _ = init("--print", "--store", other, "--role", "clerk")
	psql(script + script)
	check(0, "--store", other, "--role", "clerk")
	check(1, "--store", server.place()+"&search_path=fresh") // that of another role
	for _, c := range []struct {
		want string
		args []string
	}{
		{"have to be two", []string{"--store", server.place()}},
		{"nothing was changed", []string{"--store", server.placeOf("clerk")}},
		{"is for PostgreSQL", nil},
		{"goes with neither", []string{"--print", "--check", "--store", server.place()}},
	} {
		if out, status := init(c.args...); status == 0 || !strings.Contains(out, c.want) || !strings.Contains(out, "weir: hint:") {
			t.Errorf("%v: exit status %d\n%s", c.args, status, out)
		}
	}
}
