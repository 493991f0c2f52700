package gateway

import (
	"context"
	"encoding/json"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// subscribe serves resources/subscribe and resources/unsubscribe of the older revisions for a server of 2026-07-28, which
// knows neither. To subscribe twice is to subscribe once.
func (x *exchange) subscribe(ctx context.Context, conn *upstream.Conn) (*rpc.Message, bool) {
	l, uri := x.route.link, x.route.call.Name
	if one := l.set.member(x.f); one != nil && (x.m.Method == "resources/subscribe" || x.m.Method == "resources/unsubscribe") {
		return x.watch(ctx, one), true
	}
	if !conn.Modern() || x.who.Modern() {
		return nil, false
	}
	l.watches.mu.Lock()
	_, subscribed := l.watches.by[uri]
	l.watches.mu.Unlock()
	switch {
	case x.m.Method == "resources/subscribe" && !subscribed:
		if err := l.subscribe(ctx, uri); err != nil {
			return x.f.internalError(x.m, err), true
		}
	case x.m.Method == "resources/unsubscribe":
		l.unsubscribe(uri)
	case x.m.Method != "resources/subscribe":
		return nil, false
	}
	return rpc.Reply(x.m.ID, nil), true
}

// watch serves resources/subscribe and resources/unsubscribe of a member. To subscribe twice is to subscribe once.
func (x *exchange) watch(ctx context.Context, one *member) *rpc.Message {
	l, set, uri := x.route.link, x.route.link.set, x.route.call.Name
	set.mu.Lock()
	_, watched := one.watched[uri]
	set.mu.Unlock()
	switch {
	case x.m.Method == "resources/subscribe" && !watched:
		if err := l.subscribe(ctx, uri); err != nil {
			return x.f.internalError(x.m, err)
		}
		set.mu.Lock()
		_, twice := one.watched[uri]
		_, stays := set.members[x.f]
		if stays {
			one.watched[uri] = l
		}
		set.mu.Unlock()
		if twice || !stays {
			l.unsubscribe(uri)
		}
	case x.m.Method == "resources/unsubscribe" && watched:
		set.mu.Lock()
		_, watched = one.watched[uri]
		delete(one.watched, uri)
		set.mu.Unlock()
		if watched {
			l.unsubscribe(uri)
		}
	}
	return rpc.Reply(x.m.ID, json.RawMessage(`{}`))
}
