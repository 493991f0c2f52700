package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// maxPlanSessions bounds the agent sessions of which plans are remembered. Steps with placeholders of a plan that was
// dropped are asked about.
const maxPlanSessions = 1024

// An approvedPlan is a plan with the results of its steps. The lock of the plans guards used and answers.
type approvedPlan struct {
	plan    *plan.Plan
	under   string // the templates that counted
	steps   []PlannedStep
	used    []int // calls of the steps
	answers plan.Answers
}

// activate remembers an approved plan in the place of the one before, of which the results of kept steps stay.
func (p *Plans) activate(ref session.Ref, pl *plan.Plan, before *approvedPlan, steps []PlannedStep) {
	a := &approvedPlan{plan: pl, under: p.under(""), steps: slices.Clone(steps), used: make([]int, len(steps))}
	for i := range a.steps {
		a.steps[i].Was = nil // or all plans of a session would be kept
	}
	ref = keyOf(ref)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active == nil || p.active[ref] == nil && len(p.active) >= maxPlanSessions {
		p.active = map[session.Ref]*approvedPlan{} // asked about again
	}
	if before != nil && p.active[ref] == before {
		a.answers.Carry(pl, &before.answers, func(step string) bool {
			return slices.ContainsFunc(steps, func(s PlannedStep) bool { return s.ID == step && s.Kept })
		})
	}
	p.active[ref] = a
}

// of returns the plan of an agent session, and the calls of its steps that went; nil if this process knows none.
func (p *Plans) of(ref session.Ref) (a *approvedPlan, used []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a = p.active[keyOf(ref)]; a != nil {
		used = slices.Clone(a.used)
	}
	return a, used
}

// names reports whether a plan has a step with the tool and the arguments of a request, and with calls left.
func (p *Plans) names(r *request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.active[keyOf(r.Session)]
	if a == nil || a.under != p.under("") || r.Method != "tools/call" {
		return false
	}
	for i := range a.steps {
		s := &a.steps[i]
		if a.used[i] < s.Calls && s.Server == r.Server && s.reached == r.Reached && s.Name == r.Name && a.matches(s.Step, r) {
			return true
		}
	}
	return false
}

// A plannedCall is a call that a step of a plan covers.
type plannedCall struct {
	binding string
	plan    *approvedPlan // nil if this process does not know the plan
	step    int
	session session.Ref
}

// cover uses up the approval of a step that covers a request about which rules ask, or none; nil if there is none.
func (p *Plans) cover(ctx context.Context, in decisionInput, asks []string, by string) (*plannedCall, error) {
	r := in.request
	if !plannable(r) {
		return nil, nil
	}
	static := r.Call
	static.Resolved = nil
	shown := p.guard.parse(&static)
	for _, c := range p.candidates(r, shown, p.under(by)+in.raised) {
		ok, err := p.use(ctx, c.binding, asks)
		if err != nil {
			return nil, err
		}
		if ok {
			p.count(&c)
			return &c, nil
		}
	}
	return nil, nil
}

// count counts a call of a step.
func (p *Plans) count(c *plannedCall) {
	if c.plan == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.plan.used[c.step]++
}

// use uses up the approval of one call of a step, about which rules ask. The rules come first: what one of them holds
// back leaves the call to a person.
func (p *Plans) use(ctx context.Context, binding string, asks []string) (bool, error) {
	for _, rule := range asks {
		if ok, err := p.redeem(ctx, askBinding(binding, rule)); !ok || err != nil {
			return false, err
		}
	}
	return p.redeem(ctx, binding)
}

// candidates returns the steps that a request may be of. Those of constants alone are known by their binding, also
// after a restart.
func (p *Plans) candidates(r, shown *request, by string) (all []plannedCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.active[keyOf(r.Session)]; a != nil {
		for i := range a.steps {
			s := a.steps[i].Step
			c := shown.Effective
			if len(s.Placeholders()) > 0 {
				c = shown.tool
			}
			binding := stepBinding(r, s, c, a.steps[i].flow, by)
			if a.steps[i].Binding == binding && covers(c, r.Effective) && !steers(r, s) && a.matches(s, r) {
				all = append(all, plannedCall{binding, a, i, r.Session})
			}
		}
	}
	if len(r.Uses) == 0 && covers(shown.Effective, r.Effective) {
		exact := &plan.Step{Arguments: r.Arguments}
		if r.Arguments == nil {
			exact.Arguments = json.RawMessage("{}")
		}
		if len(exact.Placeholders()) == 0 {
			all = append(all, plannedCall{binding: stepBinding(r, exact, shown.Effective, "", by)})
		}
	}
	return all
}

// covers reports whether a contract has no effect that an approved one has not.
func covers(approved, c contract.Contract) bool {
	return approved.Equal(c) || contract.Join(approved, c).String() == approved.String()
}

// matches reports whether a request is of a step: its arguments are, and nothing else influenced it than the hidden
// values in them.
func (a *approvedPlan) matches(s *plan.Step, r *request) bool {
	if r.Computed || slices.ContainsFunc(r.Uses, func(v vault.Value) bool {
		return !slices.ContainsFunc(r.Places, func(at vault.Place) bool { return at.Value == v.ID })
	}) {
		return false
	}
	return s.Matches(r.Arguments, r.Places, func(at plan.Placeholder, got plan.Argument) bool {
		return a.answers.Fills(at, got, func(id string) (string, bool) { return a.whole(at.From, r, id) })
	})
}

// whole returns the ID of the result of a step that a hidden value of a request is, or is a part of; false if it is
// none that the plan expects.
func (a *approvedPlan) whole(step string, r *request, id string) (string, bool) {
	i := slices.IndexFunc(r.Uses, func(v vault.Value) bool { return v.ID == id })
	if i < 0 || !a.expects(step, r.Uses[i].Label) {
		return "", false
	}
	v, from := &r.Uses[i], a.step(step)
	return cmp.Or(v.Of, v.ID), from.Server == v.Server && from.Name == v.Tool
}

// expects reports whether a result of a step is no worse than the contracts of the steps said when the plan was
// approved. Nobody expects credentials.
func (a *approvedPlan) expects(step string, l label.Label) bool {
	s := a.step(step)
	return s != nil && !l.Sensitivity.Has(label.Credentials) && (!l.Private || s.assumed.Private) &&
		(!l.Malicious || s.assumed.Malicious) && s.assumed.Sensitivity.Contains(l.Sensitivity)
}

// step returns the step with an ID; nil if there is none.
func (a *approvedPlan) step(id string) *PlannedStep {
	i := slices.IndexFunc(a.steps, func(s PlannedStep) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	return &a.steps[i]
}

// note notes the answer to a call of a step, as far as the agent gets it or a handle of it.
func (p *Plans) note(c *plannedCall, in Answer, o *Outcome) {
	if c == nil || c.plan == nil || !o.Allowed() || in.Result == nil || isToolError(in.Result) {
		return
	}
	hidden, is := "", o.Label
	if o.Value != nil {
		hidden, is = o.Value.ID, o.Value.Label
	}
	step := c.plan.plan.Steps[c.step].ID
	if !c.plan.expects(step, is) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.plan.answers.Add(c.plan.plan, step, in.Result, hidden)
}

// follows reports whether a call that goes unasked may be of a step: of a plan that this process knows, or of one that
// was approved before a restart or in another process, if the call does more than to read.
func (p *Plans) follows(r *request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.active) > 0 && p.active[keyOf(r.Session)] != nil || p.guard.Hidden.hides && !r.reads()
}

// keyOf returns a session without its parent, which not every call names.
func keyOf(ref session.Ref) session.Ref { return session.Ref{Key: ref.Key, Principal: ref.Principal} }

// redeem uses up an acceptance.
func (p *Plans) redeem(ctx context.Context, binding string) (bool, error) {
	approvals := p.guard.approver.approvals
	if approvals == nil || binding == "" {
		return false, nil
	}
	ok, err := approvals.Redeem(ctx, binding)
	if err != nil {
		return false, fmt.Errorf("redeeming an approval: %w", err)
	}
	return ok, nil
}
