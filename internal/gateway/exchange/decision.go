package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// A decision is a request with the decisions of the guard on it, on the answer and on the questions of its server.
type decision struct {
	request
	asking   bool // whether the server's answer asks for input
	inquires bool // whether there are questions in it

	admission *guard.Admission // accepts the answer of the server; nil before the request may go
	outcome   *guard.Outcome   // of the answer as a whole; nil before that is allowed
}

// inquire shows the guard a question of the server, asks a host of an older revision, and shows the guard the answer. It
// returns the host's answer, a result or an error of its own, or the message to answer the request with instead.
func (x *decision) inquire(ctx context.Context, method string, params json.RawMessage) (answer, refusal *rpc.Message) {
	inquiry := x.route.call.Inquiry(method, params)
	o, refusal := x.admitInquiry(ctx, inquiry, &approve.Held{})
	if refusal != nil {
		return nil, refusal
	}
	if params != nil {
		params = o.Answer.Result
	}
	if method == guard.Elicitation {
		named, err := approve.Attribute(x.route.call.Server, params)
		if err != nil {
			return nil, x.f.InternalError(x.m, err)
		}
		params = named
	}
	answer, err := x.f.peer.Request(ctx, method, params)
	if err != nil {
		return nil, x.f.InternalError(x.m, err)
	}
	if answer.Error != nil {
		return answer, nil
	}
	v, refusal := x.permit(ctx, inquiry.Reply(answer.Result))
	if refusal != nil {
		return nil, refusal
	}
	return &rpc.Message{Result: v.Params}, nil
}

// admitInquiry asks the guard, and if need be a person, whether the host may be asked. Whole is the answer of the server that the
// question is part of, which is held meanwhile.
func (x *decision) admitInquiry(ctx context.Context, inquiry *guard.Call, whole *approve.Held) (guard.Outcome, *rpc.Message) {
	o, refusal := x.admit(ctx, inquiry, whole, func() guard.Outcome { return x.f.Engine.Guard.Ask(ctx, inquiry) })
	if refusal == nil {
		x.redeemed = append(x.redeemed, o.Redeemed)
	}
	return o, refusal
}

// screen asks the guard, and if need be a person, whether the agent may see an answer of the server, with every question
// in it.
func (x *decision) screen(ctx context.Context, a guard.Answer) (guard.Outcome, *rpc.Message) {
	held := &approve.Held{Admission: x.admission, Answer: a, Outcome: x.outcome}
	decide := func() guard.Outcome { return x.admission.After(ctx, a) }
	if held.Outcome != nil { // a person was asked about a question in the answer, and the host is back
		decide = func() guard.Outcome { return *held.Outcome }
	}
	o, refusal := x.admit(ctx, x.route.call, held, decide)
	if refusal != nil {
		return o, refusal
	}
	held.Outcome = &o
	if x.asking {
		x.f.Engine.Book.GoesOn(x.admission.Onward(), stateLife)
		if !x.who.Modern() {
			return o, nil // its questions are put one by one
		}
		for _, asked := range guard.InputRequests(o.Answer.Result) {
			if lacks := x.who.Lacks(asked.Method); lacks != nil {
				return o, rpc.ReplyError(x.m.ID, lacks)
			}
		}
	}
	if !x.inquires {
		return o, nil
	}
	x.route.call.AdmitQuestions(o.Answer.Result, func(inquiry *guard.Call) (admitted guard.Outcome) {
		admitted, refusal = x.admitInquiry(ctx, inquiry, held)
		return admitted
	})
	return o, refusal
}

// attributed returns a result in which each elicitation names the server that asks (2026-07-28, Multi Round-Trip Requests).
func (x *decision) attributed(result json.RawMessage) (json.RawMessage, error) {
	requests, _ := rawjson.Get(result, protocol.InputRequests)
	for name, request := range rawjson.Members(requests) {
		asked := guard.ReadInputRequest(request)
		if asked.Method != guard.Elicitation {
			continue
		}
		params, err := approve.Attribute(x.route.call.Server, asked.Params)
		if err == nil {
			result, err = rawjson.Set(result, params, protocol.InputRequests, name, "params")
		}
		if err != nil {
			return nil, err
		}
	}
	return result, nil
}

// abandon ends the call that a question of its server holds open, if the host is not asked.
func (x *decision) abandon(a guard.Answer, refusal *rpc.Message) {
	raw, _ := rawjson.Get(a.Result, "requestState")
	sealed, _ := rawjson.String(raw)
	state, err := x.f.Engine.sealer.open(x.binding(), sealed)
	if err != nil || state.Kind != stateHeld || protocol.NeedsInput(refusal.Result) {
		return
	}
	x.state = &state
	x.cancelSuspended()
}

// permitAnswers asks the guard, and if need be a person, whether the answers with which the host came back may go to the
// server. It returns the message to answer the host with if not.
func (x *decision) permitAnswers(ctx context.Context) *rpc.Message {
	var refusal *rpc.Message
	params, v := x.route.call.PermitReplies(func(reply *guard.Call) (v guard.Verdict) {
		v, refusal = x.permit(ctx, reply)
		return v
	})
	switch {
	case refusal != nil:
		return refusal
	case !v.Allowed():
		return x.denied(x.f.Engine.logged(v))
	}
	plain := *x.m
	plain.Params = params
	x.m, x.route.call.Params = &plain, params
	return nil
}

// holdEnded has the guard refuse the calls of an agent session in which nothing may happen any more, also if that comes
// while a call is decided.
func (g *Engine) holdEnded(ctx context.Context, call *guard.Call) error {
	ref, above := call.Session, call.Above
	return call.HoldBy(ctx, func(ctx context.Context) (string, error) { return g.heldSession(ctx, ref, above) })
}

// heldSession says why nothing may happen in an agent session that works for those above it; "" if it may.
func (g *Engine) heldSession(ctx context.Context, ref session.Ref, above []string) (string, error) {
	why, err := approve.HeldSession(ctx, g.Book, ref, conversation.KeyOf(ref.Key) == ref.Key)
	for _, key := range above {
		if err != nil || why != "" {
			break
		}
		var ended bool
		if ended, err = g.Book.HasEnded(ctx, session.Ref{Key: key, Principal: ref.Principal}); ended {
			why = "a person has ended the agent session for which this one works; nothing more happens in it"
		}
	}
	return why, err
}

// before asks the guard whether something may go to the server.
func (x *decision) before(ctx context.Context, call *guard.Call) guard.Verdict {
	if err := x.f.Engine.holdEnded(ctx, call); err != nil {
		return x.f.Engine.logged(guard.Denied(err))
	}
	return x.f.Engine.logged(decide(ctx, x.f, x.route.set, call))
}

// decide asks the guard about a call, with all that the agent was shown until now: a message may have come since the call was routed.
func decide(ctx context.Context, f *Host, set *backend.Set, call *guard.Call) guard.Verdict {
	shown, err := shown(ctx, f, set, call)
	if err != nil {
		return guard.Denied(err)
	}
	call.Context = shown
	return f.Engine.Guard.Before(ctx, call)
}

// shown returns the label of all that the agent of a call was shown outside of its session: definitions and messages of servers, and answers to
// requests that name no session.
func shown(ctx context.Context, f *Host, set *backend.Set, call *guard.Call) (label.Label, error) {
	shown, err := f.Engine.Guard.Hidden.Inherited(ctx, call.Session, call.Above)
	if err != nil {
		return shown, err
	}
	shown = label.Join(set.Shown(), shown)
	key, err := f.Agents.Beside(call.Session.Key)
	if err != nil || key == "" {
		return shown, err
	}
	beside, err := f.Engine.State.Sessions().Snapshot(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return shown, nil
	}
	return label.Join(shown, beside.Label), err
}

// after asks the guard whether the agent or the host may see an answer or a question of a server in a call.
func (x *decision) after(ctx context.Context, call *guard.Call, decide func() guard.Outcome) guard.Outcome {
	o := decide()
	if o.Allowed() && o.Effect != policy.Hide {
		if err := x.follow(ctx, call, o.Label); err != nil {
			o = guard.Withheld(err)
		}
	}
	if o.Err != nil {
		x.f.Engine.Log.Log(ctx, severity(o.Err), "deciding on an answer", "error", o.Err)
	}
	return o
}

// follow raises the session that a person has begun while a call was under way: the conversation reads the answer and goes on in that.
func (x *decision) follow(ctx context.Context, call *guard.Call, l label.Label) error {
	ref, ok, err := x.f.Agents.Next(call.Session)
	if err != nil || !ok {
		return err
	}
	next := *call
	next.Session = ref
	return x.f.Engine.Guard.Told(ctx, &next, l, nil)
}

// logged returns a verdict, and logs the error that it is for.
func (g *Engine) logged(v guard.Verdict) guard.Verdict {
	if v.Err != nil {
		g.Log.Log(context.Background(), severity(v.Err), "deciding on a call", "error", v.Err)
	}
	return v
}

// severity returns how loud an error is: one of a store that is not available has been told of once, and is one for each call.
func severity(err error) slog.Level {
	if errors.Is(err, store.ErrUnavailable) {
		return slog.LevelDebug
	}
	return slog.LevelError
}

// permit asks the guard, and if need be a person, whether something may go to the server. It returns the message to answer the
// host with if not.
func (x *decision) permit(ctx context.Context, call *guard.Call) (guard.Verdict, *rpc.Message) {
	ask, refusal := x.asker(ctx, nil)
	v := guard.Approved(func() guard.Verdict { return x.before(ctx, call) }, ask)
	if *refusal != nil {
		return v, *refusal
	}
	if !v.Allowed() {
		return v, x.denied(v)
	}
	x.redeemed = append(x.redeemed, v.Redeemed)
	x.warn(v.Refusal())
	return v, nil
}

// denied answers a request that may not go to the server.
func (x *decision) denied(v guard.Verdict) *rpc.Message {
	x.cancelSuspended()
	return x.refused(afterAnswer(v.Refusal()))
}

// asker returns the function that puts an approval request to a person, and the place for the message to answer the host with if
// nobody has accepted the request yet.
func (x *decision) asker(ctx context.Context, whole *approve.Held) (func(*guard.Question) bool, **rpc.Message) {
	var refusal *rpc.Message
	return func(q *guard.Question) bool {
		refusal = x.ask(ctx, q, whole)
		return refusal == nil
	}, &refusal
}

// admit asks the guard, and if need be a person, whether the agent or the host may see a part of a server's answer in a call.
// The whole answer is held meanwhile. It returns the message to answer the host with if not.
func (x *decision) admit(
	ctx context.Context, call *guard.Call, whole *approve.Held, decide func() guard.Outcome,
) (guard.Outcome, *rpc.Message) {
	ask, refusal := x.asker(ctx, whole)
	o := guard.Approved(func() guard.Outcome { return x.after(ctx, call, decide) }, ask)
	if *refusal != nil {
		return o, *refusal
	}
	if !o.Allowed() {
		return o, x.refused(afterAnswer(o.Refusal()))
	}
	x.warn(o.Refusal())
	return o, nil
}

// look finds out whether a server's answer asks for something. It may be large, so this is done once.
func (x *decision) look(m *rpc.Message) {
	x.asking, x.inquires = false, false
	see := func(name string, value []byte) bool {
		x.asking = x.asking || name == protocol.ResultType && protocol.IsInputRequired(value)
		x.inquires = x.inquires || name == protocol.InputRequests
		return true
	}
	if m.Inside == nil {
		rawjson.Select(m.Result, []string{protocol.ResultType, protocol.InputRequests}, see)
	}
	for _, in := range m.Inside {
		see(string(in.Name), in.Value)
	}
}

// outline returns [annotation.Outline] of a large result whose content holds no labels, as was seen when it came; nil of
// any other, and of one of which that is not known.
func outline(m *rpc.Message) json.RawMessage {
	if m.Inside == nil {
		return nil
	}
	var members [][]byte
	for _, in := range m.Inside {
		switch name := string(in.Name); {
		case name == "_meta", name == "isError":
			members = append(members, slices.Concat(rawjson.Quote(name), []byte{':'}, in.Value))
		case !in.Bare:
			return nil
		}
	}
	return slices.Concat([]byte{'{'}, bytes.Join(members, []byte{','}), []byte{'}'})
}

// afterAnswer explains a question that is still open after a person accepted: something it was bound to has changed.
func afterAnswer(r guard.Refusal) guard.Refusal {
	if r.Effect == policy.Ask {
		r.Message = "the session changed while a person was asked, so the answer no longer fits; call again: " + r.Message
	}
	return r
}
