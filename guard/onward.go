package guard

import (
	"context"
	"fmt"

	"github.com/weir-mcp/weir/policy"
)

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
