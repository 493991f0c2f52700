package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/internal/gateway/protocol"
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
	if _, marked := rawjson.Get(m.Params, "_meta", protocol.MetaSubscription); marked {
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
	if params, err := rawjson.Set(params, l.id, "_meta", protocol.MetaSubscription); err == nil {
		l.front.write(rpc.WithRelated(context.Background(), l.id), rpc.NewNotification(m.Method, params))
	}
}
