package guard

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// A grant is a yes that covers later calls with values that its request showed.
type grant struct {
	shown map[policy.Argument]bool
	names map[string]bool // that no schema declares
	until time.Time
	bits  int // that later calls may still carry
}

// Bounds of grants.
const (
	grantTime = 15 * time.Minute
	maxGrants = 256 // of a session
	grantBits = 64  // for the numbers of pages and the like, and for calls alone; more of them need a new yes
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
	if repeats && memory.covered(scope(m, d), m.found, now) {
		v.Effect, v.Question = policy.Allow, nil
		return nil
	}
	asked := v.Question.Binding
	err := g.redeem(ctx, m.call, v, d.by)
	v.exact = err == nil && v.Redeemed == asked
	if repeats && v.exact { // a further round that goes on unasked is nobody's yes
		memory.grant(scope(m, d), m.found, now)
	}
	return err
}

// covered reports whether a person's earlier yes covers the call: every value is one that the request showed. The user's own words and
// numbers of a few digits may differ, and calls may come again, until they have carried grantBits.
func (m *memory) covered(scope string, found *finding, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, ok := m.grants[scope]
	if !ok || !now.Before(g.until) || found.cut {
		return false
	}
	for _, name := range found.undeclared {
		if !g.names[name] {
			return false
		}
	}
	bits := found.beside
	for _, v := range found.values {
		switch {
		case g.shown[v.Argument]:
		case v.From.Only(provenance.User):
			bits += v.Bits
		case isCount(v.Text):
			bits += numberBits(v.Text)
		default:
			return false
		}
	}
	if bits = max(bits, callBits); bits > g.bits {
		return false
	}
	g.bits -= bits
	m.grants[scope] = g
	return true
}

// isCount reports whether a text is a whole number of a few digits.
func isCount(text string) bool {
	if text == "" || len(text) > 6 {
		return false
	}
	return strings.Trim(text, "0123456789") == ""
}

// numberBits returns how many bits a number of so many digits can carry at most.
func numberBits(digits string) int { return 4 * len(digits) }

// grant keeps a person's yes.
func (m *memory) grant(scope string, found *finding, now time.Time) {
	if found.cut {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.grants) >= maxGrants {
		clear(m.grants)
	}
	shown := make(map[policy.Argument]bool, len(found.values))
	for _, v := range found.values {
		shown[v.Argument] = true
	}
	m.grants[scope] = grant{shown, setOf(found.undeclared), now.Add(grantTime), grantBits}
}

// kinds returns what all values of a call come from.
func (found *finding) kinds() (k provenance.Kinds) {
	for _, v := range found.values {
		k |= v.From
	}
	return k
}
