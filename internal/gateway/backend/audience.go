package backend

import (
	"context"
	"encoding/json"
	"slices"
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

// A Listener is a host's request subscriptions/listen. What it agreed to is written on the stream of that request,
// under its id, whatever the server's own revision and subscription.
type Listener struct {
	host    Host
	id      json.RawMessage
	methods map[string]bool
	uris    []string

	mu sync.Mutex // held until the acknowledgement is written, which comes first
}

// NewListener returns the listener of a host's request with an id, for the list changes of the wanted filter that
// servers with these capabilities announce, and the filter with these.
func NewListener(h Host, id, wanted, capabilities json.RawMessage) (l *Listener, agreed json.RawMessage) {
	l, agreed = &Listener{host: h, id: id, methods: map[string]bool{}}, json.RawMessage(`{}`)
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
	return l, agreed
}

// Watch adds the resources of which the listener is told.
func (l *Listener) Watch(uris []string) { l.uris = uris }

// Waits reports whether the listener may be told of anything.
func (l *Listener) Waits() bool { return len(l.methods)+len(l.uris) > 0 }

// watches reports whether a listener wants to know of changes to a resource, or to one that contains it.
func (l *Listener) watches(uri string) bool {
	for _, watched := range l.uris {
		if strings.HasPrefix(uri, watched) {
			return true
		}
	}
	return false
}

// send writes a notification under the id of the listener's request. The lock must be held.
func (l *Listener) send(m *rpc.Message) {
	params := m.Params
	if params == nil {
		params = json.RawMessage(`{}`)
	}
	if params, err := rawjson.Set(params, l.id, "_meta", protocol.MetaSubscription); err == nil {
		l.host.Write(rpc.WithRelated(context.Background(), l.id), rpc.NewNotification(m.Method, params))
	}
}

// HTTP sessions of the older revisions may share their connections to servers, if the operator says that no server
// keeps anything of a session (the gateway's option Share), and if nothing else of one could reach another: they are of
// one principal, and of clients of the same name, revision and capabilities, which take no requests of servers. A
// server's announcements go to those that they concern: a change of a list to all, one of a resource to the sessions
// that subscribed to it, progress to the request that it belongs to, and a log message to the only request in flight
// that is logged as much. Any other notification of a server goes to none.

// A member is one HTTP session of a joint set of connections. The audience's mu guards it.
type member struct {
	level   string            // of log messages, as its host has set it; "" if it has not
	watched map[string]func() // by resource: ends the subscription
}

// An Audience is the hosts that hear the servers of one set of connections.
type Audience struct {
	owner Host // of requests and announcements of servers; nil if hosts share the set

	mu        sync.Mutex
	level     string // of log messages, as the host has set it; "" if it has not
	listeners map[*Listener]bool
	members   map[Host]*member // of a joint set; nil of any other
}

// direct returns the host to which the servers' messages go as they are; nil if there is none.
func (a *Audience) direct() Host {
	if a.owner == nil || !a.owner.TakesRequests() {
		return nil
	}
	return a.owner
}

// Owner returns the host to which the connections belong alone; nil if hosts share them.
func (a *Audience) Owner() Host { return a.owner }

// Listen enters a listener until leave is called. It gets the acknowledgement first.
func (a *Audience) Listen(l *Listener, acknowledgement *rpc.Message) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.mu.Lock()
	a.listeners[l] = true
	a.mu.Unlock()
	l.send(acknowledgement)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.listeners, l)
	}
}

// announce passes on that something has changed: to a host of an older revision as it is, to others if they listen.
func (a *Audience) announce(m *rpc.Message) {
	if host := a.direct(); host != nil {
		host.Write(context.Background(), unmarked(m))
		return
	}
	raw, _ := rawjson.Get(m.Params, "uri")
	uri, _ := rawjson.String(raw)
	a.toMembers(m, uri)
	var hear []*Listener
	a.mu.Lock()
	for l := range a.listeners {
		if l.methods[m.Method] || m.Method == updated && l.watches(uri) {
			hear = append(hear, l)
		}
	}
	a.mu.Unlock()
	for _, l := range hear {
		l.mu.Lock()
		l.send(m)
		l.mu.Unlock()
	}
}

// toMembers passes on that something has changed.
func (a *Audience) toMembers(m *rpc.Message, uri string) {
	var hear []Host
	a.mu.Lock()
	for h, one := range a.members {
		concerns := m.Method != updated
		for watched := range one.watched {
			concerns = concerns || strings.HasPrefix(uri, watched)
		}
		if concerns {
			hear = append(hear, h)
		}
	}
	a.mu.Unlock()
	for _, h := range hear {
		h.Write(context.Background(), unmarked(m))
	}
}

// listsChanged tells hosts that every list may be another.
func (a *Audience) listsChanged() {
	for _, list := range announcements {
		a.announce(rpc.NewNotification(list.method, nil))
	}
}

// unmarked returns an announcement as the older revisions have it.
func unmarked(m *rpc.Message) *rpc.Message {
	if _, marked := rawjson.Get(m.Params, "_meta", protocol.MetaSubscription); marked {
		return rpc.NewNotification(m.Method, rawjson.Delete(m.Params, "_meta"))
	}
	return m
}

// enter makes a host a member of a joint set.
func (a *Audience) enter(h Host) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.members == nil {
		a.members = map[Host]*member{}
	}
	a.members[h] = &member{watched: map[string]func(){}}
}

// leave ends the membership of a host. It returns how its subscriptions end, and whether it was the last member.
func (a *Audience) leave(h Host) (watched map[string]func(), last bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	watched = a.members[h].watched
	delete(a.members, h)
	return watched, len(a.members) == 0
}

// HasMember reports whether the host is a member of the set, which then is joint.
func (a *Audience) HasMember(h Host) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.members[h] != nil
}

// watches reports whether a member has subscribed to a resource.
func (a *Audience) watches(h Host, uri string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.members[h]
	return one != nil && one.watched[uri] != nil
}

// subscribed notes the subscription of a member, which end ends. It is ended at once if there is another or the member
// has left.
func (a *Audience) subscribed(h Host, uri string, end func()) {
	a.mu.Lock()
	one := a.members[h]
	taken := one != nil && one.watched[uri] == nil
	if taken {
		one.watched[uri] = end
	}
	a.mu.Unlock()
	if !taken {
		end()
	}
}

// unsubscribe ends the subscription of a member, if there is one.
func (a *Audience) unsubscribe(h Host, uri string) {
	a.mu.Lock()
	var end func()
	if one := a.members[h]; one != nil {
		end = one.watched[uri]
		delete(one.watched, uri)
	}
	a.mu.Unlock()
	if end != nil {
		end()
	}
}

// LogLevel returns the level that a host of an older revision has set, "" if it has set none.
func (a *Audience) LogLevel() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.level
}

// LevelOf returns the level that a host has set, "" if it has set none.
func (a *Audience) LevelOf(h Host) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.members[h]; one != nil {
		return one.level
	}
	return a.level
}

// SetLevel notes the level that a host has set. Servers of a joint set log as much as the member that wants the most.
func (a *Audience) SetLevel(h Host, level string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.members[h]
	if one != nil {
		one.level = level
	}
	if one == nil || a.level == "" || slices.Index(protocol.Levels, level) < slices.Index(protocol.Levels, a.level) {
		a.level = level
	}
}
