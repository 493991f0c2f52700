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

// Members of the form that asks a person, and what may be chosen in it.
const (
	choiceMember  = "allow"
	choiceOnce    = "once"
	choiceSession = "session" // for this agent session and this destination
)

// elicitation is the form that asks a person. Without a choice to make it has no fields: to accept is to allow once. The same
// members ask in both eras (2025-11-25, Elicitation; 2026-07-28, Multi Round-Trip Requests).
func elicitation(p *approve.Pending) (json.RawMessage, error) {
	properties := map[string]any{}
	if p.Grant != "" {
		properties[choiceMember] = map[string]any{
			"type": "string", "title": "How far", "enum": []string{choiceOnce, choiceSession}, "default": choiceOnce,
			"enumNames":   []string{"Only this call", "Calls to the same place, in this session"},
			"description": "Whether it goes for this call only, or for calls of this tool to the same destination in this session too",
		}
	}
	return json.Marshal(map[string]any{
		"mode":            "form",
		"message":         p.Prompt.Text(),
		"requestedSchema": map[string]any{"type": "object", "properties": properties},
	})
}

// ask puts a question to a person: the one at the host, or whoever answers it elsewhere first. It returns nil if the person
// accepted; else what to answer the request with: a refusal, or in 2026-07-28 the question itself, which the host answers by
// sending the request again. An answer of the server that the question is about is held until then. Where the host cannot
// ask, the question stays open, and the call is refused until it was accepted and is made again.
func (x *exchange) ask(ctx context.Context, q *guard.Question, held *guard.Answer) *rpc.Message {
	refuse := func(message string) *rpc.Message {
		return x.refused(guard.Refusal{Effect: policy.Ask, When: q.Phase, Rule: q.Rule, Message: message})
	}
	book := x.f.g.book
	p, err := book.Open(ctx, q, held)
	if err != nil {
		return refuse(q.Message + "; a person has to accept this, and cannot be asked: " + err.Error())
	}
	x.tellAsked(ctx, q)
	if !x.who.canElicit() || (!x.who.modern() && x.f.takesNoRequests()) {
		return refuse(q.Message + "; a person has to accept this, and this host cannot ask one (it has no elicitation): " +
			"the question waits in Weir, and the call can be made again once a person has accepted it there")
	}
	params, err := elicitation(p)
	if err != nil {
		return internalError(x.m, err)
	}
	if x.who.modern() {
		for _, binding := range x.redeemed {
			book.Restore(binding, p.Expires) // the host sends all of it again
		}
		return x.inputRequired(p, params, held == nil)
	}
	stop := func() {}
	if held == nil && !guard.IsInquiry(q.Method) {
		stop = x.waits(ctx)
	}
	said, err := x.askHost(ctx, p, params)
	stop()
	switch {
	case err != nil:
		return refuse(q.Message + "; the answer does not count: " + err.Error())
	case !said.Yes():
		return refuse(notAccepted(said, q.Message))
	}
	return nil
}

var errElsewhere = errors.New("the question was answered elsewhere")

// askHost asks the person at a host of an older revision, until somebody has answered.
func (x *exchange) askHost(ctx context.Context, p *approve.Pending, params json.RawMessage) (approve.Answer, error) {
	book := x.f.g.book
	within, cancel := context.WithDeadline(ctx, p.Expires)
	asking, stop := context.WithCancelCause(within)
	elsewhere := make(chan approve.Answer, 1)
	go func() {
		defer close(elsewhere)
		if said, err := book.Await(asking, p.ID); err == nil {
			elsewhere <- said
			stop(errElsewhere)
		}
	}()
	answer, err := x.f.request(asking, "elicitation/create", params)
	said := approve.Cancelled
	switch {
	case err == nil && answer.Error == nil:
		said = answerOf(answer.Result)
	case err != nil && errors.Is(within.Err(), context.DeadlineExceeded):
		said = approve.Expired
	}
	first := errors.Is(context.Cause(asking), errElsewhere)
	stop(nil)
	cancel()
	other, ok := <-elsewhere
	if err != nil && first && ok {
		book.Close(p)
		return other, nil
	}
	ctx = context.WithoutCancel(ctx)
	err = book.Answer(ctx, approve.Reply{ID: p.ID, Principal: p.Principal, Answer: said, Via: "host"})
	book.Close(p)
	if errors.Is(err, approve.ErrNoQuestion) && (!said.Yes() || book.Stands(ctx, p.ID)) {
		err = nil // no is no, whoever said it first; and yes was said already
	}
	return said, err
}

func notAccepted(said approve.Answer, message string) string {
	return "a person was asked and did not accept (" + string(said) + "): " + message
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

// answerOf reads what the person did. Anything but a clear accept is no.
func answerOf(response json.RawMessage) approve.Answer {
	raw, _ := rawjson.Get(response, "action")
	switch action, _ := rawjson.String(raw); action {
	case "accept":
		raw, chosen := rawjson.Get(response, "content", choiceMember)
		choice, _ := rawjson.String(raw)
		switch {
		case !chosen || choice == choiceOnce:
			return approve.Accepted
		case choice == choiceSession:
			return approve.Granted
		}
		return approve.Declined
	case "decline":
		return approve.Declined
	}
	return approve.Cancelled
}

// A resumption is a request that comes back with the answer to our question.
type resumption struct {
	asked *approve.Pending
	said  approve.Answer
}

// held returns the server's answer that the question was about; nil before the call.
func (r *resumption) held() *guard.Answer { return r.asked.Held }

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
	response, _ := rawjson.Get(m.Params, "inputResponses", inputID)
	r, err := f.answered(ctx, id, answerOf(response))
	if err != nil {
		return nil, m, rpc.Errorf(rpc.InvalidParams, "params.requestState: %v; it may have expired: call again without it", err)
	}
	plain := *m
	plain.Params = rawjson.Delete(rawjson.Delete(m.Params, "requestState"), "inputResponses")
	if rerr := f.carried(&plain, carried); rerr != nil {
		return nil, m, rerr
	}
	if r.held() != nil && !r.asked.Question.Asks(plain.Method, plain.Params) {
		return nil, m, rpc.Errorf(rpc.InvalidParams, "params.requestState belongs to another request")
	}
	return r, &plain, nil
}

// answered closes the question with what the person at the host said.
func (f *front) answered(ctx context.Context, id string, said approve.Answer) (*resumption, error) {
	book, principal := f.g.book, f.host.principal
	p, err := book.Find(ctx, id, principal)
	if err != nil {
		return nil, err
	}
	err = book.Answer(ctx, approve.Reply{ID: id, Principal: principal, Answer: said, Via: "host"})
	if errors.Is(err, approve.ErrNoQuestion) && (!said.Yes() || book.Stands(ctx, id)) {
		err = nil // no is no, whoever said it first; and yes was said already
	}
	if err != nil {
		return nil, err
	}
	book.Close(p)
	return &resumption{p, said}, nil
}
