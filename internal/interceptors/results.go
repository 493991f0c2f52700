package interceptors

import (
	"context"
	"errors"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/interceptor"
	"github.com/weir-mcp/weir/internal/gateway/asked"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/session"
)

// observe labels a result, unless that was done before, and decides on it.
func (p *desk) observe(ctx context.Context, in *interceptor.Invocation) (guard.Outcome, error) {
	s, err := p.serverNow(ctx, in)
	if err != nil {
		return guard.Outcome{}, err
	}
	ref, err := p.session(p.principal, in)
	if err != nil {
		return guard.Outcome{}, err
	}
	of := p.calls.find(in.Context, ref, s.Name, in.Event)
	if o, ok := p.calls.decided(of, in.Payload); ok {
		return o, nil
	}
	o, err := p.observeAs(ctx, ref, s, in, of)
	if err != nil {
		return o, err
	}
	p.calls.decide(in.Context, of, in.Payload, o)
	for _, m := range of {
		if m.call != nil && passes(o.Effect) {
			p.asked.Note(&asked.Call{Session: ref, Server: s.Name, Method: in.Event, Params: m.call.Params}, in.Payload)
		}
	}
	return o, err
}

// observeAs decides on a result as on one of each call that it may be of. The label of each adds to that of those
// before, and the strictest decision counts.
func (p *desk) observeAs(
	ctx context.Context, ref session.Ref, s *Server, in *interceptor.Invocation, of []*made,
) (out guard.Outcome, err error) {
	var calls []*guard.Call
	unknown := false
	for _, m := range of {
		if m.call == nil {
			unknown = true
			continue
		}
		c := *m.call
		c.Trust = min(c.Trust, s.Trust)
		if len(of) > 1 && c.Trust == contract.Trusted { // the label of another call is no statement of the server's
			c.Trust = contract.Known
		}
		calls = append(calls, &c)
	}
	if unknown {
		c, err := p.unknownCall(ctx, ref, s, in.Event)
		if err != nil {
			return out, err
		}
		calls = append(calls, c)
	}
	if err := bare(in); err != nil { // the invoker may hand it on all the same
		return out, errors.Join(err, p.presumeWorst(ctx, calls[0]))
	}
	result := in.Payload
	for i, c := range calls {
		o := p.Guard.Observe(ctx, c, guard.Answer{Result: result})
		if passes(o.Effect) { // its questions are shown to a person or a model, as results are
			asked := c.AdmitQuestions(in.Payload, func(q *guard.Call) guard.Outcome { return p.Guard.Ask(ctx, q) })
			if asked.Answer = o.Answer; !passes(asked.Effect) {
				o = asked
			}
		}
		if o.Err != nil {
			return guard.Outcome{}, p.failed("deciding on a result", errors.Join(o.Err, p.presumeWorst(ctx, c)))
		}
		if passes(o.Effect) {
			result = o.Answer.Result
		}
		if i == 0 || o.Effect < out.Effect {
			out = o
		}
	}
	if out.Answer = (guard.Answer{}); passes(out.Effect) {
		out.Answer.Result = result
	}
	return out, nil
}

// bare returns the failure of a payload that is no result of MCP alone: a label in a whole response would stand
// beside the result, where no host reads it.
func bare(in *interceptor.Invocation) error {
	if rawjson.Kind(in.Payload) != '{' {
		return bad("the payload is not an object")
	}
	for _, name := range [...]string{"jsonrpc", "result", "error"} {
		if _, whole := rawjson.Get(in.Payload, name); whole {
			return bad("the payload is a response: send its result alone")
		}
	}
	return checked(in.Event, "result", in.Payload)
}
