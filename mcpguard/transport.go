package mcpguard

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Transport wraps a client's transport to a server. It works on raw messages below the SDK's typed structs, so that
// annotations which those do not know are read, and survive. Lists have one page. Tools show their effective contract;
// a tool that the server does not list counts as the worst. With [Options.Pins] the host sees definitions as they were
// accepted, and cannot call others.
//
// The SDK tells the agreed revision only to connections of its own. So over streamable HTTP a wrapped client of the
// revisions before 2026-07-28 sends no MCP-Protocol-Version header and opens no standing stream.
func (p *Protector) Transport(s Server, inner mcp.Transport) mcp.Transport {
	return &transport{p, s, inner}
}

type transport struct {
	p      *Protector
	server Server
	inner  mcp.Transport
}

// Connect implements [mcp.Transport].
func (t *transport) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // whose values may say which session it is
	c := &conn{
		wire: &wire{Connection: inner, life: life, waiting: map[int64]asking{}},
		p:    t.p, server: t.server, end: end, out: make(chan incoming),
		inFlight: map[jsonrpc.ID]context.CancelFunc{}, serving: serving{},
	}
	c.resolves = resolver{p: t.p, within: t.server.Resolve, ask: c.query, introduction: &c.introduction}
	c.lists = lists{
		server: t.server, words: t.p.opts.Words, reviews: t.p.reviews, query: c.query, reading: make(chan struct{}, 1),
		introduction: &c.introduction, schemas: &t.p.schemas,
		trust: func(ctx context.Context) (contract.Trust, error) { return t.p.conduct.trust(ctx, t.server) },
	}
	t.p.conduct.meet(t.server) // whose definitions count from its handshake on
	c.work.Go(c.pump)
	return c, nil
}

// A conn is a guarded connection to one server.
type conn struct {
	*wire
	p      *Protector
	server Server
	end    context.CancelFunc
	work   sync.WaitGroup
	out    chan incoming

	resolves     resolver
	lists        lists
	introduction introduction

	mu       sync.Mutex
	inFlight map[jsonrpc.ID]context.CancelFunc // requests of the host that have no answer yet
	serving  serving
	flights  flights
}

// incoming is the output of Read.
type incoming struct {
	msg jsonrpc.Message
	err error
}

// Read implements [mcp.Connection].
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case in := <-c.out:
		return in.msg, in.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.life.Done():
		return nil, mcp.ErrConnectionClosed
	}
}

// Write implements [mcp.Connection]. A request goes through its exchange in a goroutine, because a person may have to
// be asked. No message of the host reaches the server but by an exchange, by notify or by answer.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	switch m := msg.(type) {
	case *jsonrpc.Response:
		c.answer(m)
		return nil
	case *jsonrpc.Request:
		if !m.IsCall() {
			return c.notify(ctx, m)
		}
		return c.begin(ctx, m, exchangeOf(c, m.Method))
	}
	return errors.New("neither a request nor a response")
}

// An exchange takes a request of the host to the server, and the answer back.
type exchange func(context.Context, *jsonrpc.Request) (guard.Answer, error)

// exchangeOf returns the exchange of a method. One that nobody here knows is decided.
func exchangeOf(c *conn, method string) exchange {
	_, lists := kinds[method]
	switch {
	case method == "subscriptions/listen":
		return c.listen
	case guard.Guarded(method):
		return c.exchange
	case lists:
		return c.list
	case method == "initialize", method == "server/discover":
		return c.welcome
	}
	return c.pass
}

// begin starts an exchange, which the host can cancel.
func (c *conn) begin(ctx context.Context, req *jsonrpc.Request, through exchange) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return mcp.ErrConnectionClosed
	}
	if c.inFlight[req.ID] != nil {
		return errors.New("a request with this id is in flight")
	}
	ctx, cancel := context.WithCancel(ctx)
	c.inFlight[req.ID] = cancel
	c.work.Go(func() {
		defer cancel()
		c.guarded(ctx, req, through)
	})
	return nil
}

// Close implements [mcp.Connection]. It waits for the calls under way.
func (c *conn) Close() error {
	c.mu.Lock()
	c.end()
	c.mu.Unlock()
	err := c.Connection.Close()
	c.work.Wait()
	return err
}

// guarded takes one request through an exchange, and hands its answer to Read.
func (c *conn) guarded(ctx context.Context, req *jsonrpc.Request, through exchange) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	resp := &jsonrpc.Response{ID: req.ID}
	a, err := through(ctx, req)
	c.mu.Lock()
	delete(c.inFlight, req.ID)
	c.mu.Unlock()
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		resp.Error = wire
	case err != nil: // it may quote the server
		c.p.showText(c.life, c.server)
		resp.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	case a.Error != nil:
		resp.Error = wireError(a.Error)
	default:
		resp.Result = a.Result
	}
	c.deliver(incoming{msg: resp})
}

func (c *conn) exchange(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error) {
	call, err := c.p.call(ctx, c.server, req.Method, req.Params)
	if err != nil {
		return guard.Answer{}, err
	}
	of, err := c.lists.describe(ctx, call, req.Params)
	if err != nil {
		return guard.Answer{}, err
	}
	if err := c.resolves.learn(ctx, call, of, req.Params); err != nil {
		denied := guard.Denied(err).Refusal()
		c.p.warn(ctx, call, denied)
		return denied.Answer(call.Method), ctx.Err()
	}
	a, _, err := c.p.through(ctx, call, func(ctx context.Context, params json.RawMessage) (guard.Answer, error) {
		params = c.introduction.whole(rawjson.Delete(params, "_meta", protocol.MetaVersion), req.Params)
		return c.send(ctx, call, &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: params, Extra: req.Extra})
	})
	return a, err
}

// list answers the host's request for a list, with all of its pages in one.
func (c *conn) list(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error) {
	first := c.introduction.whole([]byte("{}"), req.Params)
	return c.lists.answer(ctx, kinds[req.Method], first, func(ctx context.Context, params json.RawMessage) (guard.Answer, error) {
		return c.relay(ctx, req, params)
	})
}

// welcome passes a handshake, with the instructions that were accepted.
func (c *conn) welcome(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error) {
	params := c.introduction.whole([]byte("{}"), req.Params)
	if req.Method == "initialize" {
		params = c.introduction.hello(req.Params)
	}
	a, err := c.relay(ctx, req, params)
	if err != nil || a.Error != nil {
		return a, err
	}
	a.Result, err = c.p.reviews.welcome(ctx, c.server.Name, a.Result)
	return a, err
}

// relay sends a request of the host to the server, with other params. An error may quote the server.
func (c *conn) relay(ctx context.Context, req *jsonrpc.Request, params json.RawMessage) (guard.Answer, error) {
	a, err := c.ask(ctx, &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: params, Extra: req.Extra})
	if err != nil || a.Error != nil {
		c.p.showText(c.life, c.server)
	}
	return a, err
}

// send passes a call to the server and waits for its answer. Meanwhile the call is in flight.
func (c *conn) send(ctx context.Context, call *guard.Call, req *jsonrpc.Request) (guard.Answer, error) {
	c.mu.Lock()
	c.flights.enter(call)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.flights.leave(call)
		c.mu.Unlock()
	}()
	return c.ask(ctx, req)
}

// pump takes the server's messages: answers to those who asked, everything else to serve.
func (c *conn) pump() {
	for {
		msg, err := c.Connection.Read(c.life)
		if req, ok := msg.(*jsonrpc.Request); ok && err == nil {
			err = c.serve(req)
		}
		if err != nil {
			c.deliver(incoming{err: err})
			return
		}
		if resp, ok := msg.(*jsonrpc.Response); ok {
			c.answered(resp)
		}
	}
}

// showText notes that the host gets text of the server that is no definition, no result and no message. That of a known
// server is believed.
func (p *Protector) showText(ctx context.Context, of Server) {
	if trust, _ := p.conduct.trust(ctx, of); trust == contract.Untrusted {
		p.heard.Join(guard.Messages(of.Name, trust))
	}
}

func (c *conn) deliver(in incoming) {
	select {
	case c.out <- in:
	case <-c.life.Done():
	}
}

// wireError decodes an error object. One that does not decode is an internal error, never none.
func wireError(raw json.RawMessage) *jsonrpc.Error {
	e := &jsonrpc.Error{}
	if err := json.Unmarshal(raw, e); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "unreadable error"}
	}
	return e
}
