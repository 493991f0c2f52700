//go:build linux

package attach

import (
	"encoding/json"
	"io"
	"log/slog"
	"strings"
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
