package backend

import (
	"context"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/rpc"
)

// A handler passes on the messages that a server sends on its own: notifications, and requests to the host. It
// implements [upstream.Handler].
type handler struct{ *Conn }

// Notification passes a server's notification on: progress and log messages to the request that they belong to, changes
// to the hosts that listen, everything else to the host that owns the connection. Over connections that hosts share,
// other notifications go to none. The label of a notification has entered the agent session before (message.go).
func (c handler) Notification(m *rpc.Message) {
	for _, method := range changed[m.Method] {
		c.forget(method)
	}
	switch {
	case m.Method == "notifications/progress":
		if r := c.requests.withToken(m.Params); r != nil && c.mayTell(r, m) {
			c.show(m, r.progress)
		}
	case m.Method == "notifications/message":
		c.logged(m)
	case m.Method == "notifications/subscriptions/acknowledged":
		c.acknowledged(m.Params)
	case m.Method == updated || changed[m.Method] != nil:
		if c.mayTell(nil, m) {
			c.show(m, c.announce)
		}
	case c.owner != nil:
		if c.mayTell(nil, m) {
			c.show(m, func(m *rpc.Message) { c.owner.Write(context.Background(), m) })
		}
	}
}

// Request passes a server's request to the host, on the stream of the request that it most likely belongs to, and
// returns the host's answer under the server's id. A question to a host that takes no requests waits until the host
// comes back.
func (c handler) Request(ctx context.Context, m *rpc.Message) *rpc.Message {
	host := c.direct()
	if host == nil {
		return c.hold(ctx, m)
	}
	return host.Inquire(ctx, c.Conn, m)
}

// Defect records that the server broke the protocol, as long as it does not flood.
func (c handler) Defect(reason, detail string) {
	ok, last := c.defects.Next(time.Now())
	if !ok {
		return
	}
	if last {
		detail += "; more in the same minute are not written down"
	}
	if err := c.Options.Defect(context.Background(), c.Name(), "", "", annotation.Defect{Where: reason, Reason: detail}); err != nil {
		c.Log.Error("recording", "error", err)
	}
}
