package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// errNoInquiry says that a call of an agent came where only a question of a server can.
var errNoInquiry = errors.New("only a question of a server is decided without an admission")

// Errors of sessions that change as fast as calls are decided in them, or that are gone.
var (
	errChanged = hosterror.New("the agent session changed while the call was decided: call again").Because(session.ErrChanged)
	errRemoved = hosterror.New("the agent session was removed while the call was decided: call again").Because(session.ErrNotFound)
)

// Bounds of the decisions on one call while its session changes, as it does with each result of calls at the same time.
const (
	leastAttempts = 4 // however long each takes
	mostAttempts  = 256
	patience      = 10 * time.Second
)

// Before decides whether the call may happen. The decision is on the agent session as it is when the call goes: if the
// session changes meanwhile, the call is decided on again, and denied if that does not end. The call is from then on as
// it goes out: without the values that [Detection.Sent] redacts.
func (g *Guard) Before(ctx context.Context, c *Call) Verdict {
	if IsInquiry(c.Method) && !c.asked {
		return Denied(errBackwards)
	}
	var r *request
	if len(g.contents.Detection.Sent) == 0 {
		r = g.parse(c)
	} else if out, err := outgoing(g, c); err != nil {
		return Denied(err)
	} else {
		r = out
	}
	r.canonical = newCanonical(c)
	began := time.Now()
	for n := 0; n < leastAttempts || n < mostAttempts && time.Since(began) < patience; n++ {
		v, err := g.attempt(session.Together(ctx), r)
		switch {
		case err == nil:
			if v.Allowed() && c.shown != nil {
				c.shown = nil // it is for one call
			}
			if c.Run > 0 && v.Plain() {
				g.Hidden.ventures.went(ctx, g.Hidden, c.Session, c.Run)
			}
			return v
		case errors.Is(err, session.ErrNotFound): // another one of its key has nothing of it
			return Denied(errRemoved)
		case !errors.Is(err, session.ErrChanged):
			return Denied(err)
		}
	}
	return Denied(errChanged)
}

// attempt decides on a call once. The error is session.ErrChanged if the decision is on a session that is not as it was
// any more: then it counts for nothing.
func (g *Guard) attempt(ctx context.Context, r *request) (Verdict, error) {
	seen, err := g.enter(ctx, r)
	if err != nil {
		return Verdict{}, err
	}
	r.decided, r.counted = seen, false
	steered, err := g.Hidden.steered(ctx, r)
	if err != nil {
		return Verdict{}, err
	}
	seen.Label = label.Join(seen.Label, g.readers.Limit(seen.Label, label.Join(r.actor(), steered), nil))
	facts := r.facts(policy.OnCall, seen)
	if facts.Session.Looked, err = g.Hidden.looked(ctx, r, g.rules.Load()); err != nil {
		return Verdict{}, err
	}
	v, found := g.barrier(r), (*trace.Finding)(nil)
	if v != nil {
		err = g.bar(ctx, r, facts, v)
	} else {
		v, found, err = g.decide(ctx, r, facts, seen.Label)
	}
	if err != nil {
		return Verdict{}, err
	}
	verdict := Verdict{Effect: v.effect, Rule: v.rule, Message: v.message, Question: v.question, Redeemed: v.approval.redeemed}
	if !verdict.Allowed() {
		if v.suspicious {
			verdict.suspicion = g.annotator.suspicion()
		}
		if v.question != nil {
			v.question.suspicion = verdict.suspicion
		}
		return verdict, nil
	}
	if verdict.Params, err = g.depart(ctx, r, facts, found, seen); err != nil {
		if !v.approval.exact {
			g.tracer.Discharge(r.traced(), facts, found, false)
		}
		return Verdict{}, err
	}
	if !r.asked {
		verdict.Admission = &Admission{guard: g, request: r, facts: facts.Call, found: found, planned: v.approval.planned}
		verdict.Admission.state.Store(open)
	}
	return verdict, nil
}

// decide traces a call and decides on it. The call is on the account of its receivers meanwhile, so that calls at the
// same time do not share the rest of it, and stays there if it goes. The label of the session is seen. A plain read
// that nobody outside learns of, in a session without untrusted content, is traced only if a rule asks: no account and
// no later trace depends on its values.
func (g *Guard) decide(ctx context.Context, r *request, f *policy.Facts, seen label.Label) (*ruling, *trace.Finding, error) {
	known := f.Session.Label
	traced, by := r.traced(), g.rules.Load()
	var found *trace.Finding
	if r.reads() && f.PlainRead() && !f.Egress() && !known.Untrusted && len(r.Confirmed.Destinations) == 0 &&
		!by.tools.of(by.policy, f).Traces(policy.OnResult) {
		found = g.tracer.Expect(traced, f)
	} else {
		found = g.tracer.Trace(traced, f, true)
	}
	search := g.contents.Detection.search(ctx, r, policy.OnCall, r.canonical.searched)
	if r.before != nil {
		search.event = foundBefore(ctx, &g.contents.Detection, r)
	}
	f.Call.Found = search.facts
	alerts := alertsIn(seen)
	f.Session.Label.Malicious = harmed(known, alerts)
	in := decisionInput{
		request: r, facts: f, found: found, detection: search.event, alerts: alerts, raised: raisedAlerts(seen), harmless: search.harmless,
	}
	v, err := g.settle(ctx, in)
	f.Session.Label = known // which goes to the resources that the call writes
	// A step that needs no approval is taken too.
	if err == nil && v.allowed() && v.approval.planned == nil && g.Plans.follows(r) {
		v.approval.planned, err = g.Plans.cover(ctx, in, nil, g.rules.Load().policy.Digest())
	}
	if err == nil && v.approval.exact {
		r.decided.Label, err = g.evidence.answer(ctx, r, r.decided.Label, alerts)
	}
	if err != nil || !v.allowed() || v.approval.exact {
		g.tracer.Discharge(traced, f, found, err == nil && v.approval.exact)
	}
	return &v, found, err
}

// depart notes a call that goes out, and returns the params to send. All that takes time comes before the last look at
// the session, and at what may hold the call by now.
func (g *Guard) depart(
	ctx context.Context, r *request, f *policy.Facts, found *trace.Finding, seen session.State,
) (params json.RawMessage, err error) {
	if r.asked {
		params = bareMeta(&r.Call, r.Params, seen.Label)
	} else if params, err = g.annotator.request(&r.Call, seen); err != nil {
		return nil, err
	}
	if len(g.contents.Detection.Sent) > 0 {
		if err := mayLeave(&g.decider, r, params); err != nil {
			return nil, err
		}
	}
	if err := g.resources.write(ctx, r, f.Session.Label); err != nil {
		return nil, err
	}
	if r.holds != nil {
		if r.Held, err = r.holds(session.Afresh(ctx)); err != nil {
			return nil, err
		}
		if r.Held != "" {
			return nil, session.ErrChanged
		}
	}
	if err := g.evidence.state.Sessions().Still(ctx, r.decided); err != nil {
		return nil, err
	}
	first, stale := g.tracer.AddCall(r.traced(), f, found)
	if stale {
		return nil, session.ErrChanged
	}
	if r.asked { // results of the server may repeat the reply
		return params, g.raiseBy(ctx, r, seen.Label, carries(&r.Call))
	}
	if found.Counting == nil { // it was counted then, or with its decision
		return params, nil
	}
	return params, count(ctx, g, r, found, first)
}

// count counts a call that goes out and was not counted with its decision.
func count(ctx context.Context, g *Guard, r *request, found *trace.Finding, first bool) error {
	defer found.Counting.RUnlock()
	err := g.evidence.count(ctx, r.Session.Key, first)
	if err != nil {
		g.tracer.Uncount(r.traced())
	}
	return err
}

// Ask decides whether a question of a server, which [Call.Inquiry] returns, may reach the host, and, if so, raises the
// agent session by its label: a question enters the context of a person or a model just as a result does.
func (g *Guard) Ask(ctx context.Context, inquiry *Call) Outcome {
	if !inquiry.asked {
		return Withheld(errNoInquiry)
	}
	r := g.parse(inquiry)
	r.canonical = newCanonical(inquiry)
	asked := Answer{Result: inquiry.Params}
	if asked.Result == nil {
		asked.Result = json.RawMessage(`{}`)
	}
	return g.result(ctx, result{request: r, answer: asked})
}

// Presume counts a call as made that the host, in a dialog of its own, may have let happen after an Ask, and whose
// answer may never come: its writes have the session's label, and the session rises by the contract of the call.
func (g *Guard) Presume(ctx context.Context, c *Call) error {
	r := g.parse(c)
	state, err := g.evidence.open(ctx, &r.Call)
	if err != nil {
		return err
	}
	if err := g.resources.write(ctx, r, state.Label); err != nil {
		return err
	}
	if err := g.evidence.count(ctx, r.Session.Key, true); err != nil {
		return err
	}
	return g.raiseUnanswered(ctx, r, state.Label)
}

// Observe labels an answer that reaches the agent without an admission, since another process or the host itself let the call happen,
// and decides whether the agent should see it. The agent session is raised by its label, has its alert and traces it in any case, before
// the decision: to withhold it may be too late.
func (g *Guard) Observe(ctx context.Context, c *Call, answer Answer) Outcome {
	r := g.parse(c)
	r.canonical = newCanonical(c)
	answer.Own = false // its event comes after its label
	return g.result(ctx, result{request: r, answer: answer, seen: true})
}

// Resolved notes the server's contract for this very call, which its tools/resolve gave for the arguments. A contract
// outside of the tool's declaration is recorded as a defect, and raises only.
func (g *Guard) Resolved(ctx context.Context, c *Call, resolution contract.Contract) error {
	err := g.evidence.defects(ctx, c, ofResolutions.of(c, resolution))
	if err == nil {
		err = g.breaches.outside(ctx, c, ofResolutions.of(c, answersFor(c, resolution)), false)
	}
	if err == nil {
		c.Resolved = &resolution
	}
	return err
}

// Show reports whether the call's server may be shown the call's arguments before the call is decided, so that it can
// resolve the contract, and notes that it is. To show them is egress like the call itself, so the server is asked about
// a call that would go out without its word, which can then only make the decision stricter. Only a trusted server is
// shown them where policy would let the agent read from within with them: the effects of the call itself are the
// question. That the server learns of the call is recorded, counted and charged before it is asked, and stays so if the
// call is refused then.
func (g *Guard) Show(ctx context.Context, c *Call) (bool, error) {
	static := *c
	static.Resolved, static.shown = nil, nil
	r := g.parse(&static)
	redacts := len(sends(&g.decider, r)) > 0 // the server would be shown values as they are
	if c.Trust == contract.Trusted {
		r.said, r.Effective = asking.Over(r.said), asking.Over(r.Effective)
		redacts = redacts || len(sends(&g.decider, r)) > 0
	}
	if redacts {
		return false, nil
	}
	if _, err := g.evidence.open(ctx, &r.Call); err != nil {
		return false, err
	}
	p, err := g.peek(ctx, r, true)
	if err != nil || p.found == nil {
		return false, err
	}
	if !p.verdict.Allowed() {
		g.tracer.Discharge(r.traced(), p.facts, p.found, false)
		return false, nil
	}
	c.shown = p.found // what is charged stays charged from here on
	e := g.evidence.event(record.Upstream, c)
	e.Method, e.Effect, e.Message = MethodResolve, eventShown, "the server is shown the arguments to say what the call does"
	if err := g.evidence.state.Record(ctx, e); err != nil {
		return false, fmt.Errorf("recording that a server is shown a call: %w", err)
	}
	switch err := g.evidence.state.Sessions().Still(ctx, p.seen); {
	case errors.Is(err, session.ErrChanged), errors.Is(err, session.ErrNotFound): // decided on what no longer holds
		c.shown = nil
		g.tracer.Discharge(r.traced(), p.facts, p.found, false)
		return false, nil
	case err != nil:
		return false, err
	}
	showing := r.traced()
	showing.Showing = true
	first, _ := g.tracer.AddCall(showing, p.facts, p.found)
	return true, count(ctx, g, r, p.found, first)
}

// eventShown is the effect of events of calls that their servers are shown before they are decided.
const eventShown = "shown"

// asking is the contract of resolving a call: its arguments go to the server, and nothing happens.
var asking = contract.Contract{
	ReadOnly: contract.Yes, Destructive: contract.No, OpenWorld: contract.No,
	Destinations: contract.Possible(contract.Internal), Outcomes: contract.Possible(contract.Benign),
}

// MethodResolve is the request that narrows a tool's contract to arguments (SEP-1862).
const MethodResolve = "tools/resolve"

// A Resolution is the contract of a call and the decision on it.
type Resolution struct {
	Contract contract.Contract // for its arguments
	Verdict  Verdict           // without question, params and admission
}

// Resolve is Before without effects: it returns the contract of the call and the decision on it at the moment. Nothing
// is counted, raised, recorded or redeemed.
func (g *Guard) Resolve(ctx context.Context, c *Call) (Resolution, error) {
	sent := *c
	r, err := outgoing(g, &sent)
	if err != nil {
		return Resolution{}, err
	}
	p, err := g.peek(ctx, r, false)
	if err != nil {
		return Resolution{}, err
	}
	return Resolution{r.Effective, p.verdict}, nil
}

// A preview is the decision that a call would get, and what it is made from.
type preview struct {
	verdict Verdict
	seen    session.State  // with the label as it is kept
	facts   *policy.Facts  // nil if a barrier decides
	found   *trace.Finding // nil if a barrier decides
}

// peek returns the decision that a call would get. The call is on the account of its receivers from then on if charge
// is set.
func (g *Guard) peek(ctx context.Context, r *request, charge bool) (preview, error) {
	if v := g.barrier(r); v != nil {
		return preview{verdict: Verdict{Effect: v.effect, Rule: v.rule, Message: v.message}}, nil
	}
	state, err := g.evidence.state.Sessions().Peek(ctx, r.Session)
	if err != nil {
		return preview{}, fmt.Errorf("reading the agent session: %w", err)
	}
	seen := state
	r.Session.Parent = state.Parent
	claimed, _ := g.annotator.words.Reader.ReadRequest(r.Params)
	told := label.Join(claimed, r.Context)
	steered, err := g.Hidden.steered(ctx, r)
	if err != nil {
		return preview{}, err
	}
	state.Label = label.Join(state.Label, g.readers.Limit(state.Label, label.Join(told, label.Join(r.actor(), steered)), nil))
	by := g.rules.Load()
	facts := r.facts(policy.OnCall, state)
	facts.Session.Label.Malicious = harmed(state.Label, alertsIn(state.Label))
	if facts.Session.Looked, err = g.Hidden.looked(ctx, r, by); err != nil {
		return preview{}, err
	}
	found := g.tracer.Trace(r.traced(), facts, charge)
	search := g.contents.Detection.search(ctx, r, policy.OnCall, newCanonical(&r.Call).searched)
	facts.Call.Found = search.facts
	if told.Sensitivity.Has(label.Credentials) && !r.Host { // which come from unknown sources
		facts.Call.Crosses = found.Tells()
	}
	d := g.Plans.foresee(r, facts, by.decide(facts, r.reading.forms))
	v := Verdict{Effect: by.mode.Apply(d.Effect), Rule: d.Rule, Message: d.Message, asks: d.asked()}
	return preview{verdict: v, seen: seen, facts: facts, found: found}, nil
}
