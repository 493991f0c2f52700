package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// A Conn is the connection to one server, with everything that is under way over it.
type Conn struct {
	subscriptions
	requests requests
	queue    queue
	logs     verbosity
	defects  Throttle
	asking   sync.Mutex                    // held while a question of the server is matched with a request
	mute     atomic.Pointer[upstream.Conn] // that has answered that it does not resolve tools
	known    map[string][]json.RawMessage  // pages of its lists as it answered last, by method; with the lists' mu
}

// newConn returns a connection to a server, which is dialled when the channel after is closed; nil: at any time.
func newConn(g *group, s Server, after <-chan struct{}) *Conn {
	c := &Conn{subscriptions: subscriptions{dialer: &dialer{
		group: g, server: s, stats: g.statsOf(s.Name), gone: make(chan struct{}), after: after,
	}}}
	c.life, c.end = context.WithCancel(context.Background())
	c.handler, c.conduct = handler{c}, &g.Conduct
	c.connected = func(conn *upstream.Conn) {
		c.renew(conn)
		c.relevel(conn)
	}
	c.agree(s)
	return c
}

// Call sends a request to the server and waits for the answer, for as long as the server's timeout allows. The time
// that the host takes to answer the server's questions does not count. A server that does not keep up gets no more
// requests, so that its calls do not take the place of other servers'.
func (c *Conn) Call(ctx context.Context, r *Request, method string, params json.RawMessage) (*rpc.Message, error) {
	conn, err := c.Connection(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	params, ok := c.requests.depart(r, params, cmp.Or(r.Within, c.timeout()), cancel)
	if !ok {
		return nil, hosterror.At(c.Name(), hosterror.New("{} requests to it are in flight already", hosterror.Number(maxRequests)))
	}
	defer c.requests.land(r)
	c.stats.begin()
	defer c.stats.end()
	before := conn.Said()
	answer, err := conn.Call(ctx, method, params)
	if err == nil {
		return answer, nil
	}
	r.heard = conn.Said() != before
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return nil, hosterror.At(c.Name(), upstream.Explain(err))
}

// pages returns every page of a server's list; none if the server does not offer it.
func (c *Conn) pages(ctx context.Context, kind catalog.Kind) ([]json.RawMessage, error) {
	conn := c.opened()
	if conn == nil {
		return nil, hosterror.At(c.Name(), errLate)
	}
	ctx, cancel := context.WithTimeout(ctx, min(c.timeout(), listTimeout))
	defer cancel()
	pages, err := conn.List(ctx, kind.Method, capabilityOf(kind.Method))
	if err != nil {
		return nil, hosterror.At(c.Name(), upstream.Explain(err))
	}
	return pages, nil
}

// capabilityOf returns the server capability that a method belongs to.
func capabilityOf(method string) string {
	switch method {
	case catalog.Prompts.Method:
		return "prompts"
	case catalog.Resources.Method, catalog.Templates.Method:
		return "resources"
	}
	return "tools"
}

// Carrying returns the requests in flight that carry an agent's data, oldest first.
func (c *Conn) Carrying() []*Request { return c.requests.carrying() }

// IsMute reports whether the server has answered over this connection that it does not resolve tools.
func (c *Conn) IsMute(conn *upstream.Conn) bool { return c.mute.Load() == conn }

// SetMute notes that the server has answered over this connection that it does not resolve tools.
func (c *Conn) SetMute(conn *upstream.Conn) { c.mute.Store(conn) }

// close ends the connection for good and waits for the server's process.
func (c *Conn) close() error {
	if c.stop() {
		defer close(c.gone)
	}
	c.stopListening()
	c.dialer.mu.Lock()
	conn := c.conn
	c.dialer.mu.Unlock()
	if conn == nil {
		return nil
	}
	return conn.Close()
}
