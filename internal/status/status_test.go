package status_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/socket"
	"github.com/weir-mcp/weir/internal/status"
)

// place returns a directory whose path is short enough for a socket.
func place(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("unix sockets differ")
	}
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "run")
}

func serve(t *testing.T, dir string, pid int, tell func() status.Process) *status.Listener {
	t.Helper()
	l, err := status.Serve(dir, pid, tell, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func list(t *testing.T, dir string) []status.Process {
	t.Helper()
	all, err := status.List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestServeAndList(t *testing.T) {
	dir := place(t)
	if all := list(t, dir); len(all) != 0 {
		t.Errorf("%+v, where there is not even a directory", all)
	}
	one := status.Process{
		V: 1, PID: 20, Command: "weir run", Started: time.Unix(1, 0).UTC(), Hosts: 1, Servers: []status.Server{{Name: "files", PIDs: []int{3}}},
		Reload: &status.Reload{At: time.Unix(2, 0).UTC(), Problems: []status.Problem{{Place: "weir.yaml:1:2", Message: "m", Hint: "h"}}},
	}
	two := status.Process{V: 1, PID: 3, Command: "weir wrap"}
	first := serve(t, dir, 20, func() status.Process { return one })
	second := serve(t, dir, 3, func() status.Process { return two })
	if diff := cmp.Diff([]status.Process{two, one}, list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, dir + "/20.sock": 0o600 | os.ModeSocket} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, want)
		}
	}
	for _, l := range []*status.Listener{first, second} {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if all, left := list(t, dir), names(t, dir); len(all) != 0 || len(left) != 0 {
		t.Errorf("after the end %+v, and %v is left", all, left)
	}
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestLeftovers finds sockets of killed processes, a process that does not answer, and unrelated files.
func TestLeftovers(t *testing.T) {
	dir := place(t)
	defer serve(t, dir, 1, func() status.Process { return status.Process{} }).Close()
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/2.sock"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	mute, err := net.Listen("unix", dir+"/3.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	if err := os.WriteFile(dir+"/notes.txt", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all := list(t, dir)
	if len(all) != 2 || all[0].PID != 1 || all[0].Error != "" || all[1].PID != 3 || all[1].Error == "" {
		t.Errorf("%+v", all)
	}
	if diff := cmp.Diff([]string{"1.sock", "3.sock", "notes.txt"}, names(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnlyForTheUser(t *testing.T) {
	dir := place(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := status.Serve(dir, 1, nil, nil); err == nil || !strings.Contains(err.Error(), "others may enter") {
		t.Errorf("served where others may enter: %v", err)
	}
}

// TestLongPath lists a process in a directory whose path is longer than systems take for a socket, where that can be done.
func TestLongPath(t *testing.T) {
	dir := filepath.Join(place(t), strings.Repeat("long", 60))
	listener, err := status.Serve(dir, 1, func() status.Process { return status.Process{Version: "x"} }, nil)
	if runtime.GOOS != "linux" {
		if !errors.Is(err, socket.ErrLong) {
			t.Error(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if all, err := status.List(t.Context(), dir); err != nil || len(all) != 1 || all[0].Version != "x" {
		t.Errorf("%v, %v", all, err)
	}
}

func TestReadOnly(t *testing.T) {
	dir := place(t)
	defer serve(t, dir, 1, func() status.Process { return status.Process{} }).Close()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", dir+"/1.sock")
	}}}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		method, path string
		want         int
	}{{"GET", "/status", 200}, {"POST", "/status", 405}, {"DELETE", "/status", 405}, {"GET", "/", 404}} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://weir"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s %s: %s, want %d", c.method, c.path, resp.Status, c.want)
		}
	}
}

func TestDetails(t *testing.T) {
	dir := place(t)
	l, err := status.Serve(dir, 7, func() status.Process { return status.Process{} }, func() any { return map[string]int{"tools": 3} })
	if err != nil {
		t.Fatal(err)
	}
	without := serve(t, dir, 8, func() status.Process { return status.Process{} })
	var told struct{ Tools int }
	if err := status.Details(t.Context(), dir, 7, &told); err != nil || told.Tools != 3 {
		t.Errorf("told %+v, %v", told, err)
	}
	for _, pid := range []int{8, 9} {
		if err := status.Details(t.Context(), dir, pid, &told); err == nil {
			t.Errorf("process %d told something", pid)
		}
	}
	if err := errors.Join(l.Close(), without.Close()); err != nil {
		t.Error(err)
	}
}
