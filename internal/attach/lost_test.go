//go:build linux

package attach

import (
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/weir-mcp/weir/internal/rpc"
)

// TestDeafHostIsLeft has an owner end whose host takes no line any more.
func TestDeafHostIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, out := io.Pipe()
		k := &keeper{relay: newRelay(io.NopCloser(strings.NewReader("")), out, slog.New(slog.DiscardHandler))}
		k.relay.book.host([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`))
		if goesOn, err := k.lost(); goesOn || err == nil {
			t.Errorf("another owner may go on: %v, %v", goesOn, err)
		}
		_ = host.Close()
	})
}

// TestHostHasLeft has an owner end after its host has left: that is no error, unless the host has no answer to a request.
func TestHostHasLeft(t *testing.T) {
	for _, open := range []bool{false, true} {
		k := &keeper{relay: newRelay(io.NopCloser(strings.NewReader("")), io.Discard, slog.New(slog.DiscardHandler))}
		if open {
			k.relay.book.host([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`))
		}
		k.relay.leave()
		status, goesOn, err := k.serve(t.Context(), endedLife(t, false))
		if goesOn || open != (err != nil) || status != 0 {
			t.Errorf("open %v: status %d, goes on %v, %v", open, status, goesOn, err)
		}
	}
}

// TestDeafHostIsLeftBehindReplay has an owner end that was told all of a host before it: the host takes no line of it.
func TestDeafHostIsLeftBehindReplay(t *testing.T) {
	for _, done := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			host, out := io.Pipe()
			k := &keeper{relay: newRelay(io.NopCloser(strings.NewReader("")), out, slog.New(slog.DiscardHandler))}
			k.relay.book.welcome = newWelcome([]byte(`{"capabilities":{"tools":{"listChanged":true}}}`))
			k.relay.book.initialized = true
			status, goesOn, err := k.serve(t.Context(), endedLife(t, done))
			if goesOn || done != (err == nil) || done && status != 7 {
				t.Errorf("done %v: status %d, goes on %v, %v", done, status, goesOn, err)
			}
			_ = host.Close()
		})
	}
}

// endedLife returns an owner that takes lines and has ended, perhaps done with the status 7.
func endedLife(t *testing.T, done bool) *life {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "")
		conn, err := net.FileConn(f)
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = conn.(*net.UnixConn)
	}
	if done {
		if err := (&line{conn: ends[1]}).send(&message{Op: opDone, Status: 7}); err != nil {
			t.Fatal(err)
		}
	}
	_ = ends[1].Close()
	l := &life{line: &line{conn: ends[0]}, gone: make(chan struct{})}
	taken, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	out, said, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	l.in, l.out = in, out
	_ = said.Close()
	return l
}

// TestBadAnswerToUs has an owner answer the handshake that it was told again with no message: that is an answer.
func TestBadAnswerToUs(t *testing.T) {
	r := newRelay(nil, io.Discard, slog.New(slog.DiscardHandler))
	answer := make(chan *rpc.Message, 1)
	m := r.again(rpc.NewRequest(json.RawMessage("1"), "initialize", nil), &retold{answer: answer})
	if r.note([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"a":1,"a":2}}`)) {
		t.Error("the host gets it")
	}
	select {
	case a := <-answer:
		if a.Failure() == nil {
			t.Errorf("it counts: %s", a.Append(nil))
		}
	default:
		t.Error("it is waited for")
	}
}
