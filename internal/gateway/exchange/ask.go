package exchange

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

const (
	// statePrefix begins the requestState of our own questions in 2026-07-28. The rest is the unguessable id of an
	// open question: it is authentic because it is found, it holds nothing, and it ends with the question.
	statePrefix = "weir1."
	// inputID names our question among the inputRequests of a result.
	inputID = "dev.weir/approval"
)

// Members of the form that asks a person, and its choices.
const (
	approveMember = "approve" // true or false
	codeMember    = "code"    // of the listing
	choiceMember  = "allow"
	choiceOnce    = "once"
	choiceSession = "session" // for this agent session and this destination
)

// elicitation is the form that asks a person. It has to be filled in, so that nobody approves with one key that sends a form off. The same
// members ask in both eras (2025-11-25, Elicitation; 2026-07-28, Multi Round-Trip Requests). It ends with the text about the agent session.
func elicitation(p *approve.Pending, about string) (json.RawMessage, error) {
	properties := map[string]any{approveMember: map[string]any{
		"type": "boolean", "title": "Approve", "description": "Without this, nothing is approved",
	}}
	required := []string{approveMember}
	if p.Grant != "" {
		properties[choiceMember] = map[string]any{
			"type": "string", "title": "How far", "enum": []string{choiceOnce, choiceSession}, "default": choiceOnce,
			"enumNames":   []string{"Only this call", "Calls to the same place, in this session"},
			"description": "Whether it goes for this call only, or for calls of this tool to the same destination in this session too",
		}
	}
	if p.Prompt.Unseen != "" {
		properties[codeMember] = map[string]any{
			"type": "string", "title": "Code",
			"description": "The code at the end of the full listing: weir approvals " + p.ID + ", or the console",
		}
		required = append(required, codeMember)
	}
	schema := map[string]any{"type": "object", "properties": properties, "required": required}
	message := p.Prompt.Text()
	if about != "" {
		message += "\n\n" + strings.ToUpper(about[:1]) + about[1:] + "."
	}
	return json.Marshal(map[string]any{"mode": "form", "message": message, "requestedSchema": schema})
}

// ask puts a question to a person: the one at the host, or whoever answers it elsewhere first. It returns nil if the person
// accepted; else the answer to the request: a refusal, or in 2026-07-28 the question itself, which the host answers by
// sending the request again. An answer of the server that the question is about is held until then. Where the host cannot
// ask, the question stays open, and the call is refused until it was accepted and is made again.
func (x *request) ask(ctx context.Context, q *guard.Question, held *approve.Held) *rpc.Message {
	refuse := func(message string) *rpc.Message {
		if q.Hint != "" {
			message += "; " + q.Hint
		}
		return x.refused(q.Refusal(message))
	}
	book := x.f.Engine.Book
	p, err := book.Open(ctx, q, held)
	if err != nil {
		return refuse(q.Message + "; a person has to accept this, and cannot be asked: " + hosterror.Text(err))
	}
	x.tellAsked(ctx, q)
	if why := x.cannotAsk(p.ID); why != "" {
		switch said := x.hold(ctx, p, held == nil && !guard.IsInquiry(q.Method)); {
		case said.Yes():
			return nil
		case said != "":
			return refuse(notAccepted(said, q.Message))
		}
		x.remedy = x.f.Engine.HostAnswers.remedy(p.ID)
		return refuse(q.Message + "; a person has to accept this, and " + why + ": " + x.remedy)
	}
	params, err := elicitation(p, x.conversation())
	if err != nil {
		return x.f.InternalError(x.m, err)
	}
	if x.who.Modern() {
		for _, binding := range x.redeemed {
			book.Restore(binding, p.Expires) // the host sends all of it again
		}
		return x.inputRequired(p, params, held == nil)
	}
	stop := func() {}
	if held == nil && !guard.IsInquiry(q.Method) {
		stop = x.waits(ctx, p)
	}
	said, err := x.askHost(ctx, p, params)
	stop()
	switch {
	case err != nil:
		return refuse(q.Message + "; the answer does not count: " + hosterror.Text(err))
	case !said.Yes():
		return refuse(notAccepted(said, q.Message))
	}
	return nil
}

// cannotAsk says why the host is not asked; "" if it is.
func (x *request) cannotAsk(id string) string {
	if why := mayNotAnswer(x.f, id); why != "" {
		return why
	}
	if !x.who.CanElicit() || (!x.who.Modern() && !x.f.peer.TakesRequests()) {
		return "this host cannot ask one (it has no elicitation)"
	}
	return ""
}

// hold waits a while for a person to answer a request elsewhere than in the host, so that the agent need not make the call again. It
// waits only where the host hears of that as progress: others would take the call for lost. It returns "" if nobody has answered.
func (x *request) hold(ctx context.Context, p *approve.Pending, unsent bool) approve.Answer {
	if x.f.Engine.HostAnswers.Hold <= 0 || !unsent || x.progressToken() == nil {
		return ""
	}
	if !x.f.Engine.holding.begin(p) {
		return ""
	}
	defer x.f.Engine.holding.end(p)
	until := time.Now().Add(x.f.Engine.HostAnswers.Hold)
	if p.Expires.Before(until) {
		until = p.Expires
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	defer x.waits(ctx, p)()
	said, err := x.f.Engine.Book.Await(ctx, p.ID)
	if err != nil {
		return ""
	}
	x.f.Engine.Book.Close(p)
	return said
}

var (
	errElsewhere = hosterror.New("the question was answered elsewhere")
	errNobody    = hosterror.New("the host answered faster than a person can read; it waits in Weir")
	errNotAsked  = hosterror.New("the host could not ask anybody; it waits in Weir")
	errNoChoice  = hosterror.New("the host sent the form back without a choice; it waits in Weir")
	errNotHere   = hosterror.New("this host may not accept it; it waits in Weir")
)

// mayNotAnswer says why answers of the host to an approval request do not count at all; "" if they may.
func mayNotAnswer(f *Host, id string) string {
	f.Engine.hastily.Lock()
	defer f.Engine.hastily.Unlock()
	_, hasty := f.Engine.hasty.Get(id)
	switch {
	case f.Engine.HostAnswers.None:
		return "hosts may not (approval.host)"
	case f.Agents.AgentOnly:
		return "this principal may not (it has not the role approver)"
	case hasty:
		return "this host has answered faster than a person can read"
	}
	return ""
}

// counts returns an error if an answer of the host does not count, which it gave within a time after the request. Hosts without anybody
// in front of them refuse at once, too; a host that does so answers no more for the same request.
func counts(f *Host, id string, said approve.Answer, within time.Duration) error {
	switch {
	case within < f.Engine.HostAnswers.Pace:
		f.Engine.hastily.Lock()
		defer f.Engine.hastily.Unlock()
		f.Engine.hasty.Set(id, true)
		return errNobody
	case said.Yes() && mayNotAnswer(f, id) != "":
		return errNotHere
	}
	return nil
}

// askHost asks the person at a host of an older revision, until a person has answered.
func (x *request) askHost(ctx context.Context, p *approve.Pending, params json.RawMessage) (approve.Answer, error) {
	book := x.f.Engine.Book
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
	began := time.Now()
	answer, err := x.f.peer.Request(asking, "elicitation/create", params)
	took := time.Since(began)
	said, code := approve.Cancelled, ""
	var doubt error
	switch {
	case err == nil && answer.Error == nil:
		said, code, doubt = answerOf(answer.Result)
		doubt = cmp.Or(counts(x.f, p.ID, said, took), doubt)
	case err == nil:
		doubt = errNotAsked
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
	if doubt != nil {
		return approve.Cancelled, doubt
	}
	ctx = context.WithoutCancel(ctx)
	err = book.Answer(ctx, approve.Reply{ID: p.ID, Principal: p.Principal, Answer: said, Code: code, Via: "host"})
	book.Close(p)
	if errors.Is(err, approve.ErrNoQuestion) && (!said.Yes() || book.Stands(ctx, p.ID)) {
		err = nil // no is no, whoever said it first; and yes was said already
	}
	return said, err
}

func notAccepted(said approve.Answer, message string) string {
	return "a person was asked and did not accept (" + string(said) + "): " + message
}

// inputRequired is the result by which 2026-07-28 asks a person. The host's answer to a server's question comes
// back with the answer to ours, if the request has still to be sent.
func (x *request) inputRequired(p *approve.Pending, params json.RawMessage, unsent bool) *rpc.Message {
	state := statePrefix + p.ID
	if unsent {
		more, err := x.carry()
		if err != nil {
			return x.f.InternalError(x.m, err)
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
		return x.f.InternalError(x.m, err)
	}
	return rpc.Reply(x.m.ID, result)
}

// answerOf reads the answer of a person out of the form, and the code of the listing. Anything but a clear yes is no; a form without
// a choice is an answer of nobody, and the error errNoChoice.
func answerOf(response json.RawMessage) (said approve.Answer, code string, err error) {
	raw, _ := rawjson.Get(response, "content", codeMember)
	code, _ = rawjson.String(raw)
	raw, _ = rawjson.Get(response, "action")
	switch action, _ := rawjson.String(raw); action {
	case "accept":
	case "decline":
		return approve.Declined, code, nil
	default:
		return approve.Cancelled, code, nil
	}
	raw, chosen := rawjson.Get(response, "content", approveMember)
	if !chosen {
		return approve.Cancelled, code, errNoChoice
	}
	yes, ok := rawjson.Bool(raw)
	raw, limited := rawjson.Get(response, "content", choiceMember)
	choice, _ := rawjson.String(raw)
	switch {
	case !ok || !yes:
		return approve.Declined, code, nil
	case !limited || choice == choiceOnce:
		return approve.Accepted, code, nil
	case choice == choiceSession:
		return approve.Granted, code, nil
	}
	return approve.Declined, code, nil
}

// A resumption is a request that comes back with the answer to our question.
type resumption struct {
	asked *approve.Pending
	said  approve.Answer
}

// held returns the server's answer that the question was about; nil before the call.
func (r *resumption) held() *approve.Held { return r.asked.Held }

// resume takes the answer to our own question out of a request that carries one, and returns the request as it was
// before. It returns nil for any other request.
func resume(ctx context.Context, f *Host, m *rpc.Message) (*resumption, *rpc.Message, *rpc.Error) {
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
	said, code, err := answerOf(response)
	if err != nil {
		return nil, m, rpc.Errorf(rpc.InvalidParams, "params.inputResponses: %s; fill it in, or call again without params.requestState",
			hosterror.Text(err))
	}
	r, err := closeQuestion(ctx, f, approve.Reply{ID: id, Principal: f.Agents.Principal, Answer: said, Code: code, Via: "host"})
	if err != nil {
		return nil, m, rpc.Errorf(rpc.InvalidParams, "params.requestState: %s; it may have expired: call again without it", hosterror.Text(err))
	}
	plain := *m
	plain.Params = rawjson.Delete(rawjson.Delete(m.Params, "requestState"), "inputResponses")
	if rerr := restore(f, &plain, carried); rerr != nil {
		return nil, m, rerr
	}
	if r.held() != nil && !r.asked.Question.Asks(plain.Method, plain.Params) {
		return nil, m, rpc.Errorf(rpc.InvalidParams, "params.requestState belongs to another request")
	}
	return r, &plain, nil
}

// closeQuestion closes the question with the answer of the person at the host.
func closeQuestion(ctx context.Context, f *Host, r approve.Reply) (*resumption, error) {
	book := f.Engine.Book
	p, err := book.Find(ctx, r.ID, r.Principal)
	if err != nil {
		return nil, err
	}
	if err := counts(f, p.ID, r.Answer, time.Since(book.Put(p))); err != nil {
		return nil, err
	}
	err = book.Answer(ctx, r)
	if errors.Is(err, approve.ErrUnseen) { // the request stays open, for an answer with its code
		r.Answer, err = approve.Declined, nil
	}
	if errors.Is(err, approve.ErrNoQuestion) && (!r.Answer.Yes() || book.Stands(ctx, r.ID)) {
		err = nil // no is no, whoever said it first; and yes was said already
	}
	if err != nil {
		return nil, err
	}
	book.Close(p)
	return &resumption{p, r.Answer}, nil
}
