package guard

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/policy"
)

// Approvals remembers the approval requests that approvers have accepted.
type Approvals interface {
	// Redeem reports whether a person has accepted exactly the request that binding stands for, and uses the acceptance
	// up. A binding is redeemed once at most; only an acceptance of the Grant of a [Question] stays.
	Redeem(ctx context.Context, binding string) (bool, error)
}

// An approver finds out whether an approval request has been accepted.
type approver struct {
	approvals Approvals // nil: nothing is ever approved
	tracer    *trace.Tracer
	plans     *Plans
}

// An approval is the acceptance of a request.
type approval struct {
	given    bool
	redeemed string // the binding that was used up; "" if none was
	exact    bool   // it is of exactly this call, by a person who was asked about it

	planned *plannedCall // the step of an approved plan that the call is of; nil if there is none
}

// find returns the approval of a call that policy asks about: of exactly that, or of a request that covers it.
func (a *approver) find(ctx context.Context, in decisionInput, d decision, q *Question) (approval, error) {
	session := in.request.Session
	if q.Later.Place && a.tracer.Covers(session, scope(in, d), in.found) {
		return approval{given: true}, nil
	}
	redeemed, err := a.redeem(ctx, in.request, q, d.by)
	if err != nil {
		return approval{}, err
	}
	if redeemed == "" {
		return a.byPlan(ctx, in, d)
	}
	exact := redeemed == q.Binding
	in.found.Approved, in.found.Fixed = exact, exact && leansOnState(&in)
	if q.Later.Place && exact { // a further round that goes on unasked is nobody's approval
		a.tracer.Grant(session, scope(in, d), in.found)
	}
	return approval{given: true, redeemed: redeemed, exact: exact}, nil
}

// byPlan returns the approval of a plan with a step that covers the call.
func (a *approver) byPlan(ctx context.Context, in decisionInput, d decision) (approval, error) {
	if in.facts.Phase != policy.OnCall {
		return approval{}, nil
	}
	c, err := a.plans.cover(ctx, in, d.asking(), d.by)
	if err != nil || c == nil {
		return approval{}, err
	}
	return approval{given: true, redeemed: c.binding, planned: c}, nil
}

// redeem uses up an acceptance of exactly this request, of calls like it, or of a call that went out before and that
// this one only goes on with. It returns the binding; "" if nobody has accepted any.
func (a *approver) redeem(ctx context.Context, r *request, q *Question, by string) (string, error) {
	if a.approvals == nil {
		return "", nil
	}
	bindings := []string{q.Binding}
	if q.Grant != "" {
		bindings = append(bindings, q.Grant)
	}
	if r.Further && !r.asked && q.Phase == policy.OnCall {
		bindings = append(bindings, onward(r, by))
	}
	for _, b := range bindings {
		ok, err := a.approvals.Redeem(ctx, b)
		if err != nil {
			return "", fmt.Errorf("redeeming an approval: %w", err)
		}
		if ok {
			return b, nil
		}
	}
	return "", nil
}

// onward returns the binding of further rounds of a call: see [Admission.Onward].
func onward(r *request, by string) string {
	return bind("onward", r.Session.Principal, r.Session.Key, r.Server, r.Reached, r.Method, r.Name,
		string(canonicalArguments(r.Params, true)), r.Effective.String(), by)
}

// scope names the calls that an approval covers of a request that is asked once: of the session in its present state,
// with all alerts that it has had, of the tool, its contract, the policy and the rules that ask, and of the
// destinations; where the operator does not state these, of all arguments.
func scope(in decisionInput, d decision) trace.Scope {
	r, f := in.request, in.facts
	where := json.RawMessage(r.canonical.text)
	if f.Call.Stated {
		where = must(json.Marshal(f.Call.Destinations))
	}
	seen := must(json.Marshal(f.Session.Label.Taint()))
	parts := []string{
		"once", r.Session.Principal, r.Session.Key, r.Server, r.Reached, r.Method, r.Name, r.Effective.String(), string(seen), d.by,
		alertIDs(in.alerts), in.raised, // a yes after an alert is for its own call, and for none that was approved before
	}
	if namesThing(&in) || unshown(&in) {
		parts = append(parts, in.found.Since)
	}
	for _, m := range d.Matched {
		parts = append(parts, m.Rule)
	}
	anywhere := bind(append(parts, "pages")...)
	return trace.Scope{Place: bind(append(parts, "place", string(where))...), Any: anywhere}
}
