package gateway

import (
	"context"
	"encoding/json"

	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// listen serves subscriptions/listen until the host cancels it or leaves.
func (f *front) listen(ctx context.Context, m *rpc.Message, set *backend.Set) *rpc.Message {
	wanted, ok := rawjson.Get(m.Params, "notifications")
	if !ok || rawjson.Kind(wanted) != '{' {
		return rpc.ReplyError(m.ID, rpc.Errorf(rpc.InvalidParams, "params.notifications is missing or not an object"))
	}
	if err := set.Connect(ctx); err != nil {
		return f.internalError(m, err)
	}
	w, err := set.Welcome(ctx)
	if err != nil {
		return f.internalError(m, err)
	}
	l, agreed := backend.NewListener(f, m.ID, wanted, w.Capabilities)
	set.AwaitLists(ctx)
	uris, end := f.watch(ctx, m, set, wanted)
	defer end()
	if len(uris) > 0 {
		l.Watch(uris)
		list, err := json.Marshal(uris)
		if err == nil {
			agreed, err = rawjson.Set(agreed, list, "resourceSubscriptions")
		}
		if err != nil {
			return f.internalError(m, err)
		}
	}
	acknowledgement := json.RawMessage(`{"notifications":` + string(agreed) + `}`)
	defer set.Listen(l, rpc.NewNotification("notifications/subscriptions/acknowledged", acknowledgement))()
	if l.Waits() {
		select {
		case <-ctx.Done():
		case <-f.leaving:
		}
	}
	result, err := rawjson.Set([]byte(`{"resultType":"complete"}`), m.ID, "_meta", protocol.MetaSubscription)
	if err != nil {
		return f.internalError(m, err)
	}
	return rpc.Reply(m.ID, result)
}

// maxWatched bounds the resources of one listener.
const maxWatched = 256

// watch subscribes to the resources that a filter names, as far as they exist, the guard lets the agent name them to
// their servers and these agree. It returns their URIs, and a function that ends the subscriptions.
func (f *front) watch(ctx context.Context, m *rpc.Message, set *backend.Set, wanted json.RawMessage) (uris []string, end func()) {
	var ends []func()
	list, _ := rawjson.Get(wanted, "resourceSubscriptions")
	for raw := range rawjson.Elements(list) {
		uri, ok := rawjson.String(raw)
		if !ok || len(uris) == maxWatched {
			continue
		}
		params := json.RawMessage(`{}`)
		if meta, ok := rawjson.Get(m.Params, "_meta"); ok {
			params = json.RawMessage(`{"_meta":` + string(meta) + `}`)
		}
		params, err := rawjson.Set(params, raw, "uri")
		if err != nil {
			continue
		}
		r, rerr := f.route(ctx, &rpc.Message{ID: m.ID, Method: "resources/subscribe", Params: params}, set)
		if rerr != nil || f.g.holdEnded(ctx, r.call) != nil || !f.decide(ctx, set, r.call).Allowed() {
			continue
		}
		if err := r.link.Subscribe(ctx, uri); err != nil {
			f.g.log.Warn("subscribing", "server", r.link.Name(), "error", err)
			continue
		}
		uris = append(uris, uri)
		ends = append(ends, func() { r.link.Unsubscribe(uri) })
	}
	return uris, func() {
		for _, end := range ends {
			end()
		}
	}
}
