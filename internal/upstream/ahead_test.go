//go:build unix

package upstream_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/upstream"
)

// The first connection has the process that started ahead, and each later one a process of its own.
func TestAhead(t *testing.T) {
	w := new(watcher)
	spec := child(t, "plain")
	checkLeaks(t)
	ahead, err := upstream.Start(spec, options(w))
	if err != nil {
		t.Fatal(err)
	}
	running := children()
	spec.Ahead = ahead
	if len(running) == 0 || !spec.Same(child(t, "plain")) {
		t.Errorf("children %v; a spec with a process is the same: %v", running, spec.Same(child(t, "plain")))
	}
	connect := func() *upstream.Conn {
		conn, err := upstream.Dial(t.Context(), spec, upstream.Hello{Protocol: "2025-11-25"}, options(w))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	first, second := connect(), connect()
	if call(t, first, "echo", `{"a":1}`); first.PID() == second.PID() {
		t.Errorf("two connections to the process %d", first.PID())
	}
	if len(children()) != len(running)+len(running) {
		t.Errorf("the first connection started a process: %v, after %v", children(), running)
	}
	if err := ahead.Close(); err != nil || first.Err() != nil {
		t.Errorf("closing what a connection has: %v, the connection: %v", err, first.Err())
	}
}

// A process that nobody came to need exits. One that could not go on is reported by the connection, as if it had just
// started.
func TestAheadUnused(t *testing.T) {
	w := new(watcher)
	checkLeaks(t)
	ahead, err := upstream.Start(child(t, "mute"), options(w))
	if err != nil {
		t.Fatal(err)
	}
	if err := ahead.Close(); err != nil {
		t.Error(err)
	}
	if left := children(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	spec := upstream.Spec{Name: "gone", Command: []string{"/bin/sh", "-c", "exit 3"}}
	if spec.Ahead, err = upstream.Start(spec, options(w)); err != nil {
		t.Fatal(err)
	}
	_, err = upstream.Dial(t.Context(), spec, upstream.Hello{Protocol: "2025-11-25"}, options(w))
	if err == nil {
		t.Fatal("reached a server that has ended")
	}
	if !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%v does not say how the process ended", err)
	}
	if _, err := upstream.Start(upstream.Spec{Command: []string{"/nowhere/at/all"}}, options(w)); err == nil {
		t.Error("started a program that does not exist")
	}
}
