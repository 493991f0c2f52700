package hostconn

import (
	"context"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/exchange"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// A notification has no answer, so nobody can be asked about one, and a host learns of no refusal. So those that MCP
// has for hosts pass by this table, with those of their members that are no text (2025-11-25, Lifecycle, Cancellation,
// Progress and Roots). Any other one is decided like a call of which nothing is known.

// notified takes a notification of the host.
func (f *Conn) notified(work context.Context, m *rpc.Message) {
	switch m.Method {
	case "notifications/initialized":
		// The handshake is between the host and Weir, which shakes hands with servers itself.
	case "notifications/cancelled":
		f.cancelled(m)
	case "notifications/progress":
		f.progressed(m)
	case "notifications/roots/list_changed":
		if set := f.own(); set != nil {
			for _, l := range set.All() {
				l.Notify(rpc.NewNotification(m.Method, nil))
			}
		}
	default:
		f.decided(work, m)
	}
}

// own returns the connections if only this host uses them; nil if it shares them with others.
func (f *Conn) own() *backend.Set {
	set := f.connections()
	if set == nil || f.shared || set.Owner() != f {
		return nil
	}
	return set
}

// Inquire puts a request of a server to the host.
func (f *Conn) Inquire(ctx context.Context, c *backend.Conn, m *rpc.Message) *rpc.Message {
	defer f.reportsTo(c, m.Params)()
	return f.host.Inquired(ctx, f.connections(), c, m)
}

// cancelled ends a request of the host. Its server is told by the end of the call, in Weir's words.
func (f *Conn) cancelled(m *rpc.Message) {
	id, _ := rawjson.Get(m.Params, "requestId")
	f.mu.Lock()
	p := f.inFlight[string(id)]
	f.mu.Unlock()
	if p != nil {
		p.cancel(exchange.ErrCancelled)
	}
}

// reportsTo says that the host may report progress of a server's request to that server, until done is called.
func (f *Conn) reportsTo(l *backend.Conn, params []byte) (done func()) {
	raw, ok := rawjson.Get(params, "_meta", "progressToken")
	if !ok {
		return func() {}
	}
	token := string(raw)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reports[token] = append(f.reports[token], l)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if left := f.reports[token]; len(left) > 1 {
			f.reports[token] = left[1:]
		} else {
			delete(f.reports, token)
		}
	}
}

// progressed hands the figures of a report to the server whose request they are of. If several servers chose the same
// token, nobody can tell.
func (f *Conn) progressed(m *rpc.Message) {
	token, _ := rawjson.Get(m.Params, "progressToken")
	f.mu.Lock()
	to := f.reports[string(token)]
	f.mu.Unlock()
	if len(to) != 1 {
		return
	}
	if params, err := protocol.Progress(m.Params); err == nil {
		to[0].Notify(rpc.NewNotification(m.Method, params))
	}
}

// decided sends a notification that nobody here knows to the only server, if the guard lets it. The decision is an
// event.
func (f *Conn) decided(work context.Context, m *rpc.Message) {
	set := f.own()
	var all []*backend.Conn
	if set != nil {
		all = set.All()
	}
	if len(all) != 1 {
		f.spoiled(work, "a notification that weir does not know has no server to go to: "+plain.Quote(m.Method, exchange.MaxNotice))
		return
	}
	select {
	case f.slots <- struct{}{}:
	default:
		return
	}
	only := all[0]
	f.workers.run(func() {
		defer func() { <-f.slots }()
		v, rerr := f.host.DecideNotification(work, m, set, only)
		switch {
		case rerr != nil:
			f.spoiled(work, rerr.Message)
		case v.Allowed():
			only.Notify(rpc.NewNotification(m.Method, v.Params))
		default:
			f.host.Engine.Log.Warn("a notification of the host was not sent", "method", plain.Quote(m.Method, exchange.MaxNotice), "reason", v.Message)
		}
	})
}

// spoiled records that the host sent something that is no message, or none that can go anywhere, as long as it does not
// flood.
func (f *Conn) spoiled(ctx context.Context, reason string) {
	ok, last := f.faults.Next(time.Now())
	if !ok {
		return
	}
	if last {
		reason += "; more in the same minute are not written down"
	}
	if err := f.host.Engine.Servers.Defect(ctx, "", "", "", annotation.Defect{Where: "message of the host", Reason: reason}); err != nil {
		f.host.Engine.Log.Error("recording", "error", err)
	}
}
