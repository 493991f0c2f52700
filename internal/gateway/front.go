package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

const (
	maxInFlight = 8192             // requests of one host connection whose answer is not out; further ones are refused
	drainTime   = 10 * time.Second // for the answers in flight after the host has left or the gateway ends
	writeTime   = 2 * time.Second  // for the host to take the last of them
)

// A front is one host connection.
type front struct {
	g       *Gateway
	conn    rpc.Conn
	shared  bool            // whether connections to servers are shared with other requests of the principal
	crew    *crew           // answers requests that may have to wait
	slots   chan struct{}   // holds a token for each request that is being answered
	leaving chan struct{}   // closed when no more is read from the host
	life    context.Context // ends when nothing may be written to it any more
	agents  *agentsession.Tracker

	mu       sync.Mutex
	links    *backend.Set                 // made with the first request that needs them
	inFlight map[string]*pending          // by the host's request id
	asked    map[string]chan *rpc.Message // by our request id
	lastID   int64
	reports  map[string][]*backend.Conn // by the progress token of the server's request that the host is answering

	faults backend.Throttle // of the host's messages
}

// serve runs one host connection: it reads until the host leaves or ctx ends, answers requests concurrently, and returns
// when the last answer is out.
func (g *Gateway) serve(ctx context.Context, conn rpc.Conn, h agentsession.Host, shared bool) error {
	f := &front{
		g: g, conn: conn, shared: shared, agents: agentsession.New(h, &g.current, g.log), crew: newCrew(),
		slots: make(chan struct{}, maxInFlight), leaving: make(chan struct{}),
		inFlight: map[string]*pending{}, asked: map[string]chan *rpc.Message{}, reports: map[string][]*backend.Conn{},
	}
	var end context.CancelFunc
	f.life, end = context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	work, stop := context.WithCancel(f.life)
	err := f.read(ctx, work)
	if shared && ctx.Err() != nil {
		f.cancelAll() // who hangs up cancels (2026-07-28, Streamable HTTP, Cancellation)
	}
	close(f.leaving)
	drained, written := time.AfterFunc(drainTime, stop), time.AfterFunc(drainTime+writeTime, end)
	f.crew.end()
	f.crew.wg.Wait()
	drained.Stop()
	written.Stop()
	stop()
	switch {
	case f.links == nil || shared:
	case f.links.HasMember(f):
		err = errors.Join(err, g.servers.Leave(f, f.links))
	default:
		err = errors.Join(err, f.links.Close())
	}
	return err
}

// read takes messages until the connection ends. Requests are answered by the crew.
func (f *front) read(ctx, work context.Context) error {
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
func (f *front) take(work context.Context, m *rpc.Message) {
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
func (f *front) answerTo(work context.Context, m *rpc.Message) {
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
		f.crew.run(func() {
			f.respond(ctx, p)
			<-f.slots
		})
	}
}

// cancelAll ends every request in flight.
func (f *front) cancelAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.inFlight {
		p.cancel(errCancelled)
	}
}

// A pending is a request of the host that has no answer yet.
type pending struct {
	m      *rpc.Message
	cancel context.CancelCauseFunc
}

// begin enters a request so that the host can cancel it, and refuses an id that is in flight: then it returns nil. The
// request is in flight until end is called.
func (f *front) begin(work context.Context, m *rpc.Message) (context.Context, *pending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := string(m.ID)
	if _, taken := f.inFlight[id]; taken {
		return nil, nil
	}
	ctx, cancel := context.WithCancelCause(rpc.WithRelated(work, m.ID))
	p := &pending{m, cancel}
	f.inFlight[id] = p
	return ctx, p
}

// end takes a request off the books, and reports whether its host still wants the answer.
func (f *front) end(ctx context.Context, p *pending) (wanted bool) {
	wanted = !errors.Is(context.Cause(ctx), errCancelled)
	f.mu.Lock()
	delete(f.inFlight, string(p.m.ID))
	f.mu.Unlock()
	p.cancel(nil)
	return wanted
}

// errCancelled is why a request ended that its host cancelled. Such a request gets no answer (MCP, Cancellation).
var errCancelled = hosterror.New("cancelled by the host")

// respond answers one request. Its id is free again before the answer is out, since the host may use it at once.
func (f *front) respond(ctx context.Context, p *pending) {
	reply := f.answer(ctx, p.m)
	if f.end(ctx, p) {
		reply.ID = p.m.ID
		f.Write(context.WithoutCancel(ctx), reply)
	}
}

// Write sends a message to the host, on the stream of the request that ctx belongs to. It waits for a host that does not
// read, but not beyond the end of the connection. A host that is gone has nothing to be told.
func (f *front) Write(ctx context.Context, m *rpc.Message) {
	ctx = rpc.WithRelated(f.life, rpc.Related(ctx))
	if err := f.conn.Write(ctx, m); err != nil && !errors.Is(err, io.EOF) {
		f.g.log.Debug("writing to the host", "error", err)
	}
}

// request asks the host something and waits for its answer.
func (f *front) request(ctx context.Context, method string, params json.RawMessage) (*rpc.Message, error) {
	f.mu.Lock()
	f.lastID++
	id := "weir-" + strconv.FormatInt(f.lastID, 10)
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
func (f *front) deliver(m *rpc.Message) {
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
func (f *front) TakesRequests() bool { return f.agents.Handshake() != nil }

// shaken returns the client of the handshake, for a request that does not name its client.
func (f *front) shaken(method string) (*protocol.Client, *rpc.Error) {
	who := f.agents.Handshake()
	if who == nil {
		return nil, &rpc.Error{Code: rpc.InvalidRequest, Message: "not initialized: begin with initialize, or name the revision in _meta"}
	}
	if protocol.OfOtherEra(method, false) {
		return nil, rpc.Errorf(rpc.MethodNotFound, "method not found in revision %s: %s", who.Version, method)
	}
	return who, nil
}

// connected returns the connections to servers, made for the caller if they do not exist yet.
func (f *front) connected(c *protocol.Client) (*backend.Set, error) {
	hello := upstream.Hello{Protocol: c.Version, ClientInfo: c.Introduction(), Capabilities: c.Abilities()}
	if f.shared {
		return f.g.servers.Shared(f.agents.Principal, hello)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.links == nil && f.mayJoin(hello) {
		set, err := f.g.servers.Join(f, f.agents.Principal, hello)
		if err != nil {
			return nil, err
		}
		f.links = set
	}
	if f.links == nil {
		f.links = f.g.servers.Own(hello, f)
	}
	return f.links, nil
}

// mayJoin reports whether the host's connections to servers may be shared.
func (f *front) mayJoin(hello upstream.Hello) bool {
	return f.g.opts.Share && f.agents.McpSession != "" && protocol.RequestsTaken(hello.Capabilities) == ""
}

// connections returns the connections to servers; nil before a request has needed them.
func (f *front) connections() *backend.Set {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.links
}
