package mcpguard

import (
	"cmp"
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
		Connection: inner, p: t.p, server: t.server, life: life, end: end,
		out: make(chan incoming), waiting: map[jsonrpc.ID]chan *jsonrpc.Response{},
		inFlight: map[jsonrpc.ID]context.CancelFunc{}, serving: map[jsonrpc.ID]served{},
	}
	c.resolves = resolver{p: t.p, within: t.server.Resolve, ask: c.query, introduction: &c.introduction}
	c.lists = lists{
		server: t.server, words: t.p.opts.Words, reviews: t.p.reviews, query: c.query, reading: make(chan struct{}, 1),
		introduction: &c.introduction,
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

	resolves     resolver
	lists        lists
	introduction introduction

	mu       sync.Mutex
	waiting  map[jsonrpc.ID]chan *jsonrpc.Response // requests that are with the server
	inFlight map[jsonrpc.ID]context.CancelFunc     // requests of the host that have no answer yet
	serving  map[jsonrpc.ID]served                 // requests of the server that have no answer yet
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
		return c.begin(ctx, m, c.exchangeOf(m.Method))
	}
	return errors.New("neither a request nor a response")
}

// An exchange takes a request of the host to the server, and the answer back.
type exchange func(context.Context, *jsonrpc.Request) (guard.Answer, error)

// exchangeOf returns the exchange of a method. One that nobody here knows is decided.
func (c *conn) exchangeOf(method string) exchange {
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
		params = c.introduction.to(params, req.Params, protocol.MetaClientInfo, protocol.MetaCapabilities)
		return c.send(ctx, call, &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: params, Extra: req.Extra})
	})
	if err != nil || refused {
		return a, err
	}
	return c.p.screen(ctx, call, a), nil
}

// list answers the host's request for a list, with all of its pages in one.
func (c *conn) list(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error) {
	a, err := c.lists.answer(ctx, kinds[req.Method], c.introduction.whole([]byte("{}"), req.Params), func(ctx context.Context, params json.RawMessage) (guard.Answer, error) {
		return c.ask(ctx, &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: params, Extra: req.Extra})
	})
	if a.Error != nil {
		c.hear()
	}
	return a, err
}

// welcome passes a handshake, with the instructions that were accepted.
func (c *conn) welcome(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error) {
	params := c.introduction.whole([]byte("{}"), req.Params)
	if req.Method == "initialize" {
		params = c.introduction.hello(req.Params)
	}
	a, err := c.ask(ctx, &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: params, Extra: req.Extra})
	if a.Error != nil {
		c.hear()
	}
	if err != nil || a.Error != nil {
		return a, err
	}
	a.Result, err = c.p.reviews.welcome(ctx, c.server.Name, a.Result)
	return a, err
}

// describe tells the guard how the server has listed the thing that a call is about, and holds the arguments against
// the input schema of a tool. A name that the server does not list counts as chosen by the agent, as arguments do. It
// fails for arguments that a server may read as others than the guard.
func (c *conn) describe(ctx context.Context, call *guard.Call, params json.RawMessage) (of catalog.Entry, err error) {
	kinds, member := listed(call)
	if kinds != nil {
		err = call.HoldBy(ctx, func(ctx context.Context) (held string, err error) {
			for _, kind := range kinds {
				if of, held, err = c.lists.find(ctx, kind, call.Name, params); err != nil || of.Name != "" {
					break
				}
			}
			return held, err
		})
		if err == nil && of.Name == "" {
			err = undeclared(call, member)
		}
		if err != nil {
			return of, err
		}
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
	call.Violates = cmp.Or(call.Violates, found.Violates)
	call.Undeclared.Names, call.Undeclared.Beside = found.Undeclared, found.Beside
	return of, nil
}

// undeclared has a member of the params count as one that nothing declares.
func undeclared(call *guard.Call, member string) error {
	value, _ := rawjson.Get(call.Params, member)
	more, err := rawjson.Set([]byte(cmp.Or(string(call.Undeclared.Params), "{}")), value, member)
	call.Undeclared.Params = more
	return err
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
		c.abandon(ctx, req.ID)
		return guard.Answer{}, ctx.Err()
	}
}

// query sends a request under an id that no request of the host has, and waits for the answer.
func (c *conn) query(ctx context.Context, method string, params json.RawMessage) (guard.Answer, error) {
	id, err := jsonrpc.MakeID("weir-" + rand.Text())
	if err != nil {
		return guard.Answer{}, err
	}
	a, err := c.ask(ctx, &jsonrpc.Request{ID: id, Method: method, Params: params})
	if err == nil {
		err = annotation.Check(a.Raw())
	}
	return a, err
}

// withdrawal is how long it may take to tell a server that its answer is not waited for any longer.
const withdrawal = 2 * time.Second

// abandon tells the server that nobody waits for the answer to a request any longer.
func (c *conn) abandon(ctx context.Context, id jsonrpc.ID) {
	if c.life.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawal)
	defer cancel()
	params, err := json.Marshal(map[string]any{"requestId": id.Raw(), "reason": "no longer needed"})
	if err == nil {
		_ = c.Connection.Write(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params}) // if it fails, Read will
	}
}

// pump takes the server's messages: answers to those who asked, everything else to serve. An answer to a request that is
// not with the server, such as a call that is being decided on, goes nowhere.
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
		resp, ok := msg.(*jsonrpc.Response)
		if !ok {
			continue
		}
		c.mu.Lock()
		answer := c.waiting[resp.ID]
		delete(c.waiting, resp.ID)
		c.mu.Unlock()
		if answer != nil {
			answer <- resp
		}
	}
}

// hear notes that the host gets text of the server that is no definition, no result and no message. That of a known
// server is believed.
func (c *conn) hear() {
	if c.server.Trust == contract.Untrusted {
		c.p.show(guard.Messages(c.server.Name, c.server.Trust))
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
