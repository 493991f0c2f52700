package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// Bounds of the plans that are remembered. Steps with placeholders of a plan that was dropped are asked about.
const (
	maxPlans        = 8 // of an agent session
	maxPlanSessions = 1024
)

// An approvedPlan is a plan with the results of its steps. The lock of the plans guards it.
type approvedPlan struct {
	plan     *plan.Plan
	bindings []string      // of the steps; "" of those that it does not cover
	flows    []string      // of the steps
	assumed  []label.Label // of the session after the steps, as the request had it
	answers  plan.Answers
	sources  map[string]string // the tools whose results answer, by step
}

// activate remembers an approved plan, for the results of its steps.
func (p *Plans) activate(ref session.Ref, pl *plan.Plan, v *PlanVerdict) {
	a := &approvedPlan{plan: pl, sources: map[string]string{}}
	for i := range v.Steps {
		a.bindings, a.flows = append(a.bindings, v.Steps[i].Binding), append(a.flows, v.Steps[i].flow)
		a.assumed = append(a.assumed, v.Steps[i].assumed)
		a.sources[v.Steps[i].ID] = v.Steps[i].Server + " " + v.Steps[i].Name
	}
	ref = keyOf(ref)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active == nil || p.active[ref] == nil && len(p.active) >= maxPlanSessions {
		p.active = map[session.Ref][]*approvedPlan{} // asked about again
	}
	all := append(p.active[ref], a)
	p.active[ref] = slices.Clone(all[max(0, len(all)-maxPlans):])
}

// of returns the plan of an agent session; nil if this process knows none.
func (p *Plans) of(ref session.Ref) *approvedPlan {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.active[keyOf(ref)]
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// names reports whether a plan has a step with the tool and the arguments of a request.
func (p *Plans) names(r *request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.active[keyOf(r.Session)], func(a *approvedPlan) bool {
		return slices.ContainsFunc(a.plan.Steps, func(s plan.Step) bool {
			return r.Method == "tools/call" && a.sources[s.ID] == r.Server+" "+r.Name && s.Matches(r.written(), a.fills(r))
		})
	})
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
	for _, c := range p.candidates(r, shown, by+in.raised) {
		ok, err := p.use(ctx, c.binding, asks)
		if err != nil {
			return nil, err
		}
		if ok {
			return &c, nil
		}
	}
	return nil, nil
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
	for _, a := range slices.Backward(p.active[keyOf(r.Session)]) {
		for i := range a.plan.Steps {
			s := &a.plan.Steps[i]
			c := shown.Effective
			if len(s.Placeholders()) > 0 {
				c = shown.tool
			}
			binding := stepBinding(r, s, c, a.flows[i], by)
			if a.bindings[i] == binding && covers(c, r.Effective) && !steers(r, s) && s.Matches(r.written(), a.fills(r)) {
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
	return contract.Join(approved, c).String() == approved.String()
}

// fills returns whether a value may be in a placeholder of a request.
func (a *approvedPlan) fills(r *request) func(plan.Placeholder, json.RawMessage) bool {
	return func(at plan.Placeholder, got json.RawMessage) bool {
		return a.answers.Fills(at, got, func(name string) (string, bool) {
			i := slices.IndexFunc(r.Uses, func(v vault.Value) bool { return v.Name == name })
			if i < 0 || a.sources[at.From] != r.Uses[i].Server+" "+r.Uses[i].Tool || !a.expects(at.From, r.Uses[i].Label) {
				return "", false
			}
			if r.Uses[i].Of != "" {
				return r.Uses[i].Of, true
			}
			return name, true
		})
	}
}

// expects reports whether a result of a step is no worse than the contracts of the steps said when the plan was
// approved. Nobody expects credentials.
func (a *approvedPlan) expects(step string, l label.Label) bool {
	i := slices.IndexFunc(a.plan.Steps, func(s plan.Step) bool { return s.ID == step })
	return i >= 0 && !l.Sensitivity.Has(label.Credentials) && (!l.Private || a.assumed[i].Private) &&
		(!l.Malicious || a.assumed[i].Malicious) && a.assumed[i].Sensitivity.Contains(l.Sensitivity)
}

// written returns the arguments as the agent wrote them, with handles.
func (r *request) written() json.RawMessage {
	if r.Written != nil {
		return r.Written
	}
	return r.Arguments
}

// note notes the answer to a call of a step, as far as the agent gets it or a handle of it.
func (p *Plans) note(ctx context.Context, c *plannedCall, in Answer, o *Outcome) {
	if c == nil || c.plan == nil || !o.Allowed() || in.Result == nil || isToolError(in.Result) {
		return
	}
	hidden, is := "", o.Label
	if o.Effect == policy.Hide {
		raw, _ := rawjson.Get(o.Answer.Result, "_meta", MetaValue)
		hidden, _ = rawjson.String(raw)
		value, err := p.guard.Hidden.Value(ctx, c.session, hidden)
		if err != nil {
			return
		}
		is = value.Label
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
	return len(p.active[keyOf(r.Session)]) > 0 || p.guard.Hidden.vault != nil && !r.reads()
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
