package gateway

import (
	"context"
	"log/slog"
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/session"
)

// A conduct has breaches of contract cost the servers of a gateway their trust.
type conduct struct {
	kept *approve.Conduct
	log  *slog.Logger
}

// ServedOf returns a server as its breaches of contract are kept.
func ServedOf(s *Server) *approve.Served {
	return &approve.Served{Name: s.Name, Reached: s.Reached, Program: s.Program, Place: s.Place, Trust: s.Trust}
}

// ofServers returns the consequences for connections to servers.
func (c *conduct) ofServers() backend.Conduct {
	return backend.Conduct{
		Trust: func(ctx context.Context, all ...*Server) ([]contract.Trust, error) {
			out := make([]contract.Trust, len(all))
			ctx = session.Together(ctx) // one look at the store for all
			for i, s := range all {
				var err error
				if out[i], err = c.kept.Trust(ctx, ServedOf(s)); err != nil {
					return nil, err
				}
			}
			return out, nil
		},
		Breach: func(ctx context.Context, s *Server, tool string, b guard.Breach) error {
			of := ServedOf(s)
			before, after, err := c.kept.Note(ctx, of, approve.NewBreach(of, tool, b))
			if after < before {
				c.log.Warn("a server has broken its contract and is trusted less from now on", "server", s.Name, "trust", after,
					"tool", tool, "where", b.Where, "reason", b.Reason, "hint", "weir servers")
			}
			return err
		},
		Reviewed: func(ctx context.Context, s *Server, digests map[string]bool) error {
			return c.kept.Reviewed(ctx, ServedOf(s), digests)
		},
	}
}

// ofCalls returns the consequences for the server of a call.
func (c *conduct) ofCalls(servers func() []Server) func(context.Context, *guard.Call, guard.Breach) error {
	return func(ctx context.Context, call *guard.Call, b guard.Breach) error {
		all := servers()
		i := slices.IndexFunc(all, func(s Server) bool { return s.Name == call.Server })
		if i < 0 {
			return nil // it is configured no more, or it is weir itself
		}
		answered := all[i]
		if answered.Reached != call.Reached { // it is configured no more
			answered.Reached, answered.Program = call.Reached, ""
		}
		return c.ofServers().Breach(ctx, &answered, call.Name, b)
	}
}
