package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// started is Call by way of Start. It checks that there is one answer and no more, as long as the test runs.
func started(ctx context.Context, t *testing.T, conn *upstream.Conn, method string, params json.RawMessage) (*rpc.Message, error) {
	t.Helper()
	type answer struct {
		m   *rpc.Message
		err error
	}
	came := make(chan answer, 1)
	var times atomic.Int32
	t.Cleanup(func() {
		if n := times.Load(); n > 1 {
			t.Errorf("%s: %d answers", method, n)
		}
	})
	err := conn.Start(ctx, method, params, func(m *rpc.Message, err error) {
		if times.Add(1) == 1 {
			came <- answer{m, err}
		}
	})
	if err != nil {
		return nil, err
	}
	a := <-came
	return a.m, a.err
}

// Start gets what Call would return: the answer, or the end of its context or of the connection.
func TestStart(t *testing.T) {
	for method, spec := range map[string]upstream.Spec{"echo": child(t, "hostile"), "tools/list": sdkHTTP(t, true)} {
		conn := dial(t, spec, "2025-11-25", new(watcher))
		if m, err := started(t.Context(), t, conn, method, json.RawMessage(`{}`)); err != nil || m.Result == nil {
			t.Errorf("%s: %v, error %v", method, m, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if _, err := started(t.Context(), t, conn, method, nil); !errors.Is(err, upstream.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// A started call that is given up gets no second answer when the server's own comes late, nor does that count against it.
func TestStartLateAnswer(t *testing.T) {
	w := new(watcher)
	conn := dial(t, child(t, "hostile"), "2025-11-25", w)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := started(ctx, t, conn, "late", nil); err != context.DeadlineExceeded {
		t.Fatalf("got %v", err)
	}
	call(t, conn, "echo", `{}`)
	if defects := w.reasons(); len(defects) > 0 {
		t.Errorf("defects %q", defects)
	}
}

// To start a call does not wait for a server that does not read.
func TestStartDeafServer(t *testing.T) {
	conn := dial(t, child(t, "hostile"), "2025-11-25", new(watcher))
	large, _ := json.Marshal(map[string]string{"a": strings.Repeat("x", 1<<20)})
	ctx, cancel := context.WithCancel(t.Context())
	const many = 5
	ends := make(chan error, many)
	for _, method := range []string{"deaf", "echo", "echo", "echo", "echo"} {
		if err := conn.Start(ctx, method, large, func(_ *rpc.Message, err error) { ends <- err }); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for range many {
		if err := <-ends; err != context.Canceled {
			t.Errorf("got %v", err)
		}
	}
}

// Started calls end with the server.
func TestStartDeath(t *testing.T) {
	conn := dial(t, child(t, "hostile"), "2025-11-25", new(watcher))
	ends := make(chan error, 2)
	for _, method := range []string{"never", "die"} {
		if err := conn.Start(t.Context(), method, nil, func(_ *rpc.Message, err error) { ends <- err }); err != nil {
			t.Fatal(err)
		}
	}
	for range cap(ends) {
		if err := <-ends; !errors.Is(err, upstream.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}
