package mcpguard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
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
		Connection: inner, p: t.p, server: t.server, life: life, end: end,
		out: make(chan incoming), waiting: map[jsonrpc.ID]chan *jsonrpc.Response{},
		passed: map[jsonrpc.ID]bool{}, serving: map[jsonrpc.ID]*guard.Call{},
	}
	c.resolves = resolver{p: t.p, within: t.server.Resolve, ask: c.query}
	c.lists = lists{
		server: t.server, words: t.p.opts.Words, reviews: t.p.reviews, query: c.query, reading: make(chan struct{}, 1),
	}
	t.p.meet(t.server) // whose definitions count from its handshake on
	c.work.Go(c.pump)
	return c, nil
}

// A conn is a guarded connection to one server.
type conn struct {
	mcp.Connection
	p      *Protector
	server Server
	life   context.Context // ends with the connection
	end    context.CancelFunc
	work   sync.WaitGroup
	out    chan incoming

	resolves resolver
	lists    lists

	mu      sync.Mutex
	waiting map[jsonrpc.ID]chan *jsonrpc.Response // requests that are with the server, whose answers go to ask
	passed  map[jsonrpc.ID]bool                   // the other requests that are with the server
	serving map[jsonrpc.ID]*guard.Call            // requests of the server that have no answer yet; nil for one that is no question
	flights flights
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

// Write implements [mcp.Connection]. A guarded request is decided in a goroutine, because a person may have to be
// asked.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if resp, ok := msg.(*jsonrpc.Response); ok {
		return c.answer(ctx, resp)
	}
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return c.Connection.Write(ctx, msg)
	}
	exchange := c.exchange
	_, lists := kinds[req.Method]
	switch {
	case guard.Guarded(req.Method):
	case lists:
		exchange = c.list
	case req.Method == "initialize", req.Method == "server/discover":
		exchange = c.welcome
	default:
		c.mu.Lock()
		c.passed[req.ID] = true
		c.mu.Unlock()
		return c.Connection.Write(ctx, msg)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return mcp.ErrConnectionClosed
	}
	c.work.Go(func() { c.guarded(ctx, req, exchange) })
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
func (c *conn) guarded(ctx context.Context, req *jsonrpc.Request, exchange func(context.Context, *jsonrpc.Request) (guard.Answer, error)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	resp := &jsonrpc.Response{ID: req.ID}
	a, err := exchange(ctx, req)
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		resp.Error = wire
	case err != nil:
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
	of, err := c.describe(ctx, call, req.Params)
	if err != nil {
		return guard.Answer{}, err
	}
	if v := c.p.permitAnswers(ctx, call); !v.Allowed() {
		return v.Refusal().Answer(call.Method), nil
	}
	if err := c.resolves.learn(ctx, call, of, req.Params); err != nil {
		denied := guard.Denied(err).Refusal()
		c.p.warn(ctx, call, denied)
		return denied.Answer(call.Method), ctx.Err()
	}
	a, refused, err := c.p.through(ctx, call, func(ctx context.Context, params json.RawMessage) (guard.Answer, error) {
		params = introduced(params, req.Params, metaClient, metaCapabilities)
		return c.send(ctx, call, &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: params, Extra: req.Extra})
	})
	if err != nil || refused {
		return a, err
	}
	return c.p.screen(ctx, call, a), nil
}

// list answers the host's request for a list, with all of its pages in one.
func (c *conn) list(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error) {
	a, err := c.lists.answer(ctx, kinds[req.Method], req.Params, func(ctx context.Context, params json.RawMessage) (guard.Answer, error) {
		return c.ask(ctx, &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: params, Extra: req.Extra})
	})
	if a.Error != nil {
		c.showText()
	}
	return a, err
}

// welcome passes a handshake, with the instructions that were accepted.
func (c *conn) welcome(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error) {
	a, err := c.ask(ctx, req)
	if a.Error != nil {
		c.showText()
	}
	if err != nil || a.Error != nil {
		return a, err
	}
	a.Result, err = c.p.reviews.welcome(ctx, c.server.Name, a.Result)
	return a, err
}

// describe tells the guard how the server has listed the tool or the prompt of a call, and holds the arguments against
// the input schema of the tool. It fails for arguments that a server may read as others than the guard.
func (c *conn) describe(ctx context.Context, call *guard.Call, params json.RawMessage) (catalog.Entry, error) {
	kind, holds := listed[call.Method]
	if !holds || call.Method != "tools/call" && c.p.reviews.pins == nil {
		call.Describe(call.Declared, c.server.Overlay)
		return catalog.Entry{}, nil
	}
	var of catalog.Entry
	err := call.HoldBy(ctx, func(ctx context.Context) (held string, err error) {
		of, held, err = c.lists.find(ctx, kind, call.Name, params)
		return held, err
	})
	if err != nil {
		return of, err
	}
	if call.Method != "tools/call" {
		call.Describe(call.Declared, c.server.Overlay)
		return of, nil
	}
	call.Describe(of.Declared, c.server.Overlay)
	if of.Said == nil {
		return of, nil
	}
	found := c.p.schemas.Of(of.Said).Check(call.Arguments)
	if found.Ambiguous {
		return of, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "members of params.arguments differ in nothing but case"}
	}
	call.Violates, call.Undeclared.Names, call.Undeclared.Beside = found.Violates, found.Undeclared, found.Beside
	return of, nil
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

// ask passes a request to the server and waits for its answer.
func (c *conn) ask(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error) {
	answer := make(chan *jsonrpc.Response, 1)
	c.mu.Lock()
	c.waiting[req.ID] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, req.ID)
		c.mu.Unlock()
	}()
	if err := c.Connection.Write(ctx, req); err != nil {
		return guard.Answer{}, err
	}
	select {
	case resp := <-answer:
		if resp.Error == nil {
			return guard.Answer{Result: resp.Result}, nil
		}
		var wire *jsonrpc.Error
		if !errors.As(resp.Error, &wire) {
			return guard.Answer{}, resp.Error
		}
		raw, err := json.Marshal(wire)
		return guard.Answer{Error: raw}, err
	case <-ctx.Done():
		return guard.Answer{}, ctx.Err()
	}
}

// query sends a request under an id that no request of the host has, and waits for the answer.
func (c *conn) query(ctx context.Context, method string, params json.RawMessage) (guard.Answer, error) {
	name := "weir-" + rand.Text()
	id, err := jsonrpc.MakeID(name)
	if err != nil {
		return guard.Answer{}, err
	}
	a, err := c.ask(ctx, &jsonrpc.Request{ID: id, Method: method, Params: params})
	if err == nil {
		err = annotation.Check(a.Raw())
	}
	if ctx.Err() != nil {
		c.abandon(ctx, name)
	}
	return a, err
}

// withdrawal is how long it may take to tell a server that its answer is not waited for any longer.
const withdrawal = 2 * time.Second

// abandon tells the server that nobody waits for the answer to a request any longer.
func (c *conn) abandon(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawal)
	defer cancel()
	params, err := json.Marshal(map[string]string{"requestId": id, "reason": "no answer in time"})
	if err == nil {
		_ = c.Connection.Write(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params}) // if it fails, Read will
	}
}

// pump takes the server's messages: answers to guarded calls to their callers, everything else to Read. An answer to a
// request that is not with the server, such as a call that is being decided on, goes nowhere.
func (c *conn) pump() {
	for {
		msg, err := c.Connection.Read(c.life)
		if err != nil {
			c.deliver(incoming{err: err})
			return
		}
		if req, ok := msg.(*jsonrpc.Request); ok {
			if err := c.serve(req); err != nil {
				c.deliver(incoming{err: err})
				return
			}
			continue
		}
		resp, ok := msg.(*jsonrpc.Response)
		if !ok {
			continue // there is no third kind
		}
		c.mu.Lock()
		answer := c.waiting[resp.ID]
		passed := c.passed[resp.ID]
		delete(c.waiting, resp.ID)
		delete(c.passed, resp.ID)
		c.mu.Unlock()
		switch {
		case answer != nil:
			answer <- resp
			continue
		case !passed:
			continue
		}
		c.showText()
		c.deliver(incoming{msg: resp})
	}
}

// showText notes that the host gets text of the server that is no definition, no result and no message. That of a known
// server is believed.
func (c *conn) showText() {
	if c.server.Trust == contract.Untrusted {
		c.p.heard.Join(guard.Messages(c.server.Name, c.server.Trust))
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
