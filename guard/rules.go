package guard

import (
	"encoding/json"

	"github.com/weir-mcp/weir/policy"
)

// The rules are what a guard decides by: an immutable snapshot, so that one decision never sees half of a change.
type rules struct {
	policy *policy.Policy
	mode   policy.Mode
	folds  folds
}

// decide is what the policy says of the facts, and of the other readings of their arguments: the strictest counts.
func (r *rules) decide(f *policy.Facts, forms []json.RawMessage) policy.Decision {
	by := r.folds.of(r.policy, f)
	d := by.Decide(f)
	for _, form := range forms {
		reading := *f
		reading.Arguments = form
		if other := by.Decide(&reading); other.Effect < d.Effect {
			d = other
		}
	}
	return d
}

// Swap has the guard decide by another policy and mode from now on; a nil policy is policy.Default(). A decision that is
// being made meanwhile is by the old or by the new pair, never by a mixture. Sessions keep their labels. What a person accepted
// is bound to the policy that asked, and lets nothing happen under another.
func (g *Guard) Swap(p *policy.Policy, mode policy.Mode) {
	if p == nil {
		p = policy.Default()
	}
	g.rules.Store(&rules{policy: p, mode: mode})
}

// Rules returns what the guard decides by at the moment.
func (g *Guard) Rules() (*policy.Policy, policy.Mode) {
	r := g.rules.Load()
	return r.policy, r.mode
}

// A ruling is a decision, and the policy that made it.
type ruling struct {
	policy.Decision
	by string // the digest of the policy
}
