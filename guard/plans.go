package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

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
// gave in this process. It stands for the agent session, the definition and contract of the tool, the policy and the
// unanswered alerts at the time of the request. A call that policy blocks stays blocked. The label of the session is
// no part of it: the plan was written before the results that raise it.
type Plans struct {
	guard *Guard

	mu     sync.Mutex
	active map[session.Ref][]*approvedPlan
}

// Bounds of the plans that are remembered. Steps with placeholders of a plan that was dropped are asked about.
const (
	maxPlans        = 8 // of an agent session
	maxPlanSessions = 1024
)

// An approvedPlan is a plan with the results of its steps. The lock of the plans guards it.
type approvedPlan struct {
	plan     *plan.Plan
	bindings []string // of the steps; "" of those that it does not cover
	answers  plan.Answers
	sources  map[string]string // the tools whose results answer, by step
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
	Open     string // why an approval of the plan does not cover it; "" if it does
	Binding  string // of its calls; "" if Open
}

// A PlanVerdict is the decision on a plan. If it has a question, the approval covers nothing yet.
type PlanVerdict struct {
	Steps    []PlannedStep
	Question *Question
	Approved bool // the steps' bindings have to be kept in Approvals, each as often as its step says
}

// errPlan says that the steps of a plan and their calls do not belong together.
var errPlan = errors.New("a plan is decided with one call for each step")

// Decide decides on a plan, by the calls of its steps with [plan.Step.Example] as arguments. Asking is the agent's
// call of weir_plan.
func (p *Plans) Decide(ctx context.Context, asking *Call, pl *plan.Plan, calls []*Call) (PlanVerdict, error) {
	if len(calls) != len(pl.Steps) {
		return PlanVerdict{}, errPlan
	}
	state, err := p.guard.evidence.state.Sessions().Peek(ctx, asking.Session)
	if err != nil {
		return PlanVerdict{}, fmt.Errorf("reading the agent session: %w", err)
	}
	by := p.guard.rules.Load().policy.Digest()
	seen := label.Join(state.Label, asking.Context)
	alerts := alertsIn(seen)
	var v PlanVerdict
	asks, blocks := false, false
	var raised label.Label // by the steps before
	for i := range pl.Steps {
		step, err := p.step(ctx, &pl.Steps[i], calls[i], raised, by+alertIDs(alerts))
		if err != nil {
			return PlanVerdict{}, err
		}
		raised = label.Join(raised, step.Contract.Label())
		asks = asks || step.Effect == policy.Ask && step.Open == ""
		blocks = blocks || step.Effect == policy.Block
		v.Steps = append(v.Steps, step)
	}
	if !asks || blocks {
		return v, nil
	}
	q := p.question(asking, pl, &v, seen, by)
	q.Alerts = shownAlerts(alerts)
	redeemed, err := p.redeem(ctx, q.Binding)
	switch {
	case err != nil:
		return PlanVerdict{}, err
	case redeemed:
		p.activate(asking.Session, pl, &v)
		v.Approved = true
	default:
		v.Question = q
	}
	return v, nil
}

// step returns the decision on a step, after steps that may raise the session by a label.
func (p *Plans) step(ctx context.Context, s *plan.Step, c *Call, raised label.Label, by string) (PlannedStep, error) {
	call := *c
	call.Context = label.Join(call.Context, raised)
	call.Resolved = nil
	would, err := p.guard.Resolve(ctx, &call)
	if err != nil {
		return PlannedStep{}, err
	}
	r := p.guard.parse(&call)
	out := PlannedStep{
		Step: s, Server: r.Server, Name: r.Name, Contract: r.Effective, Assumed: r.assumed(), To: r.roles.Destinations,
		Effect: would.Verdict.Effect, Rule: would.Verdict.Rule, Message: would.Verdict.Message,
	}
	if len(s.Placeholders()) > 0 {
		out.Contract, out.To = r.tool, nil
	}
	switch {
	case !plannable(r):
		out.Open = "no plan covers such a call"
	case steers(r, s):
		out.Open = "a placeholder may say where it goes"
	default:
		out.Binding = stepBinding(r, s, out.Contract, by)
	}
	return out, nil
}

// plannable reports whether a plan may cover a request: a call of a tool that is all declared.
func plannable(r *request) bool {
	rest := rawjson.Delete(rawjson.Delete(canonicalArguments(r.Params), "name"), "arguments")
	return r.Method == "tools/call" && r.Server != Own && !r.Host && !r.asked && r.within == nil && !r.Further && r.anything() == "" &&
		r.Held == "" && r.Undeclared.Params == nil && len(r.Undeclared.Names) == 0 && string(rawjson.Canonical(rest)) == "{}"
}

// steers reports whether a placeholder of a step may say where its call goes or act otherwise than as content: its
// value is chosen by the author of a result. Where the operator does not say which arguments are destinations, each
// number may be one. A handle stands for any text, so it is for arguments that the operator calls content: another may
// be a command or a path.
func steers(r *request, s *plan.Step) bool {
	return slices.ContainsFunc(s.Placeholders(), func(at plan.Placed) bool {
		if at.Closed() || at.Type == vault.Date {
			return false
		}
		return !r.roles.Known || r.roles.Cut || at.Type == plan.Handle && !named(r.roles.Contents, at.Member) ||
			slices.ContainsFunc(r.roles.Destinations, func(to overlay.Argument) bool { return strings.HasPrefix(to.Path, at.Member) })
	})
}

// named reports whether a member of the arguments, or a part of it, is in a list.
func named(all []overlay.Argument, member string) bool {
	return slices.ContainsFunc(all, func(a overlay.Argument) bool {
		rest, ok := strings.CutPrefix(a.Path, member)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// stepBinding stands for the calls of a step.
func stepBinding(r *request, s *plan.Step, shown contract.Contract, by string) string {
	kind := "constants"
	if len(s.Placeholders()) > 0 {
		kind = "placeholders"
	}
	return "plan:" + bind(kind, r.Session.Principal, r.Session.Key, r.Server, r.Method, r.Name, string(rawjson.Canonical(s.Arguments)),
		shown.String(), r.Declared.String(), r.Trust.String(), string(r.Schema), string(r.Output), by)
}

// question returns the approval request for a plan.
func (p *Plans) question(asking *Call, pl *plan.Plan, v *PlanVerdict, seen label.Label, by string) *Question {
	message := "the plan has calls that need an approval"
	if seen.Untrusted {
		message = "the agent had read untrusted content when it wrote this plan, so its constants may come from there"
	}
	q := &Question{
		Session: asking.Session, Phase: policy.OnCall, Server: Own, Method: asking.Method, Name: asking.Name, Contract: asking.Effective,
		Arguments: newCanonical(asking.Params).text, Rule: RulePlan, Message: message, Label: seen, Later: Later{Goal: pl.Goal, Plan: v.Steps},
		Origins: p.guard.origins.tainted(asking.Session),
	}
	parts := []string{"plan", asking.Session.Principal, asking.Session.Key, string(q.Arguments), string(must(json.Marshal(seen))), by}
	for i := range v.Steps {
		parts = append(parts, v.Steps[i].Binding, v.Steps[i].Contract.String())
	}
	q.Binding = bind(parts...)
	return q
}

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

// activate remembers an approved plan, for the results of its steps.
func (p *Plans) activate(ref session.Ref, pl *plan.Plan, v *PlanVerdict) {
	a := &approvedPlan{plan: pl, sources: map[string]string{}}
	for i := range v.Steps {
		a.bindings = append(a.bindings, v.Steps[i].Binding)
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

// A plannedCall is a call that a step of a plan covers.
type plannedCall struct {
	binding string
	plan    *approvedPlan // nil if this process does not know the plan
	step    string
}

// cover uses up the approval of a step that covers a request; nil if there is none.
func (p *Plans) cover(ctx context.Context, r *request, alerts []alert, by string) (*plannedCall, error) {
	if !plannable(r) {
		return nil, nil
	}
	static := r.Call
	static.Resolved = nil
	shown := p.guard.parse(&static)
	by += alertIDs(alerts)
	for _, c := range p.candidates(r, shown, by) {
		ok, err := p.redeem(ctx, c.binding)
		if err != nil {
			return nil, err
		}
		if ok {
			return &c, nil
		}
	}
	return nil, nil
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
			binding := stepBinding(r, s, c, by)
			if a.bindings[i] == binding && covers(c, r.Effective) && !steers(r, s) && s.Matches(r.written(), a.fills(r)) {
				all = append(all, plannedCall{binding, a, s.ID})
			}
		}
	}
	if len(r.Uses) == 0 && covers(shown.Effective, r.Effective) {
		exact := &plan.Step{Arguments: r.Arguments}
		if r.Arguments == nil {
			exact.Arguments = json.RawMessage("{}")
		}
		if len(exact.Placeholders()) == 0 {
			all = append(all, plannedCall{binding: stepBinding(r, exact, shown.Effective, by)})
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
			if i < 0 || a.sources[at.From] != r.Uses[i].Server+" "+r.Uses[i].Tool {
				return "", false
			}
			if r.Uses[i].Of != "" {
				return r.Uses[i].Of, true
			}
			return name, true
		})
	}
}

// written returns the arguments as the agent wrote them, with handles.
func (r *request) written() json.RawMessage {
	if r.Written != nil {
		return r.Written
	}
	return r.Arguments
}

// note notes the answer to a call of a step, as far as the agent gets it or a handle of it.
func (p *Plans) note(c *plannedCall, in Answer, o *Outcome) {
	if c == nil || c.plan == nil || !o.Allowed() || in.Result == nil || isToolError(in.Result) {
		return
	}
	hidden := ""
	if o.Effect == policy.Hide {
		raw, _ := rawjson.Get(o.Answer.Result, "_meta", MetaValue)
		hidden, _ = rawjson.String(raw)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.plan.answers.Add(c.plan.plan, c.step, in.Result, hidden)
}

// follows reports whether this process knows a plan of a session.
func (p *Plans) follows(ref session.Ref) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.active[keyOf(ref)]) > 0
}

// keyOf returns a session without its parent, which not every call names.
func keyOf(ref session.Ref) session.Ref { return session.Ref{Key: ref.Key, Principal: ref.Principal} }
