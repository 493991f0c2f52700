package gateway

import (
	"time"

	"github.com/weir-mcp/weir/internal/gateway/approve"
)

// Waits are how long a gateway waits for people and servers. They may change while it runs.
type waits struct {
	approval time.Duration // for a person, or for a host to come back with an answer
	startup  time.Duration // for servers that do not answer their handshake
}

// await has the gateway wait so long from now on, or for the defaults where it is zero. What is being waited for already goes
// on as it began.
func (g *Gateway) await(approval, startup time.Duration) {
	w := &waits{approval, startup}
	if w.approval <= 0 {
		w.approval = approve.DefaultTimeout
	}
	if w.startup <= 0 {
		w.startup = DefaultStartup
	}
	g.waits.Store(w)
	g.book.SetTimeout(w.approval)
}
