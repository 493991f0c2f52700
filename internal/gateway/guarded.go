package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/policy"
)

// An exchange is one request of an agent on its way through the guard.
type exchange struct {
	f     *front
	m     *rpc.Message
	who   *caller
	route *route

	warning *guard.Refusal // what the agent is told beside the answer; nil if nothing
}

// guarded takes a request that carries data to its server and the answer back, as far as the guard lets it.
func (f *front) guarded(ctx context.Context, m *rpc.Message, who *caller, set *links) *rpc.Message {
	resumed, m, rerr := f.resume(ctx, m)
	if rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	r, rerr := f.route(ctx, m, set)
	if rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	x := &exchange{f: f, m: m, who: who, route: r}
	if resumed != nil && resumed.said != approve.Accepted {
		q := resumed.question
		return x.refused(guard.Refusal{Effect: policy.Ask, When: q.Phase, Rule: q.Rule, Message: notAccepted(resumed.said, q)})
	}
	if resumed != nil && resumed.held != nil {
		return x.handOn(ctx, *resumed.held)
	}
	v := f.g.guard.Before(ctx, r.call)
	if v.Effect == policy.Ask {
		if refusal := x.ask(ctx, v.Question, nil); refusal != nil {
			return refusal
		}
		v = f.g.guard.Before(ctx, r.call)
	}
	if !v.Allowed() {
		return x.refused(afterAnswer(v.Refusal()))
	}
	x.warn(v.Refusal())
	params, err := r.params(v.Params)
	if err != nil {
		return internalError(m, err)
	}
	answer, err := r.link.call(ctx, f, m, params)
	if err != nil {
		return internalError(m, err)
	}
	return x.handOn(ctx, guard.Answer{Result: answer.Result, Error: answer.Error})
}

// handOn gives the agent an answer, as far as the guard lets it.
func (x *exchange) handOn(ctx context.Context, a guard.Answer) *rpc.Message {
	o := x.f.g.guard.After(ctx, x.route.call, a)
	if o.Effect == policy.Ask {
		if refusal := x.ask(ctx, o.Question, &a); refusal != nil {
			return refusal
		}
		o = x.f.g.guard.After(ctx, x.route.call, a)
	}
	switch {
	case !o.Allowed():
		return x.refused(afterAnswer(o.Refusal()))
	case o.Answer.Error != nil:
		return &rpc.Message{ID: x.m.ID, Error: o.Answer.Error}
	}
	result := forHost(o.Answer.Result, x.who, x.m.Method == "resources/read" && !needsInput(o.Answer.Result))
	if x.warn(o.Refusal()); x.warning != nil {
		var err error
		if result, err = guard.WithVerdict(result, *x.warning); err != nil {
			return internalError(x.m, err)
		}
	}
	return rpc.Reply(x.m.ID, result)
}

// needsInput reports whether a result is not one yet: its server wants to know something first, and then to be asked
// again (2026-07-28, Multi Round-Trip Requests).
func needsInput(result json.RawMessage) bool {
	raw, _ := rawjson.Get(result, "resultType")
	kind, _ := rawjson.String(raw)
	return kind == "input_required"
}

// warn keeps what the agent is told beside the answer.
func (x *exchange) warn(r guard.Refusal) {
	if r.Effect == policy.Warn {
		x.warning = &r
	}
}

// afterAnswer explains a question that is still open after a person accepted: something it was bound to has changed.
func afterAnswer(r guard.Refusal) guard.Refusal {
	if r.Effect == policy.Ask {
		r.Message = "the session changed while a person was asked, so the answer no longer fits; call again: " + r.Message
	}
	return r
}

// params returns what to send, with the name by which the server knows the tool or prompt.
func (r *route) params(params json.RawMessage) (json.RawMessage, error) {
	if r.rename == "" {
		return params, nil
	}
	path := []string{"name"}
	if r.call.Method == "completion/complete" {
		path = []string{"ref", "name"}
	}
	out, err := rawjson.Set(params, rawjson.Quote(r.rename), path...)
	if err != nil {
		return nil, fmt.Errorf("renaming %s: %w", r.call.Method, err)
	}
	return out, nil
}
