package gateway

import (
	"context"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/rpc"
)

// A relay passes on what a server says on its own: notifications, and requests to the host. It implements
// [upstream.Handler].
type relay struct{ l *link }

// Notification passes a server's notification on: progress and log messages to the request that they belong to, changes
// to whoever wants to know, everything else to the host that owns the connection. Over connections that hosts share,
// other notifications have nobody to go to. What is said in one has entered the agent session before (heard.go).
func (r relay) Notification(m *rpc.Message) {
	set := r.l.set
	for _, method := range changed[m.Method] {
		set.forget(method)
	}
	switch {
	case m.Method == "notifications/progress":
		if fl := r.l.flights.withToken(m.Params); fl != nil && r.l.mayTell(fl, m) {
			fl.progress(m)
		}
	case m.Method == "notifications/message":
		r.l.logged(m)
	case m.Method == "notifications/subscriptions/acknowledged":
		r.l.acknowledged(m.Params)
	case m.Method == updated || changed[m.Method] != nil:
		if r.l.mayTell(nil, m) {
			set.announce(m)
		}
	case set.owner != nil:
		if r.l.mayTell(nil, m) {
			set.owner.write(context.Background(), m)
		}
	}
}

// Request passes a server's request to the host, on the stream of the request that it most likely belongs to, and returns
// the host's answer under the server's id. What a host that takes no requests is asked waits until it comes back.
func (r relay) Request(ctx context.Context, m *rpc.Message) *rpc.Message {
	f := r.l.set.owner
	if f == nil || f.takesNoRequests() {
		return r.l.hold(ctx, m)
	}
	return r.l.inquire(ctx, f, m)
}

// Defect records that the server broke the protocol, as long as it does not flood.
func (r relay) Defect(reason, detail string) {
	set := r.l.set
	ok, last := r.l.defects.next(time.Now())
	if !ok {
		return
	}
	if last {
		detail += "; more in the same minute are not written down"
	}
	if err := set.g.defect(context.Background(), r.l.server.Name, "", "", annotation.Defect{Where: reason, Reason: detail}); err != nil {
		set.g.log.Error("recording", "error", err)
	}
}
