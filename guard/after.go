package guard

import (
	"context"
	"encoding/json"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// An Answer is what a server returned: a result or a JSON-RPC error object, both as raw JSON without duplicate names.
type Answer struct {
	Result json.RawMessage
	Error  json.RawMessage

	// Own says that nobody else looks at Result any more once After has allowed it, nor at the memory behind its end up to its
	// capacity. Then the label can be written there, and a large result need not be copied.
	Own bool
}

// Raw returns the one that is set.
func (a Answer) Raw() json.RawMessage {
	if a.Error != nil {
		return a.Error
	}
	return a.Result
}

// An Outcome is what may happen to an answer.
type Outcome struct {
	Effect   policy.Effect // the zero value is Block: the agent may not see the answer
	Rule     string
	Message  string
	Answer   Answer      // what to hand on, a result of a call with its _meta.annotations; empty unless the agent may see it
	Label    label.Label // the label of the answer
	Question *Question   // set if Effect is Ask
	Redeemed string      // as in a Verdict
	Err      error       // as in a Verdict
}

// Allowed reports whether the agent may see the answer.
func (o Outcome) Allowed() bool { return o.Effect == policy.Allow || o.Effect == policy.Warn }

// After labels the answer to a call that Before allowed, decides whether the agent may see it, and, if so,
// raises the agent session by its label. For an [Call.Inquiry] the answer is the question's params: what a server asks
// enters the context of a person or a model just as what it returns. A withheld answer does not enter the agent's context, so it raises nothing.
func (g *Guard) After(ctx context.Context, c *Call, a Answer) Outcome {
	if (a.Result == nil) == (a.Error == nil) {
		return withheld(errNoAnswer)
	}
	c = g.located(c).forArguments()
	state, err := g.open(ctx, c)
	if err == nil {
		state.Label, err = g.raise(ctx, c, state.Label, c.Context)
	}
	if err != nil {
		return withheld(err)
	}
	// What the guard reads of a result, which may be large: one scan for all questions.
	said := json.RawMessage(annotation.Outline(a.Result))
	l, claim, defects := c.answerLabel(g.opts.Words.Reader, a, said)
	switch {
	case c.isSilent():
		l = label.Label{}
	case c.asked:
		l = label.Join(l, Said(c.Trust)) // a contract speaks of results, not of questions
	}
	facts := c.facts(policy.OnResult, state)
	lasting, err := g.read(ctx, c, facts.Resources)
	if err != nil {
		return withheld(err)
	}
	seen := g.detect(c, a)
	l = label.Join(label.Join(label.Join(l, lasting), c.strangersRun()), seen.label)
	for _, d := range defects {
		if err := g.Defect(ctx, c, d); err != nil {
			return withheld(err)
		}
	}
	facts.Response, facts.ResponseError = &l, a.Error != nil || isToolError(said)
	found := g.tracer.Trace(c.traced(), facts, false)
	v, err := g.settle(ctx, matter{c, facts, found, a.Raw(), claim.Evidence, seen.event})
	if err != nil {
		return withheld(err)
	}
	o := Outcome{Effect: v.Effect, Rule: v.Rule, Message: v.Message, Label: l, Question: v.Question, Redeemed: v.Redeemed}
	if !o.Allowed() {
		return o
	}
	g.expect(c, l)
	if _, err := g.raise(ctx, c, state.Label, l); err != nil {
		return withheld(err)
	}
	g.origins.add(c.Session, Origin{URI: c.URI(), Label: l.Taint()})
	g.indexResult(c, a, l)
	switch {
	case a.Error != nil:
		o.Answer = a
		return o
	case c.asked: // hosts know no label there
		o.Answer.Result = stripOwnMeta(a.Result)
		return o
	}
	if o.Answer.Result, err = g.labelled(c, a, said, l); err != nil {
		return withheld(err)
	}
	return o
}

// answerLabel joins what the contract says of the tool's answers with what the answer says of itself. What a trusted
// server says of one result narrows what it declared for all of them; what any other server says only adds. The result's
// _meta is in said. The claim is what the answer says of itself.
func (c *Call) answerLabel(reader annotation.Reader, a Answer, said json.RawMessage) (
	l label.Label, claim annotation.Claim, defects []annotation.Defect,
) {
	if data, ok := rawjson.Get(a.Error, "data"); ok && rawjson.Kind(data) == '{' { // a result that its server refused keeps its label there
		claim, defects = reader.ReadResult(annotation.Outline(data))
		claim.Stated = contract.Contract{}
	}
	if a.Error == nil {
		claim, defects = reader.ReadResult(said)
		defects = append(defects, c.violations(claim.Stated)...)
	}
	from := c.Effective
	if c.Trust == contract.Trusted && c.Violates == "" {
		from = narrowed(c, claim.Stated)
	}
	l = label.Join(label.Join(from.Label(), claim.Label), c.ruled(a.Result)).Normal()
	l.Attribution = l.Attribution.Union(label.SetOf(c.URI()))
	return l, claim, defects
}

// recorded returns the evidence as events have it, within their bounds.
func recorded(all []annotation.Evidence) (out []record.Evidence) {
	for _, e := range all[:min(len(all), record.MaxEvidence)] {
		ref := e.Ref
		if len(ref) > record.MaxRef {
			ref = ""
		}
		out = append(out, record.Evidence{Type: e.Type, Digest: e.Digest, Canonicalization: e.Canonicalization, Ref: ref})
	}
	return out
}

// narrowed replaces the possible sets of a trusted server's contract by what it says of this one result, as far as that
// stays inside what it declared and the operator does not speak of them.
func narrowed(c *Call, said contract.Contract) contract.Contract {
	from := c.Effective
	operator := c.Overlay.Static()
	if _, ok := operator.Sources.Known(); ok {
		said.Sources, said.OpenWorld = contract.Values[label.Source]{}, contract.Unknown
	}
	if _, ok := operator.Returns.Known(); ok {
		said.Returns = contract.Values[label.Class]{}
	}
	if _, ok := said.Sources.Known(); ok && said.Sources.Within(c.Declared.Sources) {
		from.Sources = said.Sources
	} else if _, declared := c.Declared.Sources.Known(); !declared && said.OpenWorld == contract.No {
		from.Sources = contract.Values[label.Source]{}
	}
	if _, ok := said.Returns.Known(); ok && said.Returns.Within(c.Declared.Returns) {
		from.Returns = said.Returns
	}
	return from
}

// violations reports what a result claims outside of what its tool declared.
func (c *Call) violations(said contract.Contract) (defects []annotation.Defect) {
	for _, member := range c.Declared.Bounds(said) {
		defects = append(defects, annotation.Defect{
			Where:  "_meta.annotations." + member,
			Reason: "the result is outside of what the tool declares",
		})
	}
	return defects
}
