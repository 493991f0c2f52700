package gateway

import (
	"context"
	"log/slog"
	"slices"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/gateway/backend"
)

// A conduct has breaches of contract cost the servers of a gateway their trust.
type conduct struct {
	kept *approve.Conduct
	log  *slog.Logger
}

// ServedOf returns a server as its breaches of contract are kept.
func ServedOf(s *Server) *approve.Served {
	return &approve.Served{Name: s.Name, Reached: s.Reached, Place: s.Place, Trust: s.Trust}
}

// ofServers returns the consequences for connections to servers.
func (c *conduct) ofServers() backend.Conduct {
	return backend.Conduct{
		Trust: func(ctx context.Context, s *Server) (contract.Trust, error) { return c.kept.Trust(ctx, ServedOf(s)) },
		Breach: func(ctx context.Context, s *Server, tool, occasion string, d annotation.Defect) error {
			of := ServedOf(s)
			before, after, err := c.kept.Note(ctx, of, approve.NewBreach(of, tool, occasion, d.Where, d.Reason))
			if after < before {
				c.log.Warn("a server has broken its contract and is trusted less from now on", "server", s.Name, "trust", after,
					"tool", tool, "where", d.Where, "reason", d.Reason, "hint", "weir servers")
			}
			return err
		},
	}
}

// ofCalls returns the consequences for the server of a call.
func (c *conduct) ofCalls(servers func() []Server) guard.Breach {
	return func(ctx context.Context, call *guard.Call, occasion string, d annotation.Defect) error {
		all := servers()
		i := slices.IndexFunc(all, func(s Server) bool { return s.Name == call.Server })
		if i < 0 {
			return nil // it is configured no more, or it is weir itself
		}
		return c.ofServers().Breach(ctx, &all[i], call.Name, occasion, d)
	}
}
