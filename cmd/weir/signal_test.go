//go:build unix

package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"test","version":"1"}}}` + "\n"

// TestSignal stops weir between a host that does not hang up and a server that does not want to end.
func TestSignal(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	weir := filepath.Join(dir, "weir")
	if err := os.Symlink(exe, weir); err != nil {
		t.Fatal(err)
	}
	const stubborn = `echo $$ > pid; trap "" TERM; "$0" demo server files --data .; touch ending; while :; do sleep 0.1; done`
	alone := []string{"--record", "none"}
	for _, c := range []struct {
		name    string
		server  string
		signals int
		want    string // how weir ends
		flags   []string
	}{
		{"once", `echo $$ > pid; exec "$0" demo server files --data .`, 1, "exit status 0", alone},
		{"once, stubborn server", stubborn, 1, "exit status 0", alone},
		{"twice", stubborn, 2, "signal: terminated", alone},
		{"once, shared", `echo $$ > pid; exec "$0" demo server files --data .`, 1, "exit status 0", nil},
		{"once, stubborn server, shared", stubborn, 1, "exit status 0", nil},
		{"twice, shared", stubborn, 2, "signal: terminated", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			cmd := &exec.Cmd{
				Path: weir, Args: slices.Concat([]string{"weir", "wrap"}, c.flags, []string{"--", "sh", "-c", c.server, weir}),
				Dir: data, Env: append(os.Environ(), "XDG_STATE_HOME="+data, "XDG_DATA_HOME="+data), Stderr: t.Output(),
			}
			start(t, cmd)
			pid := readPID(t, filepath.Join(data, "pid"))
			for i := range c.signals {
				if i > 0 { // the server hears of the first one when weir takes the next as programs do that take none
					awaitFile(filepath.Join(data, "ending"))
				}
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			if got := wait(cmd); got != c.want {
				t.Errorf("weir ended with %s, want %s", got, c.want)
			}
			if c.signals > 1 { // weir was killed and could not see to the server
				syscall.Kill(-pid, syscall.SIGKILL)
			}
			if !gone(pid) {
				t.Errorf("the server's process group %d is still there", pid)
			}
		})
	}
}

// start starts weir and shakes hands through it with the server, keeping its standard input open.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	if _, err := io.WriteString(in, initialize); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, `"result"`) {
		t.Fatalf("got %q, %v", line, err)
	}
}

func readPID(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// wait waits for the command and returns how it ended.
func wait(cmd *exec.Cmd) string {
	if err := cmd.Wait(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}

// gone waits until a process group is gone: who was killed remains until init has noticed.
func gone(group int) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
			return true
		}
	}
	return false
}
