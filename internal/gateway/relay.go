package gateway

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/record"
)

// A relay passes on what a server says on its own: notifications, and requests to the host. It implements
// [upstream.Handler].
type relay struct{ l *link }

// changed maps a notification that a list has changed to the methods whose cached lists it ends.
var changed = map[string][]string{
	"notifications/tools/list_changed":     {catalog.Tools.Method},
	"notifications/prompts/list_changed":   {catalog.Prompts.Method},
	"notifications/resources/list_changed": {catalog.Resources.Method, catalog.Templates.Method},
}

// Notification passes a server's notification on: progress to the call that it belongs to, everything else to the host
// that owns the connection. Over connections that hosts share, other notifications have nobody to go to.
func (r relay) Notification(m *rpc.Message) {
	set := r.l.set
	for _, method := range changed[m.Method] {
		set.forget(method)
	}
	ctx := context.Background()
	if m.Method == "notifications/progress" {
		if f, related, params := set.tokens.find(m.Params); f != nil {
			f.write(rpc.WithRelated(ctx, related), rpc.NewNotification(m.Method, params))
		}
		return
	}
	if set.owner != nil {
		set.owner.write(ctx, m)
	}
}

// Request passes a server's request to the host and returns its answer under the server's id. A host whose connection to the
// server is shared, or that speaks 2026-07-28, takes no requests.
func (r relay) Request(ctx context.Context, m *rpc.Message) *rpc.Message {
	f := r.l.set.owner
	if f == nil || f.takesNoRequests() {
		return rpc.ReplyError(m.ID, &rpc.Error{Code: rpc.MethodNotFound, Message: "the host takes no requests from servers: " + m.Method})
	}
	answer, err := f.request(ctx, m.Method, m.Params)
	if err != nil {
		return rpc.ReplyError(m.ID, &rpc.Error{Code: rpc.InternalError, Message: err.Error()})
	}
	return &rpc.Message{ID: m.ID, Result: answer.Result, Error: answer.Error, Rest: answer.Rest}
}

// Defect records that the server broke the protocol, as long as it does not flood.
func (r relay) Defect(reason, detail string) {
	set := r.l.set
	ok, last := r.l.defects.next(time.Now())
	if !ok {
		return
	}
	if last {
		detail += "; more in the same minute are not written down"
	}
	if err := set.g.defect(context.Background(), r.l.server.Name, "", "", annotation.Defect{Where: reason, Reason: detail}); err != nil {
		set.g.log.Error("recording", "error", err)
	}
}

// defect records and logs that a server broke its contract, a schema or the protocol.
func (g *Gateway) defect(ctx context.Context, server, method, name string, d annotation.Defect) error {
	e := record.New(record.Defect, time.Now())
	e.Server, e.Method, e.Name, e.Where, e.Message = server, method, name, d.Where, d.Reason
	g.log.Warn("defect", "server", server, "name", name, "where", d.Where, "reason", d.Reason)
	return g.opts.Record.Record(ctx, e)
}

// progressTokens keeps the progress tokens of the calls in flight apart: hosts choose them freely, and several hosts
// may share a connection.
type progressTokens struct {
	mu   sync.Mutex
	last int64
	by   map[string]progress // by our own token
}

type progress struct {
	front   *front
	related json.RawMessage // id of the host's request
	token   json.RawMessage // the host's own token
}

// track replaces the progress token in a request's params by one of ours, until done is called.
func (t *progressTokens) track(f *front, m *rpc.Message, params json.RawMessage) (_ json.RawMessage, done func()) {
	token, ok := rawjson.Get(params, "_meta", "progressToken")
	if !ok {
		return params, func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	own := strconv.FormatInt(t.last, 10)
	replaced, err := rawjson.Set(params, []byte(own), "_meta", "progressToken")
	if err != nil {
		return params, func() {}
	}
	if t.by == nil {
		t.by = map[string]progress{}
	}
	t.by[own] = progress{f, m.ID, token}
	return replaced, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.by, own)
	}
}

// find returns whom a progress notification is for, with the host's own token put back; nil if no call is waiting.
func (t *progressTokens) find(params json.RawMessage) (*front, json.RawMessage, json.RawMessage) {
	own, ok := rawjson.Get(params, "progressToken")
	if !ok {
		return nil, nil, nil
	}
	t.mu.Lock()
	p, ok := t.by[string(own)]
	t.mu.Unlock()
	if !ok {
		return nil, nil, nil
	}
	back, err := rawjson.Set(params, p.token, "progressToken")
	if err != nil {
		return nil, nil, nil
	}
	return p.front, p.related, back
}
