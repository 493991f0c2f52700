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
// gave in this process. It stands for the agent session, the definition and contract of the tool, the policy, all
// alerts that the session has had, and the rules that its request named; with placeholders, for the whole plan. A call
// that policy blocks stays blocked. The label of the session is no part of it: the plan was written before the results
// that raise it.
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
	bindings []string      // of the steps; "" of those that it does not cover
	flows    []string      // of the steps
	assumed  []label.Label // of the session after the steps, as the request had it
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

	asks    []string    // the rules that ask, which the approval is for
	flow    string      // where its placeholders come from
	assumed label.Label // of the session after it
}

// Bindings returns the bindings that an approval of the plan gives, each as often as the step may be called: of its
// calls, and of each rule that asks about them.
func (s *PlannedStep) Bindings() []string {
	if s.Binding == "" {
		return nil
	}
	all := []string{s.Binding}
	for _, rule := range s.asks {
		all = append(all, askBinding(s.Binding, rule))
	}
	return all
}

// askBinding stands for the calls of a step about which a rule asks.
func askBinding(binding, rule string) string { return "plan:" + bind("asked", binding, rule) }

// A PlanVerdict is the decision on a plan. If it has a question, the approval covers nothing yet.
type PlanVerdict struct {
	Steps    []PlannedStep
	Question *Question
	Approved bool // the steps' Bindings have to be kept in Approvals, each as often as its step says
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
		flow = append(flow, step.Binding)
		raised = label.Join(raised, step.Contract.Label())
		step.assumed = label.Join(seen, raised)
		asks = asks || step.Effect == policy.Ask && step.Open == ""
		blocks = blocks || step.Effect == policy.Block
		v.Steps = append(v.Steps, step)
	}
	if !asks || blocks || pl.Check {
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

// step returns the decision on a step by its call, with the steps before it in the context.
func (p *Plans) step(ctx context.Context, s *plan.Step, call *Call, flow, by string) (PlannedStep, error) {
	would, err := p.guard.Resolve(ctx, call)
	if err != nil {
		return PlannedStep{}, err
	}
	r := p.guard.parse(call)
	out := PlannedStep{
		Step: s, Server: r.Server, Name: r.Name, Contract: r.Effective, Assumed: r.assumed(), To: r.roles.Destinations,
		Effect: would.Verdict.Effect, Rule: would.Verdict.Rule, Message: would.Verdict.Message,
		asks: would.Verdict.asks,
	}
	if len(s.Placeholders()) > 0 {
		out.Contract, out.To, out.flow = r.tool, nil, flow
	}
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
	return "plan:" + bind(kind, r.Session.Principal, r.Session.Key, r.Server, r.Method, r.Name, string(rawjson.Canonical(s.Arguments)),
		shown.String(), r.Declared.String(), r.Trust.String(), string(r.Schema), string(r.Output), flow, by)
}

// question returns the approval request for a plan.
func (p *Plans) question(asking *Call, pl *plan.Plan, v *PlanVerdict, seen label.Label, by string) *Question {
	message := "the plan has calls that need an approval"
	if seen.Untrusted {
		message = "the agent had read untrusted content when it wrote this plan, so its constants may come from there"
	}
	q := &Question{
		Session: asking.Session, Phase: policy.OnCall, Server: Own, Method: asking.Method, Name: asking.Name, Contract: asking.Effective,
		Arguments: newCanonical(asking).text, Rule: RulePlan, Message: message, Label: seen, Later: Later{Goal: pl.Goal, Plan: v.Steps},
		Origins: p.guard.origins.tainted(asking.Session),
	}
	parts := []string{"plan", asking.Session.Principal, asking.Session.Key, string(q.Arguments), string(must(json.Marshal(seen))), by}
	for i := range v.Steps {
		parts = append(parts, v.Steps[i].Contract.String())
		parts = append(parts, v.Steps[i].Bindings()...)
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
