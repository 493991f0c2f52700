package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/policy"
)

const (
	// statePrefix begins the requestState of our own questions in 2026-07-28. What follows is the unguessable id of an
	// open question: it is authentic because it is found, it holds nothing, and it ends with the question.
	statePrefix = "weir1."
	// inputID names our question among the inputRequests of a result.
	inputID = "dev.weir/approval"
)

// elicitation is the form that asks a person. It has no fields: to accept is to allow. The same members ask in both eras
// (2025-11-25, Elicitation; 2026-07-28, Multi Round-Trip Requests).
func elicitation(q *guard.Question) (json.RawMessage, error) {
	return json.Marshal(map[string]any{
		"mode":            "form",
		"message":         approve.Text(q),
		"requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}},
	})
}

// ask puts a question to the person at the host. It returns nil if the person accepted; else what to answer the
// request with: a refusal, or in 2026-07-28 the question itself, which the host answers by sending the request again. An answer
// of the server that the question is about is held until then.
func (x *exchange) ask(ctx context.Context, q *guard.Question, held *guard.Answer) *rpc.Message {
	refuse := func(message string) *rpc.Message {
		return x.refused(guard.Refusal{Effect: policy.Ask, When: q.Phase, Rule: q.Rule, Message: message})
	}
	if !x.who.canElicit() || (!x.who.modern() && x.f.takesNoRequests()) {
		return refuse(q.Message + "; a person has to accept this, and this host cannot ask one (it has no elicitation)")
	}
	params, err := elicitation(q)
	if err != nil {
		return internalError(x.m, err)
	}
	book := x.f.g.book
	p, err := book.Open(ctx, q, held)
	if err != nil {
		return refuse(q.Message + "; a person has to accept this, and cannot be asked: " + err.Error())
	}
	if x.who.modern() {
		for _, binding := range x.redeemed {
			book.Restore(binding, p.Expires) // the host sends all of it again
		}
		return x.inputRequired(p, params, held == nil)
	}
	ctx, cancel := context.WithDeadline(ctx, p.Expires)
	defer cancel()
	answer, err := x.f.request(ctx, "elicitation/create", params)
	said := approve.Cancelled
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		said = approve.Expired
	case err == nil && answer.Error == nil:
		said = actionOf(answer.Result)
	}
	if err := book.Answer(context.WithoutCancel(ctx), p.ID, q.Session.Principal, said); err != nil {
		return refuse(q.Message + "; the answer does not count: " + err.Error())
	}
	if said != approve.Accepted {
		return refuse(notAccepted(said, q))
	}
	return nil
}

func notAccepted(said approve.Answer, q *guard.Question) string {
	return "a person was asked and did not accept (" + string(said) + "): " + q.Message
}

// inputRequired is the result by which 2026-07-28 asks a person. What the host has answered to a server's question comes
// back with the answer to ours, if the request has still to be sent.
func (x *exchange) inputRequired(p *approve.Pending, params json.RawMessage, unsent bool) *rpc.Message {
	state := statePrefix + p.ID
	if unsent {
		more, err := x.carry()
		if err != nil {
			return internalError(x.m, err)
		}
		state += more
	}
	result, err := json.Marshal(map[string]any{
		"resultType": "input_required",
		"inputRequests": map[string]any{
			inputID: map[string]any{"method": "elicitation/create", "params": params},
		},
		"requestState": state,
	})
	if err != nil {
		return internalError(x.m, err)
	}
	return rpc.Reply(x.m.ID, result)
}

// actionOf reads what the person did. Anything but a clear accept is no.
func actionOf(response json.RawMessage) approve.Answer {
	raw, _ := rawjson.Get(response, "action")
	switch action, _ := rawjson.String(raw); action {
	case "accept":
		return approve.Accepted
	case "decline":
		return approve.Declined
	}
	return approve.Cancelled
}

// A resumption is a request that comes back with the answer to our question.
type resumption struct {
	question *guard.Question
	said     approve.Answer
	held     *guard.Answer // the server's answer that the question was about
}

// resume takes the answer to our own question out of a request that carries one, and returns the request as it was
// before. It returns nil for any other request.
func (f *front) resume(ctx context.Context, m *rpc.Message) (*resumption, *rpc.Message, *rpc.Error) {
	raw, ok := rawjson.Get(m.Params, "requestState")
	if !ok {
		return nil, m, nil
	}
	state, _ := rawjson.String(raw)
	id, ours := strings.CutPrefix(state, statePrefix)
	if !ours {
		return nil, m, nil
	}
	id, carried, _ := strings.Cut(id, ".")
	principal := f.host.principal
	p, err := f.g.book.Find(id, principal)
	if err != nil {
		return nil, m, rpc.Errorf(rpc.InvalidParams, "params.requestState: %v; it may have expired: call again without it", err)
	}
	response, _ := rawjson.Get(m.Params, "inputResponses", inputID)
	said := actionOf(response)
	if err := f.g.book.Answer(ctx, id, principal, said); err != nil {
		return nil, m, rpc.Errorf(rpc.InvalidParams, "params.requestState: %v", err)
	}
	plain := *m
	plain.Params = rawjson.Delete(rawjson.Delete(m.Params, "requestState"), "inputResponses")
	if rerr := f.carried(&plain, carried); rerr != nil {
		return nil, m, rerr
	}
	r := &resumption{question: p.Question, said: said, held: p.Held}
	if r.held != nil && !p.Question.Asks(plain.Method, plain.Params) {
		return nil, m, rpc.Errorf(rpc.InvalidParams, "params.requestState belongs to another request")
	}
	return r, &plain, nil
}
