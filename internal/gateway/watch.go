package gateway

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/upstream"
)

// ackWait is how long a server may take to acknowledge a subscription before it counts as made.
const ackWait = 2 * time.Second

// The watches of a link are what it wants its server to announce: list changes, for as long as it is connected, and the
// resources that hosts subscribed to. Servers of the older revisions announce list changes to everybody and take
// resources/subscribe; those of 2026-07-28 are listened to by requests that stay open.
type watches struct {
	mu    sync.Mutex
	lists *watch
	by    map[string]*watch // by resource
	kept  bool              // whether somebody sees to it that there is a connection

	turn sync.Mutex // held by a request of the older revisions, before mu: one that ends a subscription must not overtake the next that begins it
}

// A watch is one subscription at a server.
type watch struct {
	users  int
	cancel context.CancelFunc // of the request that listens; nil in the older revisions
	once   sync.Once
	ready  chan struct{} // closed when the server has acknowledged it, or refused
	err    error         // of the refusal; to be read when ready is closed
}

func (w *watch) settle(err error) {
	w.once.Do(func() {
		w.err = err
		close(w.ready)
	})
}

// listens opens a request that listens for what the filter says.
func (l *link) listens(conn *upstream.Conn, filter json.RawMessage) *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{cancel: cancel, ready: make(chan struct{})}
	err := l.set.g.holds.run(func() {
		defer cancel()
		m, err := conn.Call(ctx, "subscriptions/listen", json.RawMessage(`{"notifications":`+string(filter)+`}`))
		if err == nil && m.Error != nil {
			err = m.Failure()
		}
		w.settle(err)
	})
	if err != nil {
		cancel()
		w.settle(err)
	}
	return w
}

// listFilter names the lists whose changes a server announces.
func listFilter(conn *upstream.Conn) json.RawMessage {
	filter := json.RawMessage(`{}`)
	for _, a := range announcements {
		offered, _ := rawjson.Get(conn.Welcome(), "capabilities", a.capability, "listChanged")
		if string(offered) != "true" {
			continue
		}
		if more, err := rawjson.Set(filter, offered, a.member); err == nil {
			filter = more
		}
	}
	return filter
}

// opens subscribes to a resource, in the server's era.
func (l *link) opens(conn *upstream.Conn, uri string) *watch {
	if conn.Modern() {
		return l.listens(conn, json.RawMessage(`{"resourceSubscriptions":[`+string(rawjson.Quote(uri))+`]}`))
	}
	w := &watch{ready: make(chan struct{})}
	err := l.set.g.holds.run(func() {
		l.watches.turn.Lock()
		defer l.watches.turn.Unlock()
		w.settle(l.ask(conn, "resources/subscribe", uri))
	})
	if err != nil {
		w.settle(err)
	}
	return w
}

// ask makes a short request about a resource.
func (l *link) ask(conn *upstream.Conn, method, uri string) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout())
	defer cancel()
	m, err := conn.Call(ctx, method, json.RawMessage(`{"uri":`+string(rawjson.Quote(uri))+`}`))
	if err == nil && m.Error != nil {
		err = m.Failure()
	}
	return err
}

// subscribe has the server announce changes of a resource, and waits until it agrees. For each time that it succeeds,
// unsubscribe must be called.
func (l *link) subscribe(ctx context.Context, uri string) error {
	conn, err := l.connection(ctx)
	if err != nil {
		return err
	}
	l.watches.mu.Lock()
	w := l.watches.by[uri]
	if w == nil {
		w = l.opens(conn, uri)
		l.watches.add(uri, w)
		l.keep()
	}
	w.users++
	l.watches.mu.Unlock()
	select {
	case <-w.ready:
		err = w.err
	case <-time.After(ackWait):
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		l.unsubscribe(uri)
	}
	return err
}

// unsubscribe ends what one subscribe began.
func (l *link) unsubscribe(uri string) {
	l.watches.mu.Lock()
	defer l.watches.mu.Unlock()
	w := l.watches.by[uri]
	if w == nil {
		return
	}
	if w.users--; w.users > 0 {
		return
	}
	delete(l.watches.by, uri)
	if w.cancel != nil {
		w.cancel()
		return
	}
	l.set.g.holds.run(func() {
		<-w.ready
		l.watches.turn.Lock()
		defer l.watches.turn.Unlock()
		if conn := l.open(); conn != nil && w.err == nil && !l.watched(uri) {
			_ = l.ask(conn, "resources/unsubscribe", uri) // the server may announce what nobody hears
		}
	})
}

// acknowledged takes a server's answer to a request that listens.
func (l *link) acknowledged(params json.RawMessage) {
	l.watches.mu.Lock()
	defer l.watches.mu.Unlock()
	list, ok := rawjson.Get(params, "notifications", "resourceSubscriptions")
	if !ok && l.watches.lists != nil {
		l.watches.lists.settle(nil)
	}
	for raw := range rawjson.Elements(list) {
		uri, _ := rawjson.String(raw)
		if w := l.watches.by[uri]; w != nil {
			w.settle(nil)
		}
	}
}

// watching waits until the servers have acknowledged that they are listened to.
func (set *links) watching(ctx context.Context) {
	late := time.After(ackWait)
	for _, l := range set.all() {
		l.watches.mu.Lock()
		w := l.watches.lists
		l.watches.mu.Unlock()
		if w == nil {
			continue
		}
		select {
		case <-w.ready:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// unwatch ends the requests that listen, before their connection ends.
func (l *link) unwatch() {
	l.watches.mu.Lock()
	defer l.watches.mu.Unlock()
	for _, w := range l.watches.by {
		if w.cancel != nil {
			w.cancel()
		}
	}
	if l.watches.lists != nil {
		l.watches.lists.cancel()
	}
	l.watches.by, l.watches.lists = nil, nil
}

// changed maps a notification that a list has changed to the methods whose cached lists it ends.
var changed = map[string][]string{
	"notifications/tools/list_changed":     {catalog.Tools.Method},
	"notifications/prompts/list_changed":   {catalog.Prompts.Method},
	"notifications/resources/list_changed": {catalog.Resources.Method, catalog.Templates.Method},
}
