package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// A Change is what a running gateway is to work by from now on. The members are those of Options.
type Change struct {
	Servers []Server // at least one
	Policy  *policy.Policy
	Mode    policy.Mode

	Approval, Startup time.Duration

	Why string // what is new of the policy and who accepted it, for the event; "" says nothing
}

// A Difference names the servers that a Change concerns.
type Difference struct {
	Added    []string
	Removed  []string
	Replaced []string // reached in another way than before
	Adjusted []string // reached as before, with another trust, timeout or overlay
}

// Reload takes over a change, whole or, on an error, not at all. It returns when the connections that it ends have ended.
//
// Only the connections to servers that are removed or replaced end, and with them the calls in flight over these. To
// every other server they stay as they are; a call in flight goes on by the trust and timeout that it began with. The
// next decision is made by the new policy and mode. Hosts are told that their lists may have changed. What a host of an
// older revision agreed on in its handshake stays, so it may not look for a kind of list that no server offered then.
//
// It is safe for concurrent use; one change is taken over at a time.
func (g *Gateway) Reload(ctx context.Context, c Change) (Difference, error) {
	if err := checkServers(c.Servers); err != nil {
		return Difference{}, err
	}
	g.roster.reloading.Lock()
	defer g.roster.reloading.Unlock()
	if g.roster.closed {
		return Difference{}, errClosing
	}
	if c.Policy == nil {
		c.Policy = policy.Default()
	}
	before := g.roster.configured()
	d := differ(before, c.Servers)
	e := record.New(record.Reload, time.Now())
	e.Effect, e.Message = c.Mode.String(), "policy "+c.Policy.Digest()+d.String()+c.Why
	if err := g.opts.Record.Record(ctx, e); err != nil {
		return Difference{}, fmt.Errorf("recording the change: %w", err)
	}
	g.guard.Swap(c.Policy, c.Mode)
	g.await(c.Approval, c.Startup)
	if slices.EqualFunc(before, c.Servers, Server.same) {
		return d, nil
	}
	sets, ended := g.roster.change(c.Servers)
	var wg sync.WaitGroup
	for _, l := range ended {
		wg.Go(func() {
			if err := l.close(); err != nil {
				g.log.Warn("ending the connection", "server", l.server.Name, "error", err)
			}
		})
	}
	wg.Wait()
	for _, set := range sets {
		_ = g.holds.run(set.listsChanged) // in its own goroutine: a host may be slow to take it
	}
	return d, nil
}

// listsChanged tells hosts that every list may be another.
func (set *links) listsChanged() {
	for _, a := range announcements {
		set.announce(rpc.NewNotification(a.method, nil))
	}
}

// checkServers looks for what no configuration of servers may have.
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
		case !before[i].same(s):
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

// String returns what a Difference adds to a sentence: "; added mail; removed web", or nothing.
func (d Difference) String() string {
	var b strings.Builder
	for _, part := range []struct {
		what  string
		names []string
	}{{"added", d.Added}, {"removed", d.Removed}, {"replaced", d.Replaced}, {"adjusted", d.Adjusted}} {
		if len(part.names) > 0 {
			b.WriteString("; " + part.what + " " + strings.Join(part.names, ", "))
		}
	}
	return b.String()
}
