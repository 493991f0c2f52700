package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/policy"
)

// PlanRules say how far plans bind agents. With the zero PlanRules, calls outside of plans are decided by policy alone.
type PlanRules struct {
	// Strict has calls outside of the plan of their agent session blocked, also those that policy allows, and plans
	// without an approval count for nothing. In a session without a plan, plain reads of which nobody outside learns go
	// as policy says. After a restart a session has none, but calls of constants that were approved go.
	Strict bool

	// Templates are plans of the operator, by name. Where there are some and Strict is set, no other plan is taken. One
	// that the operator approved needs no approval of its calls by a person, unless the session is malicious.
	Templates map[string]*plan.Template
}

// setRules are the rules that count.
type setRules struct {
	PlanRules
	under string // stands for the templates; "" for none
}

// Read reads the arguments of weir_plan: a plan, or the choice of a template.
func (p *Plans) Read(arguments json.RawMessage) (*plan.Plan, error) {
	r := p.Rules()
	if len(r.Templates) == 0 {
		return plan.Parse(arguments)
	}
	return plan.Choose(arguments, r.Templates, r.Strict)
}

// Rules returns the rules that count.
func (p *Plans) Rules() PlanRules {
	if r := p.rules.Load(); r != nil {
		return r.PlanRules
	}
	return PlanRules{}
}

// Set has the rules count from now on. Plans that were approved under other templates cover nothing any more.
func (p *Plans) Set(r PlanRules) {
	set := setRules{PlanRules: r}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Templates)) {
		parts = append(parts, name, r.Templates[name].String())
	}
	if parts != nil {
		set.under = bind(parts...)
	}
	p.rules.Store(&set)
}

// under returns text that stands for a policy with the templates that count, which the operator may take back as he may
// change the policy.
func (p *Plans) under(policy string) string {
	if r := p.rules.Load(); r != nil {
		return policy + r.under
	}
	return policy
}

// strict reports whether calls outside of plans are blocked.
func (p *Plans) strict() bool { return p.Rules().Strict }

// confines reports whether a plan has to cover a request. Weir's own tools are no part of plans.
func (p *Plans) confines(r *request, phase policy.Phase) bool {
	return p.strict() && phase == policy.OnCall && r.Server != Own && !r.step
}

// confine holds a request to the plan of its agent session where plans are strict: it returns the approval that it uses
// up, or the decision that blocks it. Grants of other requests do not lead out of a plan.
func (p *Plans) confine(ctx context.Context, in decisionInput, d decision) (approval, decision, error) {
	r := in.request
	if !p.confines(r, in.facts.Phase) || d.Effect == policy.Block {
		return approval{}, d, nil
	}
	if r.Further && !r.asked { // it goes on with a call that went
		binding := onward(r, d.by)
		if ok, err := p.redeem(ctx, binding); ok || err != nil {
			return approval{given: ok, redeemed: binding}, d, err
		}
	}
	c, err := p.cover(ctx, in, d.asking(), d.by)
	if err != nil {
		return approval{}, d, err
	}
	if c != nil {
		return approval{given: true, redeemed: c.binding, planned: c}, d, nil
	}
	return approval{}, p.bar(r, in.facts, d), nil
}

// foresee returns the decision on a request as a plan that is strict changes it, as far as that is known before the
// request is made.
func (p *Plans) foresee(r *request, f *policy.Facts, d decision) decision {
	if !p.confines(r, f.Phase) || d.Effect == policy.Block || p.names(r) {
		return d
	}
	return p.bar(r, f, d)
}

// bar returns the decision on a request outside of plans.
func (p *Plans) bar(r *request, f *policy.Facts, d decision) decision {
	why, remedy := "", "with weir_plan"
	if len(p.Rules().Templates) > 0 {
		remedy = "with weir_plan, by a template of the operator"
	}
	switch a, _ := p.of(r.Session); {
	case r.asked:
		why = "calls outside of plans are blocked, and a plan has no answers to questions of servers"
	case a != nil:
		why = fmt.Sprintf("the approved plan %+.80q has no call left that is this one: submit an amended plan %s", a.plan.Goal, remedy)
	case r.reads() && f.PlainRead() && !f.Egress():
		return d
	case r.Host:
		why = "only calls of an approved plan go, and no plan has tools of the host"
	default:
		why = "no plan is approved in this agent session, and without one only reads go of which nobody outside learns: " +
			"submit a plan " + remedy
	}
	d.Effect, d.Rule, d.Message = policy.Block, RulePlan, why
	return d
}
