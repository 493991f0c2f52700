package gateway

import (
	"time"

	"github.com/weir-mcp/weir/internal/gateway/approve"
)

// await has the gateway wait so long for people and servers from now on, or for the defaults where it is zero. Waits that have begun go on.
func (g *Gateway) await(approval, startup time.Duration) {
	if approval <= 0 {
		approval = approve.DefaultTimeout
	}
	g.approval.Store(int64(approval))
	g.servers.SetStartup(startup)
	g.book.SetTimeout(approval)
}

// patience returns how long the gateway waits for a person, or for a host to come back with an answer.
func (g *Gateway) patience() time.Duration { return time.Duration(g.approval.Load()) }
