package streamable

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/internal/budget"
)

// refusalWrite is how long a connection that is turned away may take to accept the reason.
const refusalWrite = time.Second

// A client is one network connection. While the handler owes it nothing - it has sent no request, or only a part of
// one - it may have to give way to others.
type client struct {
	net.Conn
	of    *clients
	lease *budget.Lease
	once  sync.Once
	err   error // of closing

	// Guarded by of.mu.
	waiting time.Time // since when the handler waits for it; zero while it waits for the handler
	arrival *arrival  // the body that it is sending; nil if none
}

// clients are the connections of one listener.
type clients struct {
	net.Listener
	pool *budget.Pool // of connections

	mu  sync.Mutex
	all map[*client]bool
}

// Accept implements [net.Listener].
func (cs *clients) Accept() (net.Conn, error) {
	for {
		conn, err := cs.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := cs.admit(conn); c != nil {
			return c, nil
		}
	}
}

// admit takes in a connection; nil if there is no room for it.
func (cs *clients) admit(conn net.Conn) *client {
	lease, ok := cs.pool.Acquire(1)
	if !ok {
		if old := cs.longest(func(*client) bool { return true }); old != nil {
			old.Close()
			cs.pool.Evicted()
			lease, ok = cs.pool.Acquire(1)
		}
	}
	if !ok {
		cs.pool.Refused()
		go turnAway(conn)
		return nil
	}
	c := &client{Conn: conn, of: cs, lease: lease, waiting: time.Now()}
	cs.mu.Lock()
	cs.all[c] = true
	cs.mu.Unlock()
	return c
}

// turnAway says why there is no answer, where TLS does not keep it from being read.
func turnAway(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(refusalWrite))
	_, _ = conn.Write([]byte("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 10\r\nConnection: close\r\nContent-Length: 21\r\n\r\ntoo many connections\n"))
	_ = conn.Close()
}

// longest returns the client for which the handler has waited the longest; nil if it waits for none that fits.
func (cs *clients) longest(fits func(*client) bool) (found *client) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.all {
		if !c.waiting.IsZero() && fits(c) && (found == nil || c.waiting.Before(found.waiting)) {
			found = c
		}
	}
	return found
}

// Close implements [net.Conn].
func (c *client) Close() error {
	c.once.Do(func() {
		c.of.mu.Lock()
		delete(c.of.all, c)
		c.of.mu.Unlock()
		c.lease.Release()
		c.err = c.Conn.Close()
	})
	return c.err
}

// owes says that the client has something to send: a, or a request. It is called on nil for a connection of another
// listener.
func (c *client) owes(a *arrival) {
	if c != nil {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.waiting, c.arrival = time.Now(), a
	}
}

// isOwed says that the client waits for an answer. It is called on nil for a connection of another listener.
func (c *client) isOwed() {
	if c != nil {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.waiting, c.arrival = time.Time{}, nil
	}
}

type clientKey struct{}

// clientOf returns the client that sends r; nil if its listener is not [Handler.Listener].
func clientOf(r *http.Request) *client {
	c, _ := r.Context().Value(clientKey{}).(*client)
	return c
}

// withClient finds the client behind a connection that the server accepted, which may speak TLS.
func withClient(ctx context.Context, conn net.Conn) context.Context {
	if outer, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = outer.NetConn()
	}
	if c, ok := conn.(*client); ok {
		ctx = context.WithValue(ctx, clientKey{}, c)
	}
	return ctx
}

// An arrival is the body of a request that comes in. Its memory is at most twice the bytes that have come, for any
// announced length.
type arrival struct {
	lease *budget.Lease // of its memory
	rc    *http.ResponseController
	shed  atomic.Bool // it had to give way
}

// shed takes the memory back of the body that the client is sending, and ends it. It reports whether there was
// something.
func (c *client) shed() bool {
	c.of.mu.Lock()
	a := c.arrival
	c.of.mu.Unlock()
	if a == nil || a.shed.Swap(true) {
		return false
	}
	a.lease.Release()
	a.lease.Evicted()
	a.rc.SetReadDeadline(time.Unix(1, 0)) // the handler then says so to the client
	return true
}
