package guard

import (
	"encoding/json"
	"slices"

	"github.com/weir-mcp/weir/policy"
)

// The rules are the policy and mode of a guard: an immutable snapshot, so that one decision never sees half of a
// change.
type rules struct {
	policy *policy.Policy
	mode   policy.Mode
	tools  specialized

	looks, compares func() bool // whether the policy goes by session.looked and response.changed, which is known once it is compiled
}

// decide applies the policy to the facts, and to the other readings of their arguments: the strictest decision counts.
func (r *rules) decide(f *policy.Facts, forms []json.RawMessage) decision {
	by := r.tools.of(r.policy, f)
	d := by.Decide(f)
	for _, form := range forms {
		reading := *f
		reading.Arguments = form
		if other := by.Decide(&reading); other.Effect < d.Effect {
			d = other
		}
	}
	return decision{d, r.policy.Digest()}
}

// A decision is that of a policy.
type decision struct {
	policy.Decision
	by string // the digest of the policy
}

// asked returns the rules that ask with their messages, first the one that decides; the fallback and what could not be
// evaluated have no name.
func (d decision) asked() []policy.Match {
	if d.Effect != policy.Ask {
		return nil
	}
	all := []policy.Match{{Rule: d.Rule, Effect: policy.Ask, Message: d.Message}}
	for _, m := range d.Matched {
		if m.Effect == policy.Ask && m.Rule != d.Rule {
			all = append(all, m)
		}
	}
	return all
}

// asking returns the names of the rules that ask, in order.
func (d decision) asking() []string {
	var all []string
	for _, m := range d.asked() {
		all = append(all, m.Rule)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// asksOnce reports whether an approval of the decision's request covers later calls.
func (d decision) asksOnce(f *policy.Facts) bool {
	for _, m := range d.Matched {
		if m.Effect == policy.Ask && !m.Once {
			return false
		}
	}
	return f.Phase == policy.OnCall && len(d.Problems) == 0
}
