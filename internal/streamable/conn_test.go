package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/streamable"
)

// conns returns a Serve that answers every request with {} and hands out its connections.
func conns() (serve func(context.Context, streamable.Info, rpc.Conn) error, opened chan rpc.Conn) {
	opened = make(chan rpc.Conn, 10)
	return func(ctx context.Context, _ streamable.Info, c rpc.Conn) error {
		opened <- c
		for {
			m, err := c.Read(ctx)
			if err != nil {
				return nil
			}
			if m.IsRequest() {
				c.Write(ctx, rpc.Reply(m.ID, nil))
			}
		}
	}, opened
}

// A stream that nobody reads keeps the newest notifications, and requests.
func TestQueue(t *testing.T) {
	const n = 1000
	serve, opened := conns()
	url, _ := start(t, nil, streamable.Options{Serve: serve})
	s := session(t, url)
	conn := <-opened
	for i := range n {
		if err := conn.Write(t.Context(), rpc.NewNotification("n", fmt.Appendf(nil, `{"i":%d}`, i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Write(t.Context(), rpc.NewRequest([]byte("1"), "q", nil)); err != nil {
		t.Errorf("a request among notifications: %v", err)
	}
	_, stream, _ := call{method: "GET", session: s}.open(t, url)
	for i := n - 255; i < n; i++ {
		if got, want := event(t, stream), fmt.Sprintf(`{"jsonrpc":"2.0","method":"n","params":{"i":%d}}`, i); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	if got := event(t, stream); got != `{"jsonrpc":"2.0","id":1,"method":"q"}` {
		t.Errorf("got %s", got)
	}
}

// Writing to a client that does not read waits neither for it nor for its network, and nor does Close for long.
func TestSlowReader(t *testing.T) {
	serve, opened := conns()
	url, h := start(t, nil, streamable.Options{Serve: serve, MaxBody: 8 << 20})
	slow := session(t, url)
	conn := <-opened
	other := session(t, url)
	call{method: "GET", session: slow}.open(t, url)
	big := []byte(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
	for range 30 {
		if err := conn.Write(t.Context(), rpc.NewNotification("n", big)); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []string{slow, other} {
		if resp, _ := (call{session: s, body: ping}).do(t, url); resp.StatusCode != 200 {
			t.Errorf("another request: %s", resp.Status)
		}
	}
	began := time.Now()
	h.Close()
	if d := time.Since(began); d > patience {
		t.Errorf("Close took %v", d)
	}
}

func TestRequestsAreRefusedWhenTheQueueIsFull(t *testing.T) {
	done := make(chan struct{})
	url, _ := start(t, nil, streamable.Options{Serve: func(ctx context.Context, _ streamable.Info, c rpc.Conn) error {
		m, err := c.Read(ctx)
		if err != nil {
			return err
		}
		defer close(done)
		var errs []error
		for i := range 300 {
			errs = append(errs, c.Write(ctx, rpc.NewRequest(fmt.Append(nil, i), "q", nil)))
		}
		for i, err := range errs {
			if errors.Is(err, streamable.ErrUndelivered) != (i >= 256) {
				t.Errorf("request %d: %v", i, err)
			}
		}
		if err := c.Write(ctx, rpc.NewNotification("n", nil)); err != nil {
			t.Errorf("notification: %v", err)
		}
		if err := c.Write(ctx, rpc.Reply(m.ID, nil)); err != nil {
			t.Errorf("response: %v", err)
		}
		c.Close()
		if err := c.Write(ctx, rpc.NewNotification("n", nil)); !errors.Is(err, streamable.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		return nil
	}})
	call{body: initialize}.do(t, url)
	<-done
}

// The connection of one POST gives its message, waits, and ends; what is written after the response is refused.
func TestModernConn(t *testing.T) {
	answered := make(chan struct{})
	failures := make(chan error, 10)
	url, _ := start(t, nil, streamable.Options{Serve: func(ctx context.Context, _ streamable.Info, c rpc.Conn) error {
		m, err := c.Read(ctx)
		if err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		if _, err := c.Read(short); !errors.Is(err, context.DeadlineExceeded) {
			failures <- fmt.Errorf("second Read: %v", err)
		}
		if err := c.Write(ctx, rpc.Reply([]byte("99"), nil)); err == nil {
			failures <- errors.New("a response to another request was written")
		}
		if err := c.Write(ctx, rpc.NewRequest([]byte("9"), "q", nil)); !errors.Is(err, streamable.ErrUndelivered) {
			failures <- fmt.Errorf("writing a request: %v", err)
		}
		if err := c.Write(ctx, rpc.Reply(m.ID, nil)); err != nil {
			failures <- fmt.Errorf("writing the response: %v", err)
		}
		if err := c.Write(ctx, rpc.Reply(m.ID, nil)); !errors.Is(err, streamable.ErrClosed) {
			failures <- fmt.Errorf("writing a second response: %v", err)
		}
		if _, err := c.Read(ctx); err != io.EOF {
			failures <- fmt.Errorf("Read after the response: %v", err)
		}
		if ctx.Err() != nil {
			failures <- errors.New("context is done though the client did not leave")
		}
		close(answered)
		return nil
	}})
	modern("ping", "{}").do(t, url)
	<-answered
	close(failures)
	for err := range failures {
		t.Error(err)
	}
}
