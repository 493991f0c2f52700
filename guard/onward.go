package guard

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weir-mcp/weir/policy"
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

// answered allows a call that policy asks about, if a person has accepted exactly that, or a request that covers it.
func (g *Guard) answered(ctx context.Context, m matter, d ruling, v *Verdict) error {
	repeats := v.Question.Once
	if repeats && g.tracer.Covers(m.call.Session, scope(m, d), m.found) {
		v.Effect, v.Question = policy.Allow, nil
		return nil
	}
	asked := v.Question.Binding
	err := g.redeem(ctx, m.call, v, d.by)
	v.exact = err == nil && v.Redeemed == asked
	if repeats && v.exact { // a further round that goes on unasked is nobody's approval
		g.tracer.Grant(m.call.Session, scope(m, d), m.found)
	}
	return err
}

// redeem lets what policy asks about happen, if a person has accepted exactly that, or if it only goes on with a call that
// went out before.
func (g *Guard) redeem(ctx context.Context, c *Call, v *Verdict, by string) error {
	if g.opts.Approvals == nil {
		return nil
	}
	bindings := []string{v.Question.Binding}
	if v.Question.Grant != "" {
		bindings = append(bindings, v.Question.Grant)
	}
	if c.Further && !c.asked && v.Question.Phase == policy.OnCall {
		bindings = append(bindings, onward(c, by))
	}
	for _, b := range bindings {
		ok, err := g.opts.Approvals.Redeem(ctx, b)
		if err != nil {
			return fmt.Errorf("redeeming an approval: %w", err)
		}
		if ok {
			v.Effect, v.Question, v.Redeemed = policy.Allow, nil, b
			return nil
		}
	}
	return nil
}

// Onward returns the binding under which Approvals may hold that a call, which Before let go, has been answered with a
// question of its server: its next round then goes out unasked, once. What could be asked about was decided in the first
// round, and the answers that the next one adds are decided on their own. A block is a block in every round.
//
// The binding stands for the same call of the same agent session under the same contract and policy. It leaves out the
// session's label, which the question itself may have raised.
func (g *Guard) Onward(c *Call) string {
	return onward(c.forArguments(), g.rules.Load().policy.Digest())
}

func onward(c *Call, by string) string {
	return bind("onward", c.Session.Principal, c.Session.Key, c.Server, c.Method, c.Name,
		string(canonicalArguments(c.Params)), c.Effective.String(), by)
}
