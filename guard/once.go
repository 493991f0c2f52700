package guard

import (
	"context"
	"encoding/json"
	"time"

	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// A grant is a yes that covers later calls.
type grant struct {
	from  provenance.Kinds // what the arguments may come from
	until time.Time
}

// Bounds of grants.
const (
	grantTime = 15 * time.Minute
	maxGrants = 256 // of a session
)

// scope names what a yes to a question that is asked once covers: the session in its present state, the tool, its contract,
// the policy and the rules that ask, and the destinations; where the operator does not state these, all arguments.
func scope(m matter, d ruling) string {
	c, f := m.call, m.facts
	where := canonicalArguments(c.Params)
	if f.Call.Stated {
		where = must(json.Marshal(f.Call.Destinations))
	}
	seen := must(json.Marshal(f.Session.Label.Taint()))
	parts := []string{
		"once", c.Session.Principal, c.Session.Key, c.Server, c.Method, c.Name, c.Effective.String(), string(seen), d.by, string(where),
	}
	for _, m := range d.Matched {
		parts = append(parts, m.Rule)
	}
	return bind(parts...)
}

// once reports whether a yes to the decision's question covers later calls.
func once(d ruling, f *policy.Facts) bool {
	for _, m := range d.Matched {
		if m.Effect == policy.Ask && !m.Once {
			return false
		}
	}
	return f.Phase == policy.OnCall && len(d.Problems) == 0
}

// answered lets happen what policy asks about, if a person has accepted exactly that, or something that covers it.
func (g *Guard) answered(ctx context.Context, m matter, d ruling, v *Verdict) error {
	memory, now := g.memory(m.call), g.opts.Now()
	repeats := v.Question.Once
	if repeats && memory.covered(scope(m, d), m.found.kinds(), now) {
		v.Effect, v.Question = policy.Allow, nil
		return nil
	}
	asked := v.Question.Binding
	err := g.redeem(ctx, m.call, v, d.by)
	if err == nil && repeats && v.Redeemed == asked { // a further round that goes on unasked is nobody's yes
		memory.grant(scope(m, d), m.found.kinds(), now)
	}
	return err
}

// covered reports whether a person's earlier yes covers the call.
func (m *memory) covered(scope string, from provenance.Kinds, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, ok := m.grants[scope]
	return ok && now.Before(g.until) && from&^g.from == 0
}

// grant keeps a person's yes.
func (m *memory) grant(scope string, from provenance.Kinds, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.grants) >= maxGrants {
		clear(m.grants)
	}
	m.grants[scope] = grant{from, now.Add(grantTime)}
}

// kinds returns what all values of a call come from.
func (found *finding) kinds() (k provenance.Kinds) {
	for _, v := range found.values {
		k |= v.From
	}
	return k
}
