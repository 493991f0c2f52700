package gateway

import (
	"encoding/json"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// rewatch makes the watches anew over a new connection. What changed since the last one ended nobody knows, so every resource
// that is watched counts as updated.
func (l *link) rewatch(conn *upstream.Conn) {
	l.watches.mu.Lock()
	defer l.watches.mu.Unlock()
	l.watches.lists = nil
	if filter := listFilter(conn); conn.Modern() && len(filter) > len(`{}`) {
		l.watches.lists = l.listens(conn, filter)
	}
	for uri, old := range l.watches.by {
		w := l.opens(conn, uri)
		w.users = old.users
		l.watches.by[uri] = w
		_ = l.set.g.holds.run(func() { l.announceAgain(conn, uri, w) })
	}
}

// announceAgain says that a resource was updated when it is watched again.
func (l *link) announceAgain(conn *upstream.Conn, uri string, w *watch) {
	select {
	case <-w.ready:
	case <-conn.Done():
		return
	}
	if w.err != nil {
		l.set.g.log.Warn("subscribing again", "server", l.server.Name, "error", w.err)
		return
	}
	l.set.announce(rpc.NewNotification(updated, json.RawMessage(`{"uri":`+string(rawjson.Quote(uri))+`}`)))
}

// keep sees to it that the server is reached again when its connection ends, as long as its resources are watched. The lock of
// the watches must be held.
func (l *link) keep() {
	if !l.watches.kept {
		l.watches.kept = l.set.g.holds.run(l.keepWatched) == nil
	}
}

// keepWatched waits for the end of one connection after the other. A server that ends again and again is reached after
// pauses that grow.
func (l *link) keepWatched() {
	var pause backoff
	for l.watches.wanted() {
		began := time.Now()
		conn, err := l.connection(l.life)
		if err == nil {
			select {
			case <-conn.Done():
				err = conn.Err()
			case <-l.life.Done():
				return
			}
		}
		if time.Since(began) > longestPause {
			pause = backoff{}
		}
		pause.failed(time.Now(), err)
		select {
		case <-time.After(time.Until(pause.until)):
		case <-l.life.Done():
			return
		}
	}
}

// wanted reports whether a resource is watched; if none is, nobody keeps the connection any more.
func (w *watches) wanted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = len(w.by) > 0
	return w.kept
}

// passed notes what a server of an older revision agreed to when its host of an older revision subscribed or unsubscribed.
func (l *link) passed(method, uri string, answer *rpc.Message) {
	if answer.Error != nil {
		return
	}
	l.watches.mu.Lock()
	defer l.watches.mu.Unlock()
	switch method {
	case "resources/unsubscribe":
		delete(l.watches.by, uri)
	case "resources/subscribe":
		w := &watch{users: 1, ready: make(chan struct{})}
		w.settle(nil)
		l.watches.add(uri, w)
		l.keep()
	}
}

// add enters a watch. The lock must be held.
func (w *watches) add(uri string, one *watch) {
	if w.by == nil {
		w.by = map[string]*watch{}
	}
	w.by[uri] = one
}
