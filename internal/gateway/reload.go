package gateway

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// A Change replaces the configuration of a running gateway. The members are those of Options.
type Change struct {
	Servers []Server // at least one
	Policy  *policy.Policy
	Mode    policy.Mode

	Approval, Startup time.Duration
	Plans             Plans

	Why string // the changes of the policy and who accepted them, for the event; "" for none
}

// A Difference names the servers that a Change concerns.
type Difference struct {
	Added    []string
	Removed  []string
	Replaced []string // reached in another way than before
	Adjusted []string // reached as before, with another trust, timeout or overlay
}

// Reload takes over a change, whole or, on an error, not at all. It returns when the connections that it ends have
// ended.
//
// Only the connections to servers that are removed or replaced end, and with them the calls in flight over these. To
// every other server they stay as they are; a call in flight goes on by the trust and timeout that it began with. The
// next decision is made by the new policy and mode. Hosts are told that their lists may have changed. The agreement in
// the handshake of a host of an older revision stays, so it may not look for a kind of list that no server offered
// then.
//
// It is safe for concurrent use; one change is taken over at a time.
func (g *Gateway) Reload(ctx context.Context, c Change) (Difference, error) {
	if err := checkServers(c.Servers); err != nil {
		return Difference{}, err
	}
	g.reloading.Lock()
	defer g.reloading.Unlock()
	if g.closed {
		return Difference{}, backend.ErrClosing
	}
	if c.Policy == nil {
		c.Policy = policy.Default()
	}
	before := g.servers.Configured()
	d := differ(before, c.Servers)
	e := record.New(record.Reload, time.Now())
	e.Effect, e.Message = c.Mode.String(), "policy "+c.Policy.Digest()+d.String()+c.Why
	if err := g.opts.State.Record(ctx, e); err != nil {
		return Difference{}, fmt.Errorf("recording the change: %w", err)
	}
	p, mode := g.guard.Rules()
	decided := p.Digest() == c.Policy.Digest() && mode == c.Mode // or other tools may be listed
	g.guard.Swap(c.Policy, c.Mode)
	rules := g.guard.Plans.Rules()
	g.guard.Plans.Set(c.Plans.PlanRules)
	g.await(c.Approval, c.Startup)
	changed := g.engine.Offer(offers(g.guard, c.Servers, &c.Plans)) // before hosts list the tools anew
	if decided && !changed && reflect.DeepEqual(rules, c.Plans.PlanRules) &&
		slices.EqualFunc(before, c.Servers, Server.Same) {
		return d, nil
	}
	g.servers.Change(c.Servers)
	return d, nil
}

// stopReloading waits for the change that is being taken over, and lets no other begin.
func (g *Gateway) stopReloading() {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	g.closed = true
}

// checkServers looks for mistakes in a configuration of servers.
func checkServers(servers []Server) error {
	if len(servers) == 0 {
		return errors.New("a gateway needs at least one server")
	}
	seen := map[string]bool{}
	for i, s := range servers {
		if s.Name == "" || seen[s.Name] {
			return fmt.Errorf("server %d: the name %q is empty or taken", i+1, s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

// differ compares two configurations of servers.
func differ(before, after []Server) (d Difference) {
	for _, s := range after {
		i := slices.IndexFunc(before, func(b Server) bool { return b.Name == s.Name })
		switch {
		case i < 0:
			d.Added = append(d.Added, s.Name)
		case !before[i].Spec.Same(s.Spec):
			d.Replaced = append(d.Replaced, s.Name)
		case !before[i].Same(s):
			d.Adjusted = append(d.Adjusted, s.Name)
		}
	}
	for _, b := range before {
		if !slices.ContainsFunc(after, func(s Server) bool { return s.Name == b.Name }) {
			d.Removed = append(d.Removed, b.Name)
		}
	}
	return d
}

// String returns the end of a sentence about a Difference: "; added mail; removed web", or nothing.
func (d Difference) String() string {
	var b strings.Builder
	for _, part := range []struct {
		how   string
		names []string
	}{{"added", d.Added}, {"removed", d.Removed}, {"replaced", d.Replaced}, {"adjusted", d.Adjusted}} {
		if len(part.names) > 0 {
			b.WriteString("; " + part.how + " " + strings.Join(part.names, ", "))
		}
	}
	return b.String()
}
