package guard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// RuleInternal is the rule that a verdict names when no policy rule but an error of Weir's own denied the call.
const RuleInternal = "weir:error"

// A Verdict is the decision on a call.
type Verdict struct {
	Effect    policy.Effect   // the zero value is Block
	Rule      string          // the rule that decided; empty if none matched
	Message   string          // for people and for the agent
	Params    json.RawMessage // to send: the params with the session's annotations; nil unless the call may go
	Admission *Admission      // accepts the answer; nil unless the call may go, and for a [Call.Reply]
	Question  *Question       // set if Effect is Ask
	Redeemed  string          // the binding of the acceptance that was used up; empty if none was
	Err       error           // why Rule is RuleInternal, for logs: it may tell of the store; nil otherwise

	asks      []policy.Match // the rules that ask, if nothing was redeemed or recorded
	suspicion string         // as in a Refusal
}

// Allowed reports whether the call may go.
func (v Verdict) Allowed() bool { return v.Effect == policy.Allow || v.Effect == policy.Warn }

// Plain reports whether the call may go and there is nothing to tell.
func (v Verdict) Plain() bool { return v.Effect == policy.Allow }

// Refusal returns the text about a verdict that is no plain allow.
func (v Verdict) Refusal() Refusal {
	return Refusal{v.Effect, policy.OnCall, v.Rule, v.Message, v.suspicion}
}

// String returns the verdict in words, as "ask (rule ask-before-…): message".
func (v Verdict) String() string { return v.Refusal().String() }

// request returns the approval request that the call waits for; nil if there is none.
func (v Verdict) request() *Question { return v.Question }

// Denied returns the verdict of an error of Weir's own, or of its caller, that kept a call from being decided. Its
// message is for hosts; the error, which may quote a store or a rule, is for logs.
func Denied(err error) Verdict {
	return Verdict{Effect: policy.Block, Rule: RuleInternal, Message: hosterror.Text(err), Err: err}
}

// An Outcome is the decision on an answer.
type Outcome struct {
	Effect   policy.Effect // the zero value is Block: the agent may not see the answer
	Rule     string
	Message  string
	Answer   Answer       // to hand on, a result of a call with its _meta.annotations; empty unless Allowed
	Label    label.Label  // the label of the answer; of a hidden one zero
	Value    *vault.Value // that is hidden in the place of the answer; nil if none is
	Question *Question    // set if Effect is Ask
	Redeemed string       // as in a Verdict
	Err      error        // as in a Verdict
}

// Allowed reports whether Answer may be handed on. With the effect hide it tells of a handle in place of the answer.
func (o Outcome) Allowed() bool {
	return o.Effect == policy.Allow || o.Effect == policy.Warn || o.Effect == policy.Hide
}

// Refusal returns the text about an outcome that is no plain allow.
func (o Outcome) Refusal() Refusal {
	return Refusal{Effect: o.Effect, When: policy.OnResult, Rule: o.Rule, Message: o.Message}
}

// String is [Verdict.String] for an answer.
func (o Outcome) String() string { return o.Refusal().String() }

// request is [Verdict.request] for an answer.
func (o Outcome) request() *Question { return o.Question }

// Withheld is Denied for an answer.
func Withheld(err error) Outcome {
	return Outcome{Effect: policy.Block, Rule: RuleInternal, Message: hosterror.Text(err), Err: err}
}

var (
	errNoAnswer = errors.New("a server answered with neither or both of result and error")
	errAdmitted = errors.New("no admitted call waits for this answer")
)

// An Admission is a call that may go, and accepts its answer. It holds everything that was found out about the call. It
// is used once: after an outcome that is not Ask, or after Failed, every further answer is withheld. The zero Admission
// admits nothing. It is safe for concurrent use.
type Admission struct {
	guard   *Guard
	request *request
	facts   policy.CallFacts
	found   *trace.Finding
	planned *plannedCall // the step of a plan that the call is of; nil if it is of none

	state atomic.Int32 // of the admission
	asked []byte       // the answer that a person is asked about; nil if there is none
}

// States of an admission. The zero state is closed.
const (
	closed int32 = iota
	open
	deciding
)

// begin takes the admission for one decision.
func (a *Admission) begin() bool { return a != nil && a.state.CompareAndSwap(open, deciding) }

// After labels the answer to the call, decides whether the agent may see it, and, if so, raises the agent session by
// its label. A withheld answer does not enter the agent's context, so it raises nothing. After an outcome Ask the same
// answer can be decided again.
func (a *Admission) After(ctx context.Context, answer Answer) Outcome {
	if !a.begin() {
		return Withheld(errAdmitted)
	}
	if a.asked != nil && !bytes.Equal(a.asked, answer.Raw()) {
		a.state.Store(closed)
		return Withheld(errAdmitted)
	}
	o := a.guard.result(ctx, result{request: a.reread(), call: a.facts, found: a.found, answer: answer})
	if o.Question == nil {
		a.guard.Plans.note(a.planned, answer, &o)
		a.state.Store(closed)
		return o
	}
	a.asked = answer.Raw()
	a.state.Store(open)
	return o
}

// reread returns the request, with its contract refined anew if its paths lead elsewhere by now.
func (a *Admission) reread() *request {
	r := a.request
	at := a.guard.machine.read(r)
	if at.equal(&r.reading) {
		return r
	}
	again := *r
	again.Effective, again.said, again.notes = r.tool, r.Declared, nil
	again.refine(at)
	return &again
}

// Failed closes the admission of a call that reached its server and has no answer that can be used: the connection
// broke, time ran out, the host cancelled it, or the server sent something that is no answer. The server has had its
// chance to act, and to speak in other ways than by a result, so the agent session rises by the contract of the call as
// it does by a result that says nothing of itself.
func (a *Admission) Failed(ctx context.Context) error {
	if !a.begin() {
		return errAdmitted
	}
	defer a.state.Store(closed)
	r := a.reread()
	state, err := a.guard.evidence.open(ctx, &r.Call)
	if err != nil {
		return err
	}
	return a.guard.raiseUnanswered(ctx, r, state.Label)
}

// Onward returns the binding under which Approvals may hold that the call has been answered with a question of its
// server: its next round then goes out unasked, once. The first round was decided as a whole, and the answers that the
// next one adds are decided on their own. A block is a block in every round.
//
// The binding stands for the same call of the same agent session under the same contract and policy. It leaves out the
// session's label, which the question itself may have raised.
func (a *Admission) Onward() string {
	if a == nil || a.guard == nil {
		return ""
	}
	return onward(a.request, a.guard.rules.Load().policy.Digest())
}

// A result is an answer to decide on, or the question of a server.
type result struct {
	request  *request
	call     policy.CallFacts // as traced before the call
	found    *trace.Finding   // nil if it was not
	answer   Answer
	label    label.Label
	claim    annotation.Claim
	search   detected
	heard    string          // the alert of the values of which the answer was computed; "" if there is none
	kept     label.Label     // of an answer that was hidden, as it was then
	composed bool            // an agent may have had a part in the text: by hidden values in the call, or by an earlier call
	seen     bool            // the agent has the answer already, so it cannot be hidden
	outline  json.RawMessage // all that the guard reads of a result, which may be large: one scan serves all readers
	shown    Answer          // as hosts get it
	unshown  string          // why no host may get it; "" if one may
}

// result labels an answer or a question of a server, decides on it, and raises the session by its label if it may be
// seen.
func (g *Guard) result(ctx context.Context, in result) Outcome {
	r, a := in.request, in.answer
	if (a.Result == nil) == (a.Error == nil) {
		return Withheld(errNoAnswer)
	}
	ctx = session.Together(ctx)
	state, err := g.evidence.open(ctx, &r.Call)
	if err == nil {
		state.Label, err = g.raise(ctx, r, state.Label, r.Context)
	}
	if err != nil {
		return Withheld(err)
	}
	if in.outline = a.Outline; in.outline == nil {
		in.outline = annotation.Outline(a.Result)
	}
	if err := g.read(ctx, &in); err != nil {
		return Withheld(err)
	}
	g.show(&in)
	facts := g.resultFacts(&in, state)
	var passed Answer
	if in.seen { // whatever policy says of it
		if passed, err = g.pass(ctx, &in, state.Label); err != nil {
			return Withheld(err)
		}
	}
	takes := func() bool { return g.Hidden.takes(&in) }
	v, err := g.settle(ctx, decisionInput{
		request: r, facts: facts, found: in.found, answer: a.Raw(), owned: a.Own, evidence: in.claim.Evidence, detection: in.search.event, hideable: takes,
		seen: in.seen, unshown: in.unshown, reported: func() *Reported { return reported(&in) },
	})
	if err != nil {
		return Withheld(err)
	}
	if v.effect == policy.Hide {
		return g.Hidden.hide(ctx, &in, &v, state.Label)
	}
	o := Outcome{Effect: v.effect, Rule: v.rule, Message: v.message, Label: in.label, Question: v.question, Redeemed: v.approval.redeemed}
	if !o.Allowed() {
		return o
	}
	if o.Answer = passed; in.seen {
		return o
	}
	if o.Answer, err = g.pass(ctx, &in, state.Label); err != nil {
		return Withheld(err)
	}
	return o
}

// pass notes that the agent gets an answer, and returns the answer for it, with its label as the agent, or for a
// question the host, gets it: it is traced, and the session, which had the label seen, is raised and gets the alert of
// the answer. The answer is ready before: a label that a person lowers meanwhile is raised again.
func (g *Guard) pass(ctx context.Context, in *result, seen label.Label) (shown Answer, err error) {
	r := in.request
	if in.unshown != "" { // by a mode that was changed meanwhile
		return Answer{}, errUnclean
	}
	var unlabelled error
	switch shown = in.shown; {
	case shown.Error != nil:
	case r.asked: // hosts know no label there
		shown = Answer{Result: stripOwnMeta(shown.Result)}
	default:
		outline, labelled := in.outline, json.RawMessage(nil)
		if !bytes.Equal(shown.Result, in.answer.Result) {
			outline = annotation.Outline(shown.Result)
		}
		var why *annotation.Evidence
		if in.search.event != nil {
			why, unlabelled = in.search.evidence(r.ID)
		}
		if unlabelled == nil {
			labelled, unlabelled = g.annotator.result(r.uri, shown, outline, in.label, why)
		}
		shown = Answer{Result: labelled}
	}
	if in.label.Malicious && !r.asked && !in.seen && unlabelled == nil {
		shown, unlabelled = warned(r.Method, shown)
	}
	err = g.raiseBy(ctx, r, seen, in.label)
	switch {
	case err != nil:
	case in.search.alert != "":
		err = g.evidence.alarm(ctx, r, seen, r.spoken()+" "+in.search.alert)
	case in.heard != "":
		err = g.evidence.alarm(ctx, r, seen, in.heard)
	}
	if err != nil && !in.seen {
		return Answer{}, err
	}
	if !r.asked && g.rules.Load().compares() {
		g.usual.note(r, in.answer)
	}
	var directory []overlay.Named
	if in.shown.Error == nil && !r.asked {
		directory = r.Overlay.Directory(in.answer.Result)
	}
	g.tracer.AddResult(r.traced(), in.answer.Raw(), in.label, directory)
	return shown, cmp.Or(err, unlabelled)
}

// resultFacts gathers the facts of policy about a labelled answer. The arguments of a question are traced now, those of
// a call were when it was decided.
func (g *Guard) resultFacts(in *result, state session.State) *policy.Facts {
	r := in.request
	f := r.facts(policy.OnResult, state)
	f.Response, f.ResponseError = &in.label, in.answer.Error != nil || isToolError(in.outline)
	f.ResponseFound = in.search.facts
	if !r.asked { // a contract speaks of results, not of questions
		outside := append(r.said.Bounds(in.claim.Stated), r.said.Outside(in.search.label)...)
		f.ResponseOutside = label.SetOf(outside...)
		if g.rules.Load().compares() {
			f.ResponseChanged = label.SetOf(g.usual.changed(r, in.answer)...)
		}
	}
	if in.found == nil {
		in.found = g.tracer.Trace(r.traced(), f, false)
	} else {
		f.Call = in.call
		in.found.Await(f)
		g.tracer.Describe(r.Session, &f.Session)
	}
	return f
}

// read finds the label of an answer.
func (g *Guard) read(ctx context.Context, in *result) error {
	r := in.request
	var defects []annotation.Defect
	in.label, in.claim, defects = in.answer.label(r, g.annotator.words.Reader, in.outline)
	switch {
	case !r.asked:
	case isSilent(&r.Call):
		in.label = label.Label{}
	default:
		in.label = label.Join(in.label, Said(r.Trust)) // a contract speaks of results, not of questions
	}
	defects = append(defects, ofResults.of(&r.Call, in.claim.Stated)...) // of an error there is none
	vouched, unread := g.annotator.words.Vouched(ctx, in.claim)
	defects = append(defects, unread...)
	lasting, written, err := g.resources.read(ctx, r)
	if err != nil {
		return err
	}
	in.composed = written || len(r.Uses) > 0 || r.Computed
	in.search = g.contents.Detection.search(ctx, r, policy.OnResult, in.answer.Raw())
	for _, l := range []label.Label{vouched, lasting, withoutAlerts(r.actor()), in.search.label, in.kept} {
		in.label = label.Join(in.label, l)
	}
	if err = g.evidence.defects(ctx, &r.Call, defects); err != nil || g.breaches.told == nil {
		return err
	}
	if err = g.breaches.outside(ctx, &r.Call, ofResults.of(&r.Call, answersFor(&r.Call, in.claim.Stated)), true); err != nil {
		return err
	}
	return g.breaches.lacking(ctx, &g.evidence, in)
}
