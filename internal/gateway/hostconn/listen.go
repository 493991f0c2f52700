package hostconn

import (
	"context"
	"encoding/json"

	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// listen serves subscriptions/listen until the host cancels it or leaves.
func (a answerer) listen(ctx context.Context, m *rpc.Message, set *backend.Set) *rpc.Message {
	f := a.conn
	wanted, ok := rawjson.Get(m.Params, "notifications")
	if !ok || rawjson.Kind(wanted) != '{' {
		return rpc.ReplyError(m.ID, rpc.Errorf(rpc.InvalidParams, "params.notifications is missing or not an object"))
	}
	if err := set.Connect(ctx); err != nil {
		return f.host.InternalError(m, err)
	}
	w, err := set.Welcome(ctx)
	if err != nil {
		return f.host.InternalError(m, err)
	}
	l, agreed := backend.NewListener(f, m.ID, wanted, w.Capabilities)
	set.AwaitLists(ctx)
	uris, end := f.host.Watch(ctx, m, set, wanted)
	defer end()
	if len(uris) > 0 {
		l.Watch(uris)
		list, err := json.Marshal(uris)
		if err == nil {
			agreed, err = rawjson.Set(agreed, list, "resourceSubscriptions")
		}
		if err != nil {
			return f.host.InternalError(m, err)
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
		return f.host.InternalError(m, err)
	}
	return rpc.Reply(m.ID, result)
}

// setLevel serves logging/setLevel: servers of the older revisions are told, the others by each request from now on.
func (a answerer) setLevel(ctx context.Context, m *rpc.Message, who *protocol.Client, set *backend.Set) *rpc.Message {
	f := a.conn
	params, rerr := protocol.Level(m.Params) // nothing else: no server is asked about here
	if rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	raw, _ := rawjson.Get(params, "level")
	level, _ := rawjson.String(raw)
	set.SetLevel(f, level)
	if set.HasMember(f) {
		for _, l := range set.All() {
			if conn := l.Open(); conn != nil && !conn.Modern() {
				l.RaiseLevel(ctx, conn, level)
			}
		}
		return rpc.Reply(m.ID, nil)
	}
	all := set.All()
	for _, l := range all {
		conn := l.Open()
		if conn == nil && len(all) > 1 || conn != nil && conn.Modern() {
			continue // it is told when it comes, or by each request
		}
		if conn != nil && !backend.Logs(conn) {
			continue // the host sets the level of Weir's own messages
		}
		answer, err := l.Call(ctx, backend.NewRequest(set.Audience, f, m, who), m.Method, params)
		switch {
		case err != nil:
			f.host.Engine.Log.Warn("passing on "+m.Method, "error", err)
		case answer.Error != nil && len(all) == 1:
			return f.host.InternalError(m, hosterror.At(l.Name(), upstream.Explain(answer.Failure())))
		}
	}
	return rpc.Reply(m.ID, json.RawMessage(`{}`))
}
