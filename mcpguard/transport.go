package mcpguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Transport wraps a client's transport to a server. It works on raw messages below the SDK's typed structs, so that
// annotations which those do not know are read, and survive. Tools show their effective contract; their declaration is
// learned from the tools/list answers that pass, and a tool that was never listed counts as the worst.
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
		passed: map[jsonrpc.ID]string{}, tools: map[string]tool{}, serving: map[jsonrpc.ID]*guard.Call{},
	}
	c.resolves = resolver{p: t.p, within: t.server.Resolve, ask: c.ask, tell: inner.Write}
	if t.server.Trust == contract.Untrusted {
		t.p.show(guard.Definitions(t.server.Name)) // from its handshake on
	}
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

	mu      sync.Mutex
	waiting map[jsonrpc.ID]chan *jsonrpc.Response // requests that are with the server, whose answers go to ask
	passed  map[jsonrpc.ID]string                 // methods of the other requests that are with the server
	tools   map[string]tool                       // by name, as they were listed last
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
	if !guard.Guarded(req.Method) {
		c.mu.Lock()
		c.passed[req.ID] = req.Method
		c.mu.Unlock()
		return c.Connection.Write(ctx, msg)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return mcp.ErrConnectionClosed
	}
	c.work.Go(func() { c.guarded(ctx, req) })
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

// guarded takes one request through the guard and hands its answer to Read.
func (c *conn) guarded(ctx context.Context, req *jsonrpc.Request) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	resp := &jsonrpc.Response{ID: req.ID}
	a, err := c.exchange(ctx, req)
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
	of, err := c.describe(call)
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

// describe tells the guard how the server has listed the tool of a call, and holds the arguments against its input
// schema. It fails for arguments that a server may read as others than the guard.
func (c *conn) describe(call *guard.Call) (tool, error) {
	if call.Method != "tools/call" {
		call.Describe(call.Declared, c.server.Overlay)
		return tool{}, nil
	}
	c.mu.Lock()
	of := c.tools[call.Name]
	c.mu.Unlock()
	call.Describe(of.declared, c.server.Overlay)
	if of.raw == nil {
		return of, nil
	}
	found := c.p.schemas.Of(of.raw).Check(call.Arguments)
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
		method, passed := c.passed[resp.ID]
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
		if method == "tools/list" && resp.Error == nil {
			if resp.Result, err = c.learn(resp.Result); err != nil {
				resp.Result, resp.Error = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
			}
		}
		c.deliver(incoming{msg: resp})
	}
}

func (c *conn) deliver(in incoming) {
	select {
	case c.out <- in:
	case <-c.life.Done():
	}
}

// learn reads the declarations of the listed tools, and shows the contracts that count.
func (c *conn) learn(result json.RawMessage) (json.RawMessage, error) {
	if err := annotation.Check(result); err != nil {
		return nil, fmt.Errorf("tools of server %s: %w", c.server.Name, err)
	}
	list, _ := rawjson.Get(result, "tools")
	tools := []byte{'['}
	for raw := range rawjson.Elements(list) {
		declared, _ := c.p.opts.Words.Reader.ReadTool(raw)
		extension, core := annotation.Resolvable(raw)
		nameText, _ := rawjson.Get(raw, "name")
		name, ok := rawjson.String(nameText)
		if ok {
			c.mu.Lock()
			c.tools[name] = tool{raw, declared, extension || core}
			c.mu.Unlock()
		}
		shown, err := c.p.opts.Words.ToHosts.WriteTool(raw, c.server.Overlay.Tool(name).Effective(declared, c.server.Trust).Told(declared))
		if err != nil {
			return nil, fmt.Errorf("tools of server %s: %w", c.server.Name, err)
		}
		if len(tools) > 1 {
			tools = append(tools, ',')
		}
		tools = append(tools, shown...)
	}
	return rawjson.Set(result, append(tools, ']'), "tools")
}

// wireError decodes an error object. One that does not decode is an internal error, never none.
func wireError(raw json.RawMessage) *jsonrpc.Error {
	e := &jsonrpc.Error{}
	if err := json.Unmarshal(raw, e); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "unreadable error"}
	}
	return e
}
