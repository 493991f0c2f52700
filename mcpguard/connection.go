package mcpguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/session"
)

// Requests and notifications that guard.Guarded does not name concern the connection. They go to the server made anew,
// with nothing in which an agent could put text, and of their results the host gets nothing that the server wrote.

// pass takes a request about the connection to the server.
func (c *conn) pass(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error) {
	params := json.RawMessage("{}")
	if req.Method == "logging/setLevel" {
		level, rerr := protocol.Level(req.Params)
		if rerr != nil {
			return guard.Answer{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: rerr.Message}
		}
		params = level
	}
	a, err := c.ask(ctx, &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: c.introduction.whole(params, req.Params), Extra: req.Extra})
	if err != nil || a.Error != nil {
		c.hear()
		return a, err
	}
	return guard.Answer{Result: json.RawMessage("{}")}, nil
}

// listen takes subscriptions/listen to the server, if each resource in it may be subscribed to (2026-07-28). It ends
// with the subscription.
func (c *conn) listen(ctx context.Context, req *jsonrpc.Request) (guard.Answer, error) {
	ref, err := c.p.listener(ctx)
	if err != nil {
		return guard.Answer{}, err
	}
	if a, err := c.p.watch(ctx, ref, c.server, req.Params); err != nil || a.Error != nil {
		return a, err
	}
	params := json.RawMessage(`{"notifications":{}}`)
	for _, name := range []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", watched} {
		value, _ := rawjson.Get(req.Params, "notifications", name)
		if string(value) == "true" || name == watched && value != nil {
			if params, err = rawjson.Set(params, value, "notifications", name); err != nil {
				return guard.Answer{}, err
			}
		}
	}
	a, err := c.ask(ctx, &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: c.introduction.whole(params, req.Params), Extra: req.Extra})
	if err != nil || a.Error != nil {
		c.hear()
		return a, err
	}
	result := json.RawMessage(`{"resultType":"complete"}`)
	id, err := json.Marshal(req.ID.Raw())
	if err == nil {
		result, err = rawjson.Set(result, id, "_meta", protocol.MetaSubscription)
	}
	return guard.Answer{Result: result}, err
}

// watched is the member of the notifications of subscriptions/listen with the URIs of resources.
const watched = "resourceSubscriptions"

// mostWatched is how many resources one request may listen for.
const mostWatched = 256

// watch decides on the resources that a request listens for, as on requests to subscribe to them. The answer is the
// refusal of the first that may not, or none.
func (p *Protector) watch(ctx context.Context, ref session.Ref, s Server, params json.RawMessage) (guard.Answer, error) {
	invalid := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "params.notifications." + watched + " is no list of strings"}
	list, there := rawjson.Get(params, "notifications", watched)
	if !there {
		return guard.Answer{}, nil
	}
	var uris []string
	if rawjson.Kind(list) != '[' || json.Unmarshal(list, &uris) != nil || len(uris) > mostWatched {
		return guard.Answer{}, invalid
	}
	meta, _ := rawjson.Get(params, "_meta")
	for _, uri := range uris {
		one, err := rawjson.Set([]byte("{}"), rawjson.Quote(uri), "uri")
		if err == nil && meta != nil {
			one, err = rawjson.Set(one, meta, "_meta")
		}
		if err != nil {
			return guard.Answer{}, invalid
		}
		call, err := p.callOf(ctx, ref, s, "resources/subscribe", one)
		if err != nil {
			return guard.Answer{}, err
		}
		call.Describe(call.Declared, s.Overlay)
		if v := p.decide(ctx, call); !v.Allowed() {
			return v.Refusal().Answer(call.Method), nil
		}
	}
	return guard.Answer{}, nil
}

// listener returns the agent session of a request to listen. The SDK sends it without the context of its caller, so it
// belongs to the one session that there were calls of; if there were several, the host has to say.
func (p *Protector) listener(ctx context.Context) (session.Ref, error) {
	ref := p.opts.Session(ctx)
	if _, said := ctx.Value(agentSession{}).(session.Ref); said {
		return ref, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.several:
		return ref, errors.New("weir: nothing says which agent session listens: use subscriptions with one session only")
	case p.first != nil:
		return *p.first, nil
	}
	return ref, nil
}

// notify passes a notification of the host. Those of MCP go with nothing that an agent could have written; any other is
// decided, in a goroutine.
func (c *conn) notify(ctx context.Context, n *jsonrpc.Request) error {
	if guard.Guarded(n.Method) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.life.Err() == nil {
			c.work.Go(func() { c.decided(context.WithoutCancel(ctx), n) })
		}
		return nil
	}
	params := json.RawMessage("{}")
	switch n.Method {
	case "notifications/cancelled":
		c.cancelled(n.Params) // the server is told by the end of the request
		return nil
	case "notifications/progress":
		figures, err := protocol.Progress(n.Params)
		if err != nil || !c.reports(n.Params) {
			return nil
		}
		params = figures
	case "notifications/initialized", "notifications/roots/list_changed":
	default:
		return nil // a request without an id
	}
	return c.Connection.Write(ctx, &jsonrpc.Request{Method: n.Method, Params: c.introduction.whole(params, n.Params), Extra: n.Extra})
}

// decided sends a notification that MCP does not have, if the guard lets it. The decision is an event.
func (c *conn) decided(ctx context.Context, n *jsonrpc.Request) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	call, err := c.p.call(ctx, c.server, n.Method, n.Params)
	if err != nil {
		return
	}
	if v := c.p.decide(ctx, call); v.Allowed() {
		_ = c.Connection.Write(ctx, &jsonrpc.Request{Method: n.Method, Params: v.Params, Extra: n.Extra}) // if it fails, Read will
	}
}

// cancelled ends a request of the host.
func (c *conn) cancelled(params json.RawMessage) {
	if id, ok := requestID(params); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		if cancel := c.inFlight[id]; cancel != nil {
			cancel()
		}
	}
}

// requestID returns the id of the request that a notification cancels.
func requestID(params json.RawMessage) (jsonrpc.ID, bool) {
	var cancelled struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(params, &cancelled) != nil {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.MakeID(cancelled.RequestID)
	return id, err == nil && id.IsValid()
}

// reports reports whether a progress token is that of a request of the server which the host is answering.
func (c *conn) reports(params json.RawMessage) bool {
	token, ok := rawjson.Get(params, "progressToken")
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.serving {
		if ok && s.call != nil && s.token == string(token) {
			return true
		}
	}
	return false
}

// own answers a request of the server that is no question: the host is asked nothing that is not decided.
func (c *conn) own(req *jsonrpc.Request) {
	resp := &jsonrpc.Response{ID: req.ID, Result: json.RawMessage("{}")}
	if req.Method != "ping" {
		resp = &jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not supported", req.Method),
		}}
	}
	_ = c.Connection.Write(c.life, resp) // if it fails, Read will
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.serving, req.ID)
}
