package mcpguard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
)

// conduct has breaches of contract cost servers their trust. The host names servers, so the names stand for them.
type conduct struct {
	kept *approve.Conduct
	told func(ctx context.Context, server string, now contract.Trust) // nil: nobody is

	mu  sync.Mutex
	met map[string]contract.Trust // by the host, of the servers that there were connections to
}

// meet notes that the host may be shown definitions of a server. Of two servers with one name the less trusted counts.
func (c *conduct) meet(s Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if trust, met := c.met[s.Name]; !met || s.Trust < trust {
		c.met[s.Name] = s.Trust
	}
}

// all returns the servers that there were connections to.
func (c *conduct) all() map[string]contract.Trust {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.met)
}

// trust returns how far a server is trusted now: as far as the host says, or less. If that cannot be known, it is
// untrusted.
func (c *conduct) trust(ctx context.Context, s Server) (contract.Trust, error) {
	trust, err := c.kept.Trust(ctx, &approve.Served{Name: s.Name, Trust: s.Trust})
	if err != nil {
		return contract.Untrusted, fmt.Errorf("server %s: %w", s.Name, err)
	}
	return trust, nil
}

// breach counts a breach of contract of the server of a call. One of the program itself has no consequences.
func (c *conduct) breach(ctx context.Context, call *guard.Call, b guard.Breach) error {
	trust, met := c.all()[call.Server]
	if !met {
		return nil
	}
	s := &approve.Served{Name: call.Server, Trust: trust}
	before, after, err := c.kept.Note(ctx, s, approve.NewBreach(s, call.Name, b))
	if err == nil && after < before && c.told != nil {
		c.told(ctx, call.Server, after)
	}
	return err
}

// restore has the breaches of a server count no longer. Those of gateways on the same store are others, whatever their
// names: such a server has a way to reach it.
func (c *conduct) restore(ctx context.Context, server, why, by string) error {
	all, err := c.kept.All(ctx)
	if err != nil {
		return err
	}
	named := func(b approve.Breach) bool {
		return b.Server == server && b.Reached == "" && b.Program == "" && b.Place == ""
	}
	i := slices.IndexFunc(all, func(s approve.Standing) bool { return slices.ContainsFunc(s.Breaches, named) })
	if i < 0 {
		return fmt.Errorf("server %.80q: %w", server, approve.ErrNoBreach)
	}
	_, err = c.kept.Restore(ctx, all[i], why, by, "host")
	return err
}
