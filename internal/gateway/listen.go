package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// updated is the notification that a resource has changed.
const updated = "notifications/resources/updated"

// announcements are the list changes that a host of 2026-07-28 can listen for: the member of the filter that asks, the
// capability of servers that offers, and the notification (2026-07-28, Subscriptions).
var announcements = []struct{ member, capability, method string }{
	{"toolsListChanged", "tools", "notifications/tools/list_changed"},
	{"promptsListChanged", "prompts", "notifications/prompts/list_changed"},
	{"resourcesListChanged", "resources", "notifications/resources/list_changed"},
}

// A listener is a host's request subscriptions/listen. What it agreed to is written on the stream of that request, under
// its id, whatever the server's own revision and subscription.
type listener struct {
	front   *front
	id      json.RawMessage
	methods map[string]bool
	uris    []string

	mu sync.Mutex // held until the acknowledgement is written, which comes first
}

// listen serves subscriptions/listen until the host cancels it or leaves.
func (f *front) listen(ctx context.Context, m *rpc.Message, set *links) *rpc.Message {
	wanted, ok := rawjson.Get(m.Params, "notifications")
	if !ok || rawjson.Kind(wanted) != '{' {
		return rpc.ReplyError(m.ID, rpc.Errorf(rpc.InvalidParams, "params.notifications is missing or not an object"))
	}
	if err := set.connect(ctx); err != nil {
		return f.internalError(m, err)
	}
	w, err := set.welcome(ctx)
	if err != nil {
		return f.internalError(m, err)
	}
	l := &listener{front: f, id: m.ID, methods: map[string]bool{}}
	agreed := l.agree(wanted, w.capabilities)
	set.watching(ctx)
	uris, end := f.watch(ctx, m, set, wanted)
	defer end()
	if len(uris) > 0 {
		l.uris = uris
		list, err := json.Marshal(uris)
		if err == nil {
			agreed, err = rawjson.Set(agreed, list, "resourceSubscriptions")
		}
		if err != nil {
			return f.internalError(m, err)
		}
	}
	l.mu.Lock()
	leave := set.listening(l)
	defer leave()
	l.send(rpc.NewNotification("notifications/subscriptions/acknowledged", json.RawMessage(`{"notifications":`+string(agreed)+`}`)))
	l.mu.Unlock()
	if len(l.methods)+len(l.uris) > 0 {
		select {
		case <-ctx.Done():
		case <-f.leaving:
		}
	}
	result, err := rawjson.Set([]byte(`{"resultType":"complete"}`), m.ID, "_meta", metaSubscription)
	if err != nil {
		return f.internalError(m, err)
	}
	return rpc.Reply(m.ID, result)
}

// agree returns the part of a filter about lists that the servers can serve.
func (l *listener) agree(wanted, capabilities json.RawMessage) json.RawMessage {
	agreed := json.RawMessage(`{}`)
	for _, a := range announcements {
		raw, _ := rawjson.Get(wanted, a.member)
		offered, _ := rawjson.Get(capabilities, a.capability, "listChanged")
		if string(raw) != "true" || string(offered) != "true" {
			continue
		}
		if more, err := rawjson.Set(agreed, raw, a.member); err == nil {
			agreed, l.methods[a.method] = more, true
		}
	}
	return agreed
}

// maxWatched bounds the resources of one listener.
const maxWatched = 256

// watch subscribes to the resources that a filter names, as far as they exist, the guard lets the agent name them to
// their servers and these agree. It returns their URIs, and what ends the subscriptions.
func (f *front) watch(ctx context.Context, m *rpc.Message, set *links, wanted json.RawMessage) (uris []string, end func()) {
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
		if err := r.link.subscribe(ctx, uri); err != nil {
			f.g.log.Warn("subscribing", "server", r.link.server.Name, "error", err)
			continue
		}
		uris = append(uris, uri)
		ends = append(ends, func() { r.link.unsubscribe(uri) })
	}
	return uris, func() {
		for _, end := range ends {
			end()
		}
	}
}

// listening enters a listener until leave is called.
func (set *links) listening(l *listener) (leave func()) {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.listeners[l] = true
	return func() {
		set.mu.Lock()
		defer set.mu.Unlock()
		delete(set.listeners, l)
	}
}

// announce passes on that something has changed: to a host of an older revision as it is, to others if they listen.
func (set *links) announce(m *rpc.Message) {
	if set.owner != nil && !set.owner.takesNoRequests() {
		set.owner.write(context.Background(), unmarked(m))
		return
	}
	raw, _ := rawjson.Get(m.Params, "uri")
	uri, _ := rawjson.String(raw)
	set.toMembers(m, uri)
	var hear []*listener
	set.mu.Lock()
	for l := range set.listeners {
		if l.methods[m.Method] || m.Method == updated && l.watches(uri) {
			hear = append(hear, l)
		}
	}
	set.mu.Unlock()
	for _, l := range hear {
		l.mu.Lock()
		l.send(m)
		l.mu.Unlock()
	}
}

// unmarked returns an announcement as the older revisions have it.
func unmarked(m *rpc.Message) *rpc.Message {
	if _, marked := rawjson.Get(m.Params, "_meta", metaSubscription); marked {
		return rpc.NewNotification(m.Method, rawjson.Delete(m.Params, "_meta"))
	}
	return m
}

// watches reports whether a listener wants to know of changes to a resource, or to one that contains it.
func (l *listener) watches(uri string) bool {
	for _, watched := range l.uris {
		if strings.HasPrefix(uri, watched) {
			return true
		}
	}
	return false
}

// send writes a notification under the id of the listener's request. The lock must be held.
func (l *listener) send(m *rpc.Message) {
	params := m.Params
	if params == nil {
		params = json.RawMessage(`{}`)
	}
	if params, err := rawjson.Set(params, l.id, "_meta", metaSubscription); err == nil {
		l.front.write(rpc.WithRelated(context.Background(), l.id), rpc.NewNotification(m.Method, params))
	}
}
