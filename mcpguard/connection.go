package mcpguard

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Requests and notifications for which guard.Guarded is false concern the connection. They go to the server made anew,
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
	if a, err := c.relay(ctx, req, c.introduction.whole(params, req.Params)); err != nil || a.Error != nil {
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
	if a, err := c.relay(ctx, req, c.introduction.whole(params, req.Params)); err != nil || a.Error != nil {
		return a, err
	}
	result := json.RawMessage(`{"resultType":"complete"}`)
	id, err := json.Marshal(req.ID.Raw())
	if err == nil {
		result, err = rawjson.Set(result, id, "_meta", protocol.MetaSubscription)
	}
	return guard.Answer{Result: result}, err
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
		if id, ok := requestID(n.Params); ok {
			c.mu.Lock()
			defer c.mu.Unlock()
			if cancel := c.inFlight[id]; cancel != nil {
				cancel() // which tells the server
			}
		}
		return nil
	case "notifications/progress":
		figures, err := protocol.Progress(n.Params)
		c.mu.Lock()
		wanted := c.serving.reports(n.Params)
		c.mu.Unlock()
		if err != nil || !wanted {
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
