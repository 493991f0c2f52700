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
	g.engine.SetApproval(approval)
	g.servers.SetStartup(startup)
}
