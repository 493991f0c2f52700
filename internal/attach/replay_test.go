//go:build linux

package attach

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weir-mcp/weir/internal/rpc"
)

// A teller is an owner that takes and says one message after the other.
type teller struct {
	t  *testing.T
	g  *Guest
	in *bufio.Scanner
}

// take returns the next message, which is of a method.
func (o *teller) take(method string) *rpc.Message {
	o.t.Helper()
	if !o.in.Scan() {
		o.t.Errorf("there is no %s", method)
		return &rpc.Message{}
	}
	m, err := rpc.Parse(o.in.Bytes())
	if err != nil || m.Method != method {
		o.t.Errorf("an owner gets %s, not %s: %v", o.in.Bytes(), method, err)
		return &rpc.Message{}
	}
	return m
}

func (o *teller) answer(m *rpc.Message, rest string) {
	fmt.Fprintf(o.g.Stdout, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, rest)
}

// greet takes the handshake, and answers it.
func (o *teller) greet() {
	o.t.Helper()
	o.answer(o.take("initialize"), `"result":{}`)
	o.take("notifications/initialized")
}

// subscribed starts a wrap whose first owner ends after the handshake and a subscription, and whose next ones are others.
// It returns once the second has begun, and tells when another has.
func subscribed(t *testing.T, next func(*teller)) (h host, begun chan bool, ended <-chan error) {
	t.Helper()
	var lives atomic.Int32
	begun = make(chan bool, maxDeaths)
	client := owned(t, func(ctx context.Context, conn *net.UnixConn) {
		g, err := Accept(conn)
		if err != nil {
			t.Error(err)
			return
		}
		defer g.Close()
		first := lives.Add(1) == 1
		_ = g.Serve(ctx, func(context.Context) int {
			o := &teller{t, g, bufio.NewScanner(g.Stdin)}
			if !first {
				begun <- true
				next(o)
				return 0
			}
			o.greet()
			o.answer(o.take("resources/subscribe"), `"result":{}`)
			_ = conn.Close()
			return 0
		})
	})
	w, h, shut := wrapOf(t, cat)
	t.Cleanup(shut)
	end := make(chan error, 1)
	go func() {
		status, err := Run(t.Context(), client, json.RawMessage(`{}`), w)
		if status != 0 {
			t.Errorf("status %d", status)
		}
		end <- err
	}()
	say(t, h, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	hears(t, h, `"id":1,"result"`)
	say(t, h, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(t, h, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	hears(t, h, `"id":2,"result"`)
	<-begun // nothing goes to the first one any more
	return h, begun, end
}

func say(t *testing.T, h host, line string) {
	t.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		t.Error(err)
	}
}

// hears holds that a text is in the next line that the host gets.
func hears(t *testing.T, h host, text string) {
	t.Helper()
	if line, err := h.out.ReadString('\n'); err != nil || !strings.Contains(line, text) {
		t.Fatalf("the host reads %q, not %s: %v", line, text, err)
	}
}

// TestAskedAgain has an owner ask the host before it answers a subscription that it is told again, or refuses it: requests
// of the host are answered meanwhile, and its answer arrives. The next owner is told of a subscription that was answered.
func TestAskedAgain(t *testing.T) {
	for result, again := range map[string]bool{`"result":{}`: true, `"error":{"code":-32603,"message":"a person said no"}`: false} {
		var lives atomic.Int32
		h, begun, ended := subscribed(t, func(o *teller) {
			o.greet()
			if lives.Add(1) == 2 {
				if again {
					o.take("resources/subscribe")
				}
				o.answer(o.take("tools/list"), `"result":{}`)
				return
			}
			m := o.take("resources/subscribe")
			fmt.Fprintln(o.g.Stdout, `{"jsonrpc":"2.0","id":"q","method":"elicitation/create"}`)
			o.answer(o.take("tools/call"), `"result":{}`)
			if m := o.take(""); string(m.ID) != `"q"` {
				o.t.Errorf("an owner gets the answer to %s", m.ID)
			}
			o.answer(m, result)
			o.answer(o.take("ping"), `"result":{}`)
			_ = o.g.line.conn.Close()
		})
		say(t, h, `{"jsonrpc":"2.0","id":3,"method":"tools/call"}`)
		hears(t, h, `"elicitation/create"`)
		hears(t, h, `"id":3,"result"`)
		say(t, h, `{"jsonrpc":"2.0","id":"q","result":{}}`)
		say(t, h, `{"jsonrpc":"2.0","id":4,"method":"ping"}`)
		hears(t, h, `"id":4,"result"`)
		<-begun // nothing goes to the one before any more
		say(t, h, `{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
		hears(t, h, `"id":5,"result"`)
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", result, err)
		}
	}
}

// TestListsAreReadAnew holds that a host is told of the lists that another process of the server may have changed, once it
// has that one: of those that may change by the handshake.
func TestListsAreReadAnew(t *testing.T) {
	const offer = `"result":{"capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"listChanged":true,"subscribe":true}}}`
	var lives atomic.Int32
	client := owned(t, func(ctx context.Context, conn *net.UnixConn) {
		g, err := Accept(conn)
		if err != nil {
			t.Error(err)
			return
		}
		defer g.Close()
		first := lives.Add(1) == 1
		_ = g.Serve(ctx, func(context.Context) int {
			o := &teller{t, g, bufio.NewScanner(g.Stdin)}
			o.answer(o.take("initialize"), offer)
			o.take("notifications/initialized")
			if o.answer(o.take("tools/list"), `"result":{}`); first {
				_ = conn.Close()
			}
			return 0
		})
	})
	w, h, shut := wrapOf(t, cat)
	t.Cleanup(shut)
	ended := make(chan error, 1)
	go func() {
		_, err := Run(t.Context(), client, json.RawMessage(`{}`), w)
		ended <- err
	}()
	say(t, h, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	hears(t, h, `"id":1,"result"`)
	say(t, h, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(t, h, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	hears(t, h, `"id":2,"result"`)
	hears(t, h, `"notifications/tools/list_changed"`)
	hears(t, h, `"notifications/resources/list_changed"`)
	say(t, h, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	hears(t, h, `"id":3,"result"`)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestOvertaken has a host end a subscription that an owner was told again and has not answered: it is cancelled first,
// and its refusal is nobody's business.
func TestOvertaken(t *testing.T) {
	h, _, ended := subscribed(t, func(o *teller) {
		o.greet()
		again := o.take("resources/subscribe")
		if m := o.take("notifications/cancelled"); !strings.Contains(string(m.Params), string(again.ID)) {
			o.t.Errorf("an owner gets the end of %s, not of %s", m.Params, again.ID)
		}
		m := o.take("resources/unsubscribe")
		o.answer(again, `"error":{"code":-32603,"message":"late"}`)
		o.answer(m, `"result":{}`)
	})
	say(t, h, `{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"a:b"}}`)
	hears(t, h, `"id":3,"result"`)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestHostLeaves has a host leave while an owner does not answer the handshake that it is told again: all ends, also with
// a request that waits.
func TestHostLeaves(t *testing.T) {
	var h host
	ready := make(chan struct{})
	h, _, ended := subscribed(t, func(o *teller) {
		o.take("initialize")
		<-ready
		if err := h.in.Close(); err != nil {
			o.t.Error(err)
		}
		for o.in.Scan() {
			o.t.Errorf("an owner gets %s", o.in.Bytes())
		}
	})
	say(t, h, `{"jsonrpc":"2.0","id":3,"method":"tools/call"}`)
	close(ready)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestTooLong holds that an owner refuses the line in the place of one that is too long with the same answer.
func TestTooLong(t *testing.T) {
	const most = maxHeld // which no line in the place of one is held for
	for _, begin := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call"`, `{"jsonrpc":"2.0","id":"a\"","method":"tools/call"`, `{"method":"x"`,
		`{"jsonrpc":"2.0","id":7,"result":{}`, `[`, `{"id":` + strings.Repeat("1", most),
	} {
		in, input, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		out, output, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		line := begin + `,"params":"` + strings.Repeat("x", most) + `"}`
		r := newRelay(in, io.Discard, slog.New(slog.DiscardHandler))
		r.most, r.to = most, output
		go r.fromHost() // which closes output in the end
		if _, err := io.WriteString(input, line+"\n"); err != nil {
			t.Fatal(err)
		}
		_ = input.Close()
		var want, got *rpc.BadMessage
		_, err = rpc.NewStream(io.NopCloser(strings.NewReader(line+"\n")), output, &rpc.StreamOptions{MaxMessage: most}).Read(t.Context())
		owner := rpc.NewStream(out, input, &rpc.StreamOptions{MaxMessage: most})
		_, failed := owner.Read(t.Context())
		if !errors.As(err, &want) || !errors.As(failed, &got) || string(rpc.ReplyError(got.Err.ID, got.Err).Append(nil)) !=
			string(rpc.ReplyError(want.Err.ID, want.Err).Append(nil)) {
			t.Errorf("%s: an owner reads %v, not %v", begin, failed, err)
		}
		if _, err := owner.Read(t.Context()); err != io.EOF {
			t.Errorf("%s: then it reads %v", begin, err)
		}
		if err := errors.Join(in.Close(), owner.Close()); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
}
