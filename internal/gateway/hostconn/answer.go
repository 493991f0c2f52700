package hostconn

import (
	"context"
	"encoding/json"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/gateway/exchange"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// answer answers one request of the host; the caller sets the id.
func (a answerer) answer(ctx context.Context, m *rpc.Message) *rpc.Message {
	f := a.conn
	who, rerr := declared(m)
	switch {
	case rerr != nil:
		return rpc.ReplyError(m.ID, rerr)
	case m.Method == "initialize":
		return a.initialize(ctx, m)
	case m.Method == "ping":
		return rpc.Reply(m.ID, json.RawMessage(`{}`))
	}
	if who == nil {
		if who, rerr = f.host.Handshake(m.Method); rerr != nil {
			return rpc.ReplyError(m.ID, rerr)
		}
	}
	set, err := f.connected(who)
	if err != nil {
		return f.host.InternalError(m, err)
	}
	switch m.Method {
	case "server/discover":
		return a.discover(ctx, m, who, set)
	case catalog.Tools.Method:
		return a.list(ctx, m, who, catalog.Tools)
	case catalog.Prompts.Method:
		return a.list(ctx, m, who, catalog.Prompts)
	case catalog.Resources.Method:
		return a.list(ctx, m, who, catalog.Resources)
	case catalog.Templates.Method:
		return a.list(ctx, m, who, catalog.Templates)
	case "logging/setLevel":
		return a.setLevel(ctx, m, who, set)
	case "subscriptions/listen":
		return a.listen(ctx, m, set)
	case guard.MethodResolve:
		return f.host.Resolve(ctx, m, who, set)
	}
	return f.host.Exchange(ctx, m, who, set)
}

// declared returns the client that a request names in its _meta; nil if it names none.
func declared(m *rpc.Message) (*protocol.Client, *rpc.Error) {
	if meta, ok := rawjson.Get(m.Params, "_meta"); ok && rawjson.Kind(meta) != '{' {
		return nil, rpc.Errorf(rpc.InvalidParams, "params._meta is not an object")
	}
	who, rerr := protocol.ReadClient(m.Params)
	if who != nil && protocol.OfOtherEra(m.Method, true) {
		return nil, rpc.Errorf(rpc.MethodNotFound, "method not found in revision %s: %s", who.Version, m.Method)
	}
	return who, rerr
}

// list answers a list method with the merged list, fresh from the servers, in one page.
func (a answerer) list(ctx context.Context, m *rpc.Message, who *protocol.Client, kind catalog.Kind) *rpc.Message {
	f := a.conn
	if _, ok := rawjson.Get(m.Params, "cursor"); ok {
		return rpc.ReplyError(m.ID, &rpc.Error{Code: rpc.InvalidParams, Message: "unknown cursor: the list has one page"})
	}
	set, err := f.connected(who)
	if err != nil {
		return f.host.InternalError(m, err)
	}
	l, err := set.List(ctx, kind, true)
	if err != nil {
		return f.host.InternalError(m, err)
	}
	result := l.Result()
	if kind.Method == catalog.Tools.Method {
		if result, err = exchange.WithOwn(f.host.Engine, result); err != nil {
			return f.host.InternalError(m, err)
		}
	}
	if kind.Method == catalog.Tools.Method && who.Resolves() {
		result = exchange.Marked(result)
	}
	return rpc.Reply(m.ID, protocol.FitResult(result, who, true))
}
