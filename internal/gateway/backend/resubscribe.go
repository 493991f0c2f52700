package backend

import (
	"encoding/json"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// renew makes the subscriptions anew over a new connection. Changes since the last one ended are unknown, so every
// resource that is watched counts as updated.
func (s *subscriptions) renew(conn *upstream.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists = nil
	if filter := listFilter(conn); conn.Modern() && len(filter) > len(`{}`) {
		s.lists = s.listens(conn, filter)
	}
	for uri, old := range s.by {
		w := s.opens(conn, uri)
		w.users = old.users
		s.by[uri] = w
		_ = s.Run(func() { s.announceAgain(conn, uri, w) })
	}
}

// announceAgain says that a resource was updated when it is watched again.
func (s *subscriptions) announceAgain(conn *upstream.Conn, uri string, w *subscription) {
	select {
	case <-w.ready:
	case <-conn.Done():
		return
	}
	if w.err != nil {
		s.Log.Warn("subscribing again", "server", s.Name(), "error", w.err)
		return
	}
	s.announce(rpc.NewNotification(updated, json.RawMessage(`{"uri":`+string(rawjson.Quote(uri))+`}`)))
}

// keep sees to it that the server is reached again when its connection ends, as long as its resources are watched. The
// lock must be held.
func (s *subscriptions) keep() {
	if !s.kept {
		s.kept = s.Run(s.keepWatched) == nil
	}
}

// keepWatched waits for the end of one connection after the other. A server that ends again and again is reached after
// pauses that grow.
func (s *subscriptions) keepWatched() {
	var pause backoff
	for s.wanted() {
		began := time.Now()
		conn, err := s.Connection(s.life)
		if err == nil {
			select {
			case <-conn.Done():
				err = conn.Err()
			case <-s.life.Done():
				return
			}
		}
		if time.Since(began) > longestPause {
			pause = backoff{}
		}
		pause.failed(time.Now(), err)
		select {
		case <-time.After(time.Until(pause.until)):
		case <-s.life.Done():
			return
		}
	}
}

// wanted reports whether a resource is watched; if none is, no task keeps the connection any more.
func (s *subscriptions) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = len(s.by) > 0
	return s.kept
}

// Passed notes the answer of a server of an older revision to its host of an older revision that subscribed or
// unsubscribed.
func (s *subscriptions) Passed(method, uri string, answer *rpc.Message) {
	if answer.Error != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case "resources/unsubscribe":
		delete(s.by, uri)
	case "resources/subscribe":
		w := &subscription{users: 1, ready: make(chan struct{})}
		w.settle(nil)
		s.add(uri, w)
		s.keep()
	}
}

// add enters a watch. The lock must be held.
func (s *subscriptions) add(uri string, one *subscription) {
	if s.by == nil {
		s.by = map[string]*subscription{}
	}
	s.by[uri] = one
}
