package hostconn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/exchange"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

const (
	maxInFlight = 8192             // requests of one host connection whose answer is not out; further ones are refused
	drainTime   = 10 * time.Second // for the answers in flight after the host has left or the gateway ends
	writeTime   = 2 * time.Second  // for the host to take the last of them
)

// A Conn is one host connection.
type Conn struct {
	host    *exchange.Host
	share   bool // whether HTTP sessions of one principal may share connections to servers
	conn    rpc.Conn
	shared  bool                                                   // whether connections to servers are shared with other requests of the principal
	workers *workers                                               // answers requests that may have to wait
	slots   chan struct{}                                          // holds a token for each request that is being answered
	reply   func(ctx context.Context, m *rpc.Message) *rpc.Message // answers a request
	leaving chan struct{}                                          // closed when no more is read from the host
	life    context.Context                                        // ends when nothing may be written to it any more

	mu       sync.Mutex
	links    *backend.Set                 // made with the first request that needs them
	inFlight map[string]*request          // by the host's request id
	asked    map[string]chan *rpc.Message // by our request id
	name     string                       // in the ids of our requests, so that none of another connection or process is taken for one
	lastID   int64
	reports  map[string][]*backend.Conn // by the progress token of the server's request that the host is answering

	faults backend.Throttle // of the host's messages
}

// read takes messages until the connection ends. Requests are answered by the crew.
func (f *Conn) read(ctx, work context.Context) error {
	for {
		m, err := f.conn.Read(ctx)
		if err != nil {
			var bad *rpc.BadMessage
			switch {
			case errors.As(err, &bad):
				f.spoiled(ctx, bad.Err.Error())
				f.Write(ctx, rpc.ReplyError(bad.Err.ID, bad.Err))
				continue
			case errors.Is(err, io.EOF), ctx.Err() != nil:
				return nil
			}
			return fmt.Errorf("reading from the host: %w", err)
		}
		f.take(work, m)
	}
}

// take deals with one message of the host.
func (f *Conn) take(work context.Context, m *rpc.Message) {
	if m.Repaired {
		f.spoiled(work, "half of a surrogate pair, replaced by U+FFFD")
	}
	switch {
	case m.IsResponse():
		f.deliver(m)
	case m.IsNotification():
		f.notified(work, m)
	default:
		f.answerTo(work, m)
	}
}

// answerTo sees to the answer to a request. Requests beyond the limit are refused: the host's other
// messages, answers and cancellations among them, have to be read.
func (f *Conn) answerTo(work context.Context, m *rpc.Message) {
	select {
	case f.slots <- struct{}{}:
	default:
		f.Write(work, rpc.ReplyError(m.ID, rpc.Errorf(rpc.InternalError, "%d requests of this connection are in flight already", maxInFlight)))
		return
	}
	ctx, p := f.begin(work, m)
	switch {
	case p == nil:
		f.Write(work, rpc.ReplyError(m.ID, &rpc.Error{Code: rpc.InvalidRequest, Message: "a request with this id is in flight"}))
		<-f.slots
	case m.Method == "initialize":
		f.respond(ctx, p) // nothing may overtake the handshake
		<-f.slots
	default:
		f.workers.run(func() {
			f.respond(ctx, p)
			<-f.slots
		})
	}
}

// cancelAll ends every request in flight.
func (f *Conn) cancelAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.inFlight {
		p.cancel(exchange.ErrCancelled)
	}
}

// A request is a request of the host that has no answer yet.
type request struct {
	m      *rpc.Message
	cancel context.CancelCauseFunc
}

// begin enters a request so that the host can cancel it, and refuses an id that is in flight: then it returns nil. The
// request is in flight until end is called.
func (f *Conn) begin(work context.Context, m *rpc.Message) (context.Context, *request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := string(m.ID)
	if _, taken := f.inFlight[id]; taken {
		return nil, nil
	}
	ctx, cancel := context.WithCancelCause(rpc.WithRelated(work, m.ID))
	p := &request{m, cancel}
	f.inFlight[id] = p
	return ctx, p
}

// end takes a request off the books, and reports whether its host still wants the answer.
func (f *Conn) end(ctx context.Context, p *request) (wanted bool) {
	wanted = !errors.Is(context.Cause(ctx), exchange.ErrCancelled)
	f.mu.Lock()
	delete(f.inFlight, string(p.m.ID))
	f.mu.Unlock()
	p.cancel(nil)
	return wanted
}

// respond answers one request. Its id is free again before the answer is out, since the host may use it at once.
func (f *Conn) respond(ctx context.Context, p *request) {
	reply := f.reply(ctx, p.m)
	if f.end(ctx, p) {
		reply.ID = p.m.ID
		f.Write(context.WithoutCancel(ctx), reply)
	}
}

// Write sends a message to the host, on the stream of the request that ctx belongs to. It waits for a host that does
// not read, but not beyond the end of the connection. A host that is gone has nothing to be told.
func (f *Conn) Write(ctx context.Context, m *rpc.Message) {
	ctx = rpc.WithRelated(f.life, rpc.Related(ctx))
	if err := f.conn.Write(ctx, m); err != nil && !errors.Is(err, io.EOF) {
		f.host.Engine.Log.Debug("writing to the host", "error", err)
	}
}

// Request asks the host something and waits for its answer.
func (f *Conn) Request(ctx context.Context, method string, params json.RawMessage) (*rpc.Message, error) {
	f.mu.Lock()
	f.lastID++
	id := "weir-" + f.name + "-" + strconv.FormatInt(f.lastID, 10)
	answer := make(chan *rpc.Message, 1)
	f.asked[id] = answer
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.asked, id)
		f.mu.Unlock()
	}()
	if err := f.conn.Write(ctx, rpc.NewRequest(rawjson.Quote(id), method, params)); err != nil {
		return nil, fmt.Errorf("asking the host: %w", err)
	}
	select {
	case m := <-answer:
		return m, nil
	case <-ctx.Done():
		params, _ := rawjson.Set([]byte(`{"reason":"no longer needed"}`), rawjson.Quote(id), "requestId")
		f.Write(context.WithoutCancel(ctx), rpc.NewNotification("notifications/cancelled", params))
		return nil, context.Cause(ctx)
	}
}

// deliver hands a response of the host to whoever asked. An answer that nobody waits for, or a second one, is dropped.
func (f *Conn) deliver(m *rpc.Message) {
	id, _ := rawjson.String(m.ID)
	f.mu.Lock()
	answer := f.asked[id]
	delete(f.asked, id)
	f.mu.Unlock()
	if answer != nil {
		answer <- m
	}
}

// TakesRequests reports whether servers can send the host requests.
func (f *Conn) TakesRequests() bool { return f.host.Agents.Handshake() != nil }

// connected returns the connections to servers, made for the caller if they do not exist yet.
func (f *Conn) connected(c *protocol.Client) (*backend.Set, error) {
	hello := upstream.Hello{Protocol: c.Version, ClientInfo: c.Introduction(), Capabilities: c.Abilities()}
	if f.shared {
		return f.host.Engine.Servers.Shared(f.host.Agents.Principal, hello)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.links == nil && f.mayJoin(hello) {
		set, err := f.host.Engine.Servers.Join(f, f.host.Agents.Principal, hello)
		if err != nil {
			return nil, err
		}
		f.links = set
	}
	if f.links == nil {
		f.links = f.host.Engine.Servers.Own(hello, f)
	}
	return f.links, nil
}

// mayJoin reports whether the host's connections to servers may be shared.
func (f *Conn) mayJoin(hello upstream.Hello) bool {
	return f.share && f.host.Agents.McpSession != "" && protocol.RequestsTaken(hello.Capabilities) == ""
}

// connections returns the connections to servers; nil before a request has needed them.
func (f *Conn) connections() *backend.Set {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.links
}
