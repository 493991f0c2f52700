package backend

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

// The subscriptions at a server are to list changes, for as long as it is connected, and to the resources that hosts
// subscribed to. Servers of the older revisions announce list changes to everybody and take
// resources/subscribe; those of 2026-07-28 are listened to by requests that stay open.
type subscriptions struct {
	*dialer

	mu    sync.Mutex
	lists *subscription
	by    map[string]*subscription // by resource
	kept  bool                     // whether a task keeps the connection up

	turn sync.Mutex // held by a request of the older revisions, before mu: one that ends a subscription must not overtake the next that begins it
}

// A subscription is to a resource, or to list changes.
type subscription struct {
	users  int
	cancel context.CancelFunc // of the request that listens; nil in the older revisions
	once   sync.Once
	ready  chan struct{} // closed when the server has acknowledged it, or refused
	err    error         // of the refusal; to be read when ready is closed
}

func (w *subscription) settle(err error) {
	w.once.Do(func() {
		w.err = err
		close(w.ready)
	})
}

// listens opens a request that listens for the changes of a filter.
func (s *subscriptions) listens(conn *upstream.Conn, filter json.RawMessage) *subscription {
	ctx, cancel := context.WithCancel(context.Background())
	w := &subscription{cancel: cancel, ready: make(chan struct{})}
	err := s.Run(func() {
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
func (s *subscriptions) opens(conn *upstream.Conn, uri string) *subscription {
	if conn.Modern() {
		return s.listens(conn, json.RawMessage(`{"resourceSubscriptions":[`+string(rawjson.Quote(uri))+`]}`))
	}
	w := &subscription{ready: make(chan struct{})}
	err := s.Run(func() {
		s.turn.Lock()
		defer s.turn.Unlock()
		w.settle(s.ask(conn, "resources/subscribe", uri))
	})
	if err != nil {
		w.settle(err)
	}
	return w
}

// ask makes a short request about a resource.
func (s *subscriptions) ask(conn *upstream.Conn, method, uri string) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout())
	defer cancel()
	m, err := conn.Call(ctx, method, json.RawMessage(`{"uri":`+string(rawjson.Quote(uri))+`}`))
	if err == nil && m.Error != nil {
		err = m.Failure()
	}
	return err
}

// Subscribe has the server announce changes of a resource, and waits until it agrees. For each time that it succeeds,
// Unsubscribe must be called.
func (s *subscriptions) Subscribe(ctx context.Context, uri string) error {
	conn, err := s.Connection(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	w := s.by[uri]
	if w == nil {
		w = s.opens(conn, uri)
		s.add(uri, w)
		s.keep()
	}
	w.users++
	s.mu.Unlock()
	select {
	case <-w.ready:
		err = w.err
	case <-time.After(ackWait):
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		s.Unsubscribe(uri)
	}
	return err
}

// Unsubscribe ends one subscription that Subscribe has made.
func (s *subscriptions) Unsubscribe(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.by[uri]
	if w == nil {
		return
	}
	if w.users--; w.users > 0 {
		return
	}
	delete(s.by, uri)
	if w.cancel != nil {
		w.cancel()
		return
	}
	s.Run(func() {
		<-w.ready
		s.turn.Lock()
		defer s.turn.Unlock()
		if conn := s.Open(); conn != nil && w.err == nil && !s.watched(uri) {
			_ = s.ask(conn, "resources/unsubscribe", uri) // else the server announces changes to no one
		}
	})
}

// acknowledged takes a server's answer to a request that listens.
func (s *subscriptions) acknowledged(params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, ok := rawjson.Get(params, "notifications", "resourceSubscriptions")
	if !ok && s.lists != nil {
		s.lists.settle(nil)
	}
	for raw := range rawjson.Elements(list) {
		uri, _ := rawjson.String(raw)
		if w := s.by[uri]; w != nil {
			w.settle(nil)
		}
	}
}

// stopListening ends the requests that listen, before their connection ends.
func (s *subscriptions) stopListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.by {
		if w.cancel != nil {
			w.cancel()
		}
	}
	if s.lists != nil {
		s.lists.cancel()
	}
	s.by, s.lists = nil, nil
}

// changed maps a notification that a list has changed to the methods whose cached lists it ends.
var changed = map[string][]string{
	"notifications/tools/list_changed":     {catalog.Tools.Method},
	"notifications/prompts/list_changed":   {catalog.Prompts.Method},
	"notifications/resources/list_changed": {catalog.Resources.Method, catalog.Templates.Method},
}

// watched reports whether a host has subscribed to just this resource.
func (s *subscriptions) watched(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[uri] != nil
}

// acknowledgement returns the channel that is closed when the server has answered the request for list changes; nil if
// there is none.
func (s *subscriptions) acknowledgement() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists == nil {
		return nil
	}
	return s.lists.ready
}
