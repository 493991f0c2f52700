package guard

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// RuleHeld is the rule that a verdict names when the definition of the tool is not the one that was accepted.
const RuleHeld = "weir:held"

// A decider applies the policy, finds approvals and records the decision.
type decider struct {
	rules    atomic.Pointer[rules]
	evidence evidence
	contents Contents
	approver approver
	origins  *origins
	machine  machine
	review   func(server string) string
	backlog  backlog
}

// A ruling is a decision after mode and approvals.
type ruling struct {
	effect   policy.Effect
	rule     string
	message  string
	question *Question // set if effect is Ask
	approval approval

	suspicious bool // it is because of signs of an attack
}

func (v *ruling) allowed() bool { return v.effect == policy.Allow || v.effect == policy.Warn }

// settle decides on the facts, redeems an approval where one is needed, and records the decision.
func (g *decider) settle(ctx context.Context, in decisionInput) (ruling, error) {
	r, f := in.request, in.facts
	by := g.rules.Load()
	d := in.withholding(in.hiding(by, by.decide(f, r.reading.forms)))
	hint := ""
	if d.Effect != policy.Allow {
		if f.Trace != nil { // people are shown where arguments come from
			f.Trace()
		}
		hint = g.unreviewed(by, in)
	}
	held := g.approver.plans.rules.Load()
	strict := held != nil && held.Strict
	var planned approval
	var err error
	if f.Phase == policy.OnCall && (strict || d.Effect == policy.Ask) { // a stale decision uses nothing up
		if err = g.evidence.state.Sessions().Still(ctx, r.decided); err != nil {
			return ruling{}, err
		}
	}
	if strict {
		if planned, d, err = g.approver.plans.confine(ctx, in, d); err != nil {
			return ruling{}, err
		}
	}
	v := ruling{effect: by.mode.Apply(d.Effect), rule: d.Rule, message: d.Message, approval: planned}
	v.suspicious = !v.allowed() && in.suspicious(by, d)
	e, encode := g.event(in, d)
	if d.Rule == RulePlan {
		hint = "" // a review would not help
	}
	if v.effect != policy.Allow && hint != "" {
		v.message += "; " + hint
	}
	if v.effect == policy.Ask {
		v.question = newQuestion(in, d, g.origins.tainted(r.Session))
		v.question.Hint = hint
		e.Binding = v.question.Binding
		if !v.approval.given {
			v.approval, err = g.approver.find(ctx, in, d, v.question)
		}
		if err != nil {
			return ruling{}, err
		}
		if v.approval.given {
			v.effect, v.question = policy.Allow, nil
		}
	}
	if v.approval.planned != nil {
		e.Binding = v.approval.redeemed
	}
	e.Effect = v.effect.String()
	if v.effect != d.Effect {
		e.Decided = d.Effect.String()
	}
	if err := g.write(ctx, in, e, encode, v); err != nil {
		return ruling{}, fmt.Errorf("recording the decision: %w", err)
	}
	for _, p := range d.Problems {
		if err := g.evidence.defect(ctx, &r.Call, annotation.Defect{Where: "policy " + d.Rule, Reason: p.String()}); err != nil {
			return ruling{}, err
		}
	}
	return v, nil
}

// write records the event of a decision. A call that may change or send anything must not go out before that is on
// disk, nor if the session is another by then; nor may a person's acceptance be used up, or a denial be forgotten. A
// plain read that is allowed can wait; so can a decision on an answer, since a label that rises by it is recorded after
// it, and on disk only with it. The facts in the event of a plain read are written down when that is, after the answer,
// and so is the digest of an answer.
func (g *decider) write(
	ctx context.Context, in decisionInput, e *record.Event, encode func(*policy.Facts) []byte, v ruling,
) error {
	r, state := in.request, g.evidence.state
	call := in.facts.Phase == policy.OnCall
	wait := v.allowed() && v.approval.redeemed == "" && (!call || r.reads())
	complete := func() {}
	if !call {
		complete = g.backlog.digest(e, r.canonical.salt, in.answer, wait && in.owned)
	}
	if !wait {
		if e.Facts = encode(in.facts); call && v.allowed() {
			return g.decided(ctx, in, e)
		}
		return state.Record(ctx, e)
	}
	f := in.facts
	if r.reads() && len(r.canonical.text) <= maxKept && !g.contents.All {
		kept := *f // as they are now, also when they are others by then
		if kept.Response != nil {
			l := *kept.Response
			kept.Response = &l
		}
		f = &kept
	} else {
		e.Facts, encode = encode(f), nil
	}
	err := state.Later(ctx, func() *record.Event {
		if complete(); encode != nil {
			e.Facts = encode(f)
		}
		return e
	})
	if err != nil {
		complete() // and so let go of the answer: the event is not written
	}
	return err
}

// decided records the event of a call that may change or send something, and counts the call with it, so that no other
// process takes an approval for one of the state before. The error is session.ErrChanged if the call is approved in
// such a state and something was changed meanwhile.
func (g *decider) decided(ctx context.Context, in decisionInput, e *record.Event) error {
	r := in.request
	counts := !r.asked && r.shown == nil // not a reply to a server, nor one that its server was shown: it was counted then
	counted := g.approver.tracer.Count(r.traced(), in.found)
	calls, err := g.evidence.state.Decide(ctx, r.decided, counts, e)
	stale := counted(int(calls), err)
	if r.counted = err == nil; stale {
		return session.ErrChanged
	}
	return err
}

// maxKept is how long the arguments may be, in bytes, of a call whose facts are kept until they are written down.
const maxKept = 1 << 10

// event returns the event of a decision, without its effect and facts, and the function that encodes those.
func (g *decider) event(in decisionInput, d decision) (e *record.Event, encode func(*policy.Facts) []byte) {
	r, f := in.request, in.facts
	e = g.evidence.event(record.Decision, &r.Call)
	e.Phase = f.Phase.String()
	if e.Where = r.Changes; r.revealing != nil {
		e.Where = "weir_reveal"
	}
	e.Effect, e.Rule, e.Message = d.Effect.String(), d.Rule, d.Message
	seen := f.Session.Label
	encode = (*policy.Facts).Encode
	if g.contents.Destinations && g.contents.keepsDestinations(r, f) {
		encode = (*policy.Facts).EncodeDestinations
	}
	e.Label, e.Evidence = &seen, recordedEvidence(in.evidence)
	for _, m := range d.Matched {
		e.Matched = append(e.Matched, m.Rule)
	}
	g.contents.describe(e, r, f.Phase, in.answer)
	e.Content.Detection = in.detection
	return e, encode
}

// recordedEvidence returns the evidence as events have it, within their bounds.
func recordedEvidence(all []annotation.Evidence) (out []record.Evidence) {
	for _, e := range all[:min(len(all), record.MaxEvidence)] {
		ref := e.Ref
		if len(ref) > record.MaxRef {
			ref = ""
		}
		out = append(out, record.Evidence{Type: e.Type, Digest: e.Digest, Canonicalization: e.Canonicalization, Ref: ref})
	}
	return out
}

// bar records the denial of a call on which no policy decides.
func (g *decider) bar(ctx context.Context, r *request, f *policy.Facts, v *ruling) error {
	e := g.evidence.event(record.Decision, &r.Call)
	e.Phase, e.Effect, e.Rule, e.Message = f.Phase.String(), v.effect.String(), v.rule, v.message
	seen := f.Session.Label
	e.Label = &seen
	g.contents.describe(e, r, f.Phase, nil)
	if err := g.evidence.state.Record(ctx, e); err != nil {
		return fmt.Errorf("recording the decision: %w", err)
	}
	return nil
}

// barrier returns the denial of a call that policy and mode cannot lift: because it is held, or because it would touch
// a thing of Weir's own. It returns nil for any other call.
func (g *decider) barrier(r *request) *ruling {
	if r.Held != "" {
		return &ruling{rule: RuleHeld, message: r.Held}
	}
	if r.spent != "" {
		return &ruling{rule: RuleLooked, message: r.spent}
	}
	if own := g.machine.own(r); own != "" {
		return &ruling{rule: RuleOwnFiles, message: "it would touch " + own +
			": nothing that goes through weir may touch what is weir's own"}
	}
	return nil
}

// unreviewed says that nobody has reviewed definitions of servers, if nothing else makes the agent session untrusted
// and the request would go on otherwise: one review then ends such requests.
func (g *decider) unreviewed(by *rules, in decisionInput) string {
	seen := in.facts.Session.Label
	if in.facts.Response != nil || !seen.Untrusted {
		return ""
	}
	servers := onlyDefinitions(seen, g.origins.of(in.request.Session))
	if len(servers) == 0 {
		return ""
	}
	reviewed := *in.facts
	reviewed.Session.Label.Untrusted = false
	if by.decide(&reviewed, in.request.reading.forms).Effect != policy.Allow {
		return ""
	}
	return reviewHint(servers, g.review)
}
