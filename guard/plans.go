package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// RulePlan is the rule that the approval request of a plan names.
const RulePlan = "weir:plan"

// Plans are the plans of agents that people approved. An approval of a plan gives each of its steps a binding, which
// [Approvals] hold as often as the step may be called. It covers a call that policy asks about if the call is of the
// same tool, with exactly the constants of the step, and with values in the placeholders that the named step's result
// gave in this process. It stands for the agent session, the definition and contract of the tool, the policy, all
// alerts that the session has had, and the rules that its request named; with placeholders, for the whole plan. A call
// that policy blocks stays blocked. The label of the session is no part of it: the plan was written before the results
// that raise it.
type Plans struct {
	guard *Guard
	rules atomic.Pointer[setRules] // nil: the zero PlanRules

	committing sync.Mutex // from the decision on a plan that is approved to its grants

	mu     sync.Mutex
	active map[session.Ref]*approvedPlan // the plan that was approved last
}

// A PlannedStep is a step of a plan with the decision that its call would get at worst.
type PlannedStep struct {
	*plan.Step
	Server   string
	Name     string // of the tool on its server
	Contract contract.Contract
	Assumed  bool
	To       []overlay.Argument // where it goes, as the operator says
	Effect   policy.Effect
	Rule     string
	Message  string
	Asks     []policy.Match // all rules that ask, of which an approval is for each
	Open     string         // why an approval of the plan does not cover it; "" if it does
	Binding  string         // of its calls; "" if Open
	Calls    int            // that an approval gives it

	Kept bool         // it is a step of the plan before, with the calls that it has left
	Was  *PlannedStep // the step of the plan before that has the same ID, and that it is not; nil if there is none

	reached  string      // as in a Call
	flow     string      // where its placeholders come from
	identity string      // stands for the same step of any plan and under any policy
	assumed  label.Label // of the session after it
}

// Bindings returns the bindings that an approval of the plan gives, each as often as Calls says: of its
// calls, and of each rule that asks about them.
func (s *PlannedStep) Bindings() []string {
	if s.Binding == "" {
		return nil
	}
	all := []string{s.Binding}
	for _, m := range s.Asks {
		all = append(all, askBinding(s.Binding, m.Rule))
	}
	return all
}

// askBinding stands for the calls of a step about which a rule asks.
func askBinding(binding, rule string) string { return "plan:" + bind("asked", binding, rule) }

// A PlanVerdict is the decision on a plan. If it has a question, the approval covers nothing yet.
type PlanVerdict struct {
	Steps    []PlannedStep
	Question *Question
	Approved bool       // by a person or the operator; it counts once [Plans.Commit] has returned it
	Amends   *Amendment // of the plan before; nil if nothing is left of one

	before *approvedPlan
}

// errPlan says that the steps of a plan and their calls do not belong together.
var errPlan = errors.New("a plan is decided with one call for each step")

// Decide decides on a plan, by the calls of its steps with [plan.Step.Example] as arguments. Asking is the agent's
// call of weir_plan. Nothing is used up, kept or counted.
func (p *Plans) Decide(ctx context.Context, asking *Call, pl *plan.Plan, calls []*Call) (PlanVerdict, error) {
	if len(calls) != len(pl.Steps) {
		return PlanVerdict{}, errPlan
	}
	state, err := p.guard.evidence.state.Sessions().Peek(ctx, asking.Session)
	if err != nil {
		return PlanVerdict{}, fmt.Errorf("reading the agent session: %w", err)
	}
	by := p.under(p.guard.rules.Load().policy.Digest())
	seen := label.Join(state.Label, asking.Context)
	alerts := alertsIn(seen)
	var v PlanVerdict
	asks, blocks, strict := false, false, p.strict()
	var raised label.Label // by the steps before
	flow := []string{"flow", string(must(json.Marshal(pl)))}
	for i := range pl.Steps {
		call := *calls[i]
		call.Context, call.Resolved = label.Join(call.Context, raised), nil
		step, err := p.step(ctx, &pl.Steps[i], &call, bind(flow...), by+raisedAlerts(seen))
		if err != nil {
			return PlanVerdict{}, err
		}
		if len(alerts) > mostShown || seen.Findings.Has(session.More) {
			step.Open, step.Binding = "the session has more alerts than one request shows", ""
		}
		if strict && step.Open != "" && step.Effect != policy.Block {
			step.Effect, step.Rule, step.Message = policy.Block, RulePlan, step.Open
		}
		flow = append(flow, step.Binding)
		raised = label.Join(raised, step.Contract.Label())
		step.assumed = label.Join(seen, raised)
		asks = asks || (strict || step.Effect == policy.Ask) && step.Open == ""
		blocks = blocks || step.Effect == policy.Block
		v.Steps = append(v.Steps, step)
	}
	if !asks || blocks || pl.Check {
		return v, nil
	}
	before, used := p.of(asking.Session)
	if v.before = before; pl.Template == "" {
		v.Amends = amend(before, used, v.Steps)
	}
	if v.Approved = pl.Approved && !harmed(seen, alerts); v.Approved {
		return v, nil
	}
	v.Question = p.question(asking, pl, &v, seen, by)
	v.Question.Alerts = shownAlerts(alerts)
	return v, nil
}

// Commit decides on a plan as [Plans.Decide] does and, if a person or the operator has approved it, has it take the
// place of the one before in the agent session: keep keeps the Bindings of its steps, in the place of all that the
// session has. It takes the admission of the agent's call of weir_plan, without which no plan counts. Plans are
// committed one after the other, so that each is decided after the one before has taken its place.
func (p *Plans) Commit(
	ctx context.Context, a *Admission, pl *plan.Plan, calls []*Call, keep func(context.Context, session.Ref, []PlannedStep) error,
) (PlanVerdict, error) {
	if a == nil || a.guard != p.guard || a.state.Load() != open || a.request.Server != Own {
		return PlanVerdict{}, errAdmitted
	}
	asking := &a.request.Call
	p.committing.Lock()
	defer p.committing.Unlock()
	v, err := p.Decide(ctx, asking, pl, calls)
	if err != nil || v.Question == nil && !v.Approved {
		return v, err
	}
	if q := v.Question; q != nil {
		if v.Approved, err = p.redeem(ctx, q.Binding); err != nil || !v.Approved {
			return v, err
		}
		v.Question = nil
	}
	if err := replace(ctx, p.redeem, v.before, v.Steps); err != nil {
		return PlanVerdict{}, err
	}
	p.activate(asking.Session, pl, v.before, v.Steps)
	if err := keep(ctx, asking.Session, v.Steps); err != nil {
		return PlanVerdict{}, err
	}
	return v, nil
}

// step returns the decision on a step by its call, with the steps before it in the context.
func (p *Plans) step(ctx context.Context, s *plan.Step, call *Call, flow, by string) (PlannedStep, error) {
	r := p.guard.parse(call)
	r.step = true
	seen, err := p.guard.peek(ctx, r, false)
	if err != nil {
		return PlannedStep{}, err
	}
	would := seen.verdict
	out := PlannedStep{
		Step: s, Server: r.Server, reached: r.Reached, Name: r.Name, Contract: r.Effective, Assumed: r.assumed(), To: r.roles.Destinations,
		Effect: would.Effect, Rule: would.Rule, Message: would.Message, Asks: would.asks, Calls: s.Times(),
	}
	if len(s.Placeholders()) > 0 {
		out.Contract, out.To, out.flow = r.tool, nil, flow
	}
	out.identity = stepBinding(r, s, out.Contract, "", "")
	switch {
	case !plannable(r):
		out.Open = "no plan covers such a call"
	case steers(r, s):
		out.Open = "a placeholder may say where it goes"
	default:
		out.Binding = stepBinding(r, s, out.Contract, out.flow, by)
	}
	return out, nil
}

// plannable reports whether a plan may cover a request: a call of a tool that is all declared.
func plannable(r *request) bool {
	rest := rawjson.Delete(rawjson.Delete(canonicalArguments(r.Params, r.Further), "name"), "arguments")
	return r.Method == "tools/call" && r.Server != Own && !r.Host && !r.asked && r.within == nil && !r.Further && r.anything() == "" &&
		r.Held == "" && r.Undeclared.Params == nil && len(r.Undeclared.Names) == 0 && string(rawjson.Canonical(rest)) == "{}"
}

// steers reports whether a placeholder of a step may say where its call goes or act otherwise than as content: its
// value is chosen by the author of a result. Where the operator does not say which arguments are destinations, each
// number may be one. A handle stands for any text, so it is for arguments that the operator calls content, alone or as
// a part: another may be a command or a path.
func steers(r *request, s *plan.Step) bool {
	return slices.ContainsFunc(s.Placeholders(), func(at plan.Placed) bool {
		if at.Closed() || at.Type == vault.Date {
			return false
		}
		return !r.roles.Known || r.roles.Cut || at.Type == plan.Handle && !content(r.roles.Contents, at.Place) ||
			slices.ContainsFunc(r.roles.Destinations, func(to overlay.Argument) bool { return strings.HasPrefix(to.Path, at.Member) })
	})
}

// content reports whether the value at a place of the arguments is among those in a list; no place is.
func content(all []overlay.Argument, place string) bool {
	return place != "" && slices.ContainsFunc(all, func(a overlay.Argument) bool { return a.Path == place })
}

// stepBinding stands for the calls of a step. Flow is the plan with all that the step's placeholders come from, so
// that no other plan's results fill them; "" of a step of constants.
func stepBinding(r *request, s *plan.Step, shown contract.Contract, flow, by string) string {
	kind := "constants"
	if len(s.Placeholders()) > 0 {
		kind = "placeholders"
	}
	return "plan:" + bind(kind, r.Session.Principal, r.Session.Key, r.Server, r.Reached, r.Method, r.Name, string(rawjson.Canonical(s.Arguments)),
		shown.String(), r.Declared.String(), r.Trust.String(), string(r.Schema), string(r.Output), flow, by)
}

// question returns the approval request for a plan.
func (p *Plans) question(asking *Call, pl *plan.Plan, v *PlanVerdict, seen label.Label, by string) *Question {
	message := "the plan has calls that need an approval"
	if p.strict() {
		message = "only calls of an approved plan go"
	}
	if seen.Untrusted {
		message = "the agent had read untrusted content when it wrote this plan, so its constants may come from there"
	}
	q := &Question{
		Session: asking.Session, Phase: policy.OnCall, Server: Own, Method: asking.Method, Name: asking.Name, Contract: asking.Effective,
		Arguments: newCanonical(asking).text, Rule: RulePlan, Message: message, Label: seen,
		Later:   Later{Goal: pl.Goal, Template: pl.Template, Plan: v.Steps, Amends: v.Amends, Strict: p.strict()},
		Origins: p.guard.origins.tainted(asking.Session),
	}
	parts := []string{"plan", asking.Session.Principal, asking.Session.Key, string(q.Arguments), string(must(json.Marshal(seen))), by, v.Amends.state()}
	for i := range v.Steps {
		parts = append(parts, v.Steps[i].Contract.String())
		parts = append(append(parts, strconv.Itoa(v.Steps[i].Calls)), v.Steps[i].Bindings()...)
	}
	q.Binding = bind(parts...)
	return q
}
