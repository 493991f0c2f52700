//go:build unix

package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// serverKind is the environment variable that turns the test binary into a server of that kind.
const serverKind = "WEIR_TEST_SERVER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(serverKind); kind != "" {
		serveKind(kind)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child returns the spec of a child process that is a server of that kind.
func child(t testing.TB, kind string) upstream.Spec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return upstream.Spec{Name: kind, Command: []string{self}, Env: []string{serverKind + "=" + kind, "GORACE=atexit_sleep_ms=0"}}
}

// A watcher is a Handler that keeps what it gets.
type watcher struct {
	mu            sync.Mutex
	notifications []*rpc.Message
	defects       []string
	answer        func(ctx context.Context, m *rpc.Message) *rpc.Message // nil gives no answer
}

func (w *watcher) Notification(m *rpc.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notifications = append(w.notifications, m)
}

func (w *watcher) Request(ctx context.Context, m *rpc.Message) *rpc.Message {
	if w.answer == nil {
		return nil
	}
	return w.answer(ctx, m)
}

func (w *watcher) Defect(reason, detail string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.defects = append(w.defects, reason)
}

// has reports whether a notification of that method came.
func (w *watcher) has(method string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.notifications {
		if m.Method == method {
			return true
		}
	}
	return false
}

// reasons returns the defects so far.
func (w *watcher) reasons() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.defects...)
}

// dial reaches the server, has the connection closed at the end, and then checks that nothing of it is left.
func dial(t *testing.T, spec upstream.Spec, protocol string, w *watcher) *upstream.Conn {
	t.Helper()
	checkLeaks(t)
	conn, err := upstream.Dial(t.Context(), spec, upstream.Hello{Protocol: protocol}, options(w))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return conn
}

func options(w *watcher) *upstream.Options {
	return &upstream.Options{
		Handler: w, Stderr: os.Stderr, MaxMessage: 4 << 20, Probe: 5 * time.Second, Grace: 200 * time.Millisecond,
	}
}

// call makes a call that must have a result.
func call(t *testing.T, conn *upstream.Conn, method, params string) string {
	t.Helper()
	m, err := conn.Call(t.Context(), method, json.RawMessage(params))
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	if m.Error != nil {
		t.Fatalf("%s: %s", method, m.Error)
	}
	return string(m.Result)
}

// patience is how long something may take on a slow machine that has to come soon. Servers that do not want to end last
// twice as long.
const patience = 30 * time.Second

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Errorf("not seen in time: %s", what)
}

// checkLeaks checks at the end of the test, after all later cleanups, that there are no more goroutines, open files and
// child processes than now.
func checkLeaks(t *testing.T) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), openFiles()
	t.Cleanup(func() {
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if runtime.NumGoroutine() <= goroutines && openFiles() <= files && len(children()) == 0 {
				return
			}
		}
		stacks := make([]byte, 1<<16)
		t.Errorf("goroutines %d, were %d; files %d, were %d; children %v\n%s", runtime.NumGoroutine(), goroutines,
			openFiles(), files, children(), stacks[:runtime.Stack(stacks, true)])
	})
}

// openFiles counts this process's file descriptors.
func openFiles() int {
	names, _ := filepath.Glob("/proc/self/fd/*")
	return len(names)
}

// children returns the child processes of this process, dead ones included.
func children() (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range names {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// pid (comm) state ppid ...
		_, rest, _ := strings.Cut(string(stat), ") ")
		var state string
		var parent int
		if _, err := fmt.Sscan(rest, &state, &parent); err == nil && parent == os.Getpid() {
			pid, _ := strconv.Atoi(strings.Fields(string(stat))[0])
			pids = append(pids, pid)
		}
	}
	return pids
}

// running reports whether the process lives.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
