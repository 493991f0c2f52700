package gateway

import (
	"context"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// subscribe serves resources/subscribe and resources/unsubscribe of the older revisions for a server of 2026-07-28, which
// knows neither, and for a host that shares connections.
func (x *exchange) subscribe(ctx context.Context, conn *upstream.Conn) (*rpc.Message, bool) {
	set, l, uri := x.route.set, x.route.link, x.route.call.Name
	if !set.HasMember(x.f) && (!conn.Modern() || x.who.Modern()) {
		return nil, false
	}
	switch x.m.Method {
	case "resources/subscribe":
		if err := set.Subscribe(ctx, x.f, l, uri); err != nil {
			return x.f.internalError(x.m, err), true
		}
	case "resources/unsubscribe":
		set.Unsubscribe(x.f, l, uri)
	default:
		return nil, false
	}
	return rpc.Reply(x.m.ID, nil), true
}
