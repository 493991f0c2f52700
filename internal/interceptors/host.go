package interceptors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/interceptor"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/gateway/asked"
	"github.com/weir-mcp/weir/session"
)

// events are the events that Weir decides on.
var events = []string{"tools/call", "resources/read", "prompts/get"}

// argued are those of them whose requests have arguments that can be replaced.
var argued = []string{"tools/call", "prompts/get"}

// Host returns the interceptors for a principal.
func (d *Decider) Host(principal string) (*interceptor.Host, error) {
	p := &desk{d, principal}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{"server"}, "additionalProperties": false,
		"properties": map[string]any{"server": map[string]any{"type": "string", "enum": d.names()}},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the schema of configurations: %w", err)
	}
	describe := func(name, text string, hooks ...interceptor.Hook) interceptor.Descriptor {
		return interceptor.Descriptor{Name: name, Version: d.Version, Description: text, Hooks: hooks, ConfigSchema: schema}
	}
	request := interceptor.Hook{Events: events, Phase: interceptor.Request}
	response := interceptor.Hook{Events: events, Phase: interceptor.Response}
	annotate := describe("weir-annotate", "adds the label of a result to it", response)
	annotate.Priority.Response = annotateAt
	all := []interceptor.Interceptor{
		{Descriptor: describe("weir-call", "decides on a call by policy", request), Validate: p.call},
		{Descriptor: describe("weir-result", "labels a result, and decides on it by policy", response), Validate: p.result},
		{Descriptor: annotate, Mutate: p.annotate},
	}
	if d.Redacts {
		redact := describe("weir-redact", "replaces secrets and other findings", interceptor.Hook{Events: argued, Phase: interceptor.Request}, response)
		redact.Priority = interceptor.Priority{Request: -redactAt, Response: redactAt}
		all = append(all, interceptor.Interceptor{Descriptor: redact, Mutate: p.redact})
	}
	return interceptor.NewHost(all...)
}

// Priorities, in the bands that the draft recommends: values are replaced early in requests and late in responses, and
// labels are those of results with all values in them.
const (
	annotateAt = 20_000
	redactAt   = 100_000
)

// call is weir-call.
func (p *desk) call(ctx context.Context, in *interceptor.Invocation) (interceptor.Verdict, error) {
	s, err := p.serverNow(ctx, in)
	if err != nil {
		return interceptor.Verdict{}, err
	}
	ref, err := p.session(p.principal, in)
	if err != nil {
		return interceptor.Verdict{}, err
	}
	out, c, err := p.decide(ctx, ref, s, in)
	p.calls.add(in.Context, ref, s.Name, in.Event, c) // the invoker may ignore a refusal, and an error
	return out, err
}

// decide decides on a call. The call is nil if its payload cannot be read.
func (p *desk) decide(ctx context.Context, ref session.Ref, s *Server, in *interceptor.Invocation) (interceptor.Verdict, *guard.Call, error) {
	sent, err := params(in)
	if err != nil {
		return interceptor.Verdict{}, nil, err
	}
	if err := p.asked.ComesBack(&asked.Call{Session: ref, Server: s.Name, Method: in.Event, Params: sent}); err != nil {
		return interceptor.Verdict{}, nil, bad("%s", err)
	}
	c, err := p.newCall(ctx, ref, s, in.Event, sent)
	if err != nil {
		return interceptor.Verdict{}, nil, err
	}
	decide := func(c *guard.Call) guard.Verdict { return p.Guard.Before(ctx, c) }
	replied, v := c.PermitReplies(decide) // which go with the call (2026-07-28, Multi Round-Trip Requests)
	if v.Allowed() && !bytes.Equal(replied, c.Params) {
		v = guard.Verdict{Message: "no server may be told the _meta of an answer in params.inputResponses; send it without"}
	}
	if v.Allowed() {
		v = decide(c)
	}
	if v.Allowed() {
		if err := v.Admission.Failed(ctx); err != nil { // the invoker may never show the result
			return interceptor.Verdict{}, c, p.failed("raising the agent session", err)
		}
		if untold := p.told.untold(ref.Principal, c.Params, v.Params); untold != "" {
			v = guard.Verdict{Message: untold}
		}
	}
	if v.Err != nil {
		return interceptor.Verdict{}, c, p.failed("deciding on a call", v.Err)
	}
	out := told(v.Refusal())
	if v.Question != nil {
		open, err := p.Questions.Open(ctx, v.Question, nil)
		if err != nil {
			return interceptor.Verdict{}, c, p.failed("entering an approval request", err)
		}
		out.Messages[0].Message += "; the user can approve it with: " + approve.Command(open.ID) + ", then send it again"
	}
	return out, c, nil
}

// result is weir-result.
func (p *desk) result(ctx context.Context, in *interceptor.Invocation) (interceptor.Verdict, error) {
	o, err := p.observe(ctx, in)
	if err != nil {
		return interceptor.Verdict{}, err
	}
	return told(o.Refusal()), nil
}

// annotate is weir-annotate. A result that policy withholds has no annotated form.
func (p *desk) annotate(ctx context.Context, in *interceptor.Invocation) (interceptor.Change, error) {
	o, err := p.observe(ctx, in)
	switch {
	case err != nil:
		return interceptor.Change{}, err
	case !passes(o.Effect):
		return interceptor.Change{}, errors.New("withheld by policy: " + o.Refusal().String())
	}
	return interceptor.Change{Payload: o.Answer.Result}, nil
}
