package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/store"
)

// Servers ask as well: of a host of an older revision in requests of their own, of one of 2026-07-28 in results. Both ways
// the guard sees the question before the host does, and the answer before the server does.

var errWhose = hosterror.New("several agent sessions could be meant, and nothing says which")

// whose finds the call that a server's question to a host of an older revision belongs to: the newest call in flight, as long as
// all of them are of one agent session, else the connection.
func (f *front) whose(set *backend.Set, l *backend.Conn) (*backend.Request, *guard.Call, error) {
	found := l.Carrying()
	for _, other := range found {
		if other.Call.Session != found[0].Call.Session {
			return nil, nil, errWhose
		}
	}
	if len(found) > 0 {
		newest := found[len(found)-1]
		return newest, newest.Call, nil
	}
	ref, ok := f.agents.Only()
	if !ok {
		return nil, nil, errWhose
	}
	return nil, &guard.Call{
		ID: rand.Text(), Session: ref, Server: l.Name(), Trust: l.Trust(), Effective: contract.Pessimistic(),
		Context: set.Shown(),
	}, nil
}

// inquired puts a question of a server to a host of an older revision, as far as the guard lets it, and returns the
// host's answer, as far as the guard lets that. The reason of a refusal is for the operator and not for the server.
func (f *front) inquired(ctx context.Context, set *backend.Set, l *backend.Conn, m *rpc.Message) *rpc.Message {
	req, call, err := f.whose(set, l)
	if err != nil {
		return rpc.ReplyError(m.ID, rpc.Errorf(rpc.MethodNotFound, "%s: %v", m.Method, err))
	}
	if req != nil {
		defer req.Wait()()
		ctx = req.Related(ctx)
	}
	who, rerr := f.shaken(m.Method)
	if rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	x := &exchange{f: f, sent: m, m: m, who: who, route: &route{set: set, link: l, call: call}}
	answer, refusal := x.inquire(ctx, m.Method, m.Params)
	if refusal != nil {
		f.g.log.Warn("refused a request of a server", "server", l.Name(), "method", m.Method, "error", refusal.Failure())
		return rpc.ReplyError(m.ID, rpc.Errorf(guard.CodeRefused, "blocked by weir: %s may not be asked or answered here", m.Method))
	}
	answer.ID = m.ID
	return answer
}

// inquire shows the guard a question of the server, asks a host of an older revision, and shows the guard the answer. It
// returns the host's answer, a result or an error of its own, or the message to answer the request with instead.
func (x *exchange) inquire(ctx context.Context, method string, params json.RawMessage) (answer, refusal *rpc.Message) {
	inquiry := x.route.call.Inquiry(method, params)
	if params, refusal = x.admitInquiry(ctx, inquiry, &approve.Held{}); refusal != nil {
		return nil, refusal
	}
	if method == guard.Elicitation {
		named, err := approve.Attribute(x.route.call.Server, params)
		if err != nil {
			return nil, x.f.internalError(x.m, err)
		}
		params = named
	}
	answer, err := x.f.request(ctx, method, params)
	if err != nil {
		return nil, x.f.internalError(x.m, err)
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

// admitInquiry asks the guard, and if need be a person, whether the host may be asked, and returns the question's params as
// the host gets them. Whole is the answer of the server that the question is part of, which is held meanwhile.
func (x *exchange) admitInquiry(ctx context.Context, inquiry *guard.Call, whole *approve.Held) (json.RawMessage, *rpc.Message) {
	o, refusal := x.admit(ctx, inquiry, whole, func() guard.Outcome { return x.f.g.guard.Ask(ctx, inquiry) })
	if refusal != nil {
		return nil, refusal
	}
	x.redeemed = append(x.redeemed, o.Redeemed)
	if inquiry.Params == nil {
		return nil, nil
	}
	return o.Answer.Result, nil
}

// screen asks the guard, and if need be a person, whether the agent may see an answer of the server, with every question
// in it.
func (x *exchange) screen(ctx context.Context, a guard.Answer) (guard.Outcome, *rpc.Message) {
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
		x.f.g.book.GoesOn(x.admission.Onward(), stateLife)
		if !x.who.Modern() {
			return o, nil // its questions are put one by one
		}
	}
	if !x.inquires {
		return o, nil
	}
	for _, q := range guard.InputRequests(o.Answer.Result) {
		if _, refusal = x.admitInquiry(ctx, x.route.call.Inquiry(q.Method, q.Params), held); refusal != nil {
			return o, refusal
		}
	}
	return o, nil
}

// attributed returns a result in which each elicitation names the server that asks (2026-07-28, Multi Round-Trip Requests).
func (x *exchange) attributed(result json.RawMessage) (json.RawMessage, error) {
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
func (x *exchange) abandon(a guard.Answer, refusal *rpc.Message) {
	raw, _ := rawjson.Get(a.Result, "requestState")
	sealed, _ := rawjson.String(raw)
	state, err := x.f.g.sealer.open(x.binding(), sealed)
	if err != nil || state.Kind != stateHeld || protocol.NeedsInput(refusal.Result) {
		return
	}
	x.state = &state
	x.letGo()
}

// permitAnswers asks the guard, and if need be a person, whether the answers with which the host came back may go to the
// server. It returns the message to answer the host with if not.
func (x *exchange) permitAnswers(ctx context.Context) *rpc.Message {
	for _, r := range guard.InputResponses(x.m.Params) {
		v, refusal := x.permit(ctx, x.route.call.Inquiry(r.Method, nil).Reply(r.Answer))
		if refusal != nil {
			return refusal
		}
		if string(v.Params) == string(r.Answer) {
			continue
		}
		params, err := rawjson.Set(x.m.Params, v.Params, "inputResponses", r.Name)
		if err != nil {
			return x.f.internalError(x.m, err)
		}
		plain := *x.m
		plain.Params = params
		x.m, x.route.call.Params = &plain, params
	}
	return nil
}

// before asks the guard whether something may go to the server.
func (x *exchange) before(ctx context.Context, call *guard.Call) guard.Verdict {
	if err := x.f.g.holdEnded(ctx, call); err != nil {
		return x.f.g.logged(guard.Denied(err))
	}
	return x.f.g.logged(x.f.decide(ctx, x.route.set, call))
}

// decide asks the guard about a call, with all that the agent was shown until now: a message may have come since the call was routed.
func (f *front) decide(ctx context.Context, set *backend.Set, call *guard.Call) guard.Verdict {
	shown, err := f.shown(ctx, set, call)
	if err != nil {
		return guard.Denied(err)
	}
	call.Context = shown
	return f.g.guard.Before(ctx, call)
}

// shown returns the label of all that the agent of a call was shown outside of its session: definitions and messages of servers, and answers to
// requests that name no session.
func (f *front) shown(ctx context.Context, set *backend.Set, call *guard.Call) (label.Label, error) {
	shown := set.Shown()
	key, err := f.agents.Beside(call.Session.Key)
	if err != nil || key == "" {
		return shown, err
	}
	beside, err := f.g.opts.State.Sessions().Snapshot(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return shown, nil
	}
	return label.Join(shown, beside.Label), err
}

// after asks the guard whether the agent or the host may see an answer or a question of a server in a call.
func (x *exchange) after(ctx context.Context, call *guard.Call, decide func() guard.Outcome) guard.Outcome {
	o := decide()
	if o.Allowed() {
		if err := x.follow(ctx, call, o.Label); err != nil {
			o = guard.Withheld(err)
		}
	}
	if o.Err != nil {
		x.f.g.log.Log(ctx, severity(o.Err), "deciding on an answer", "error", o.Err)
	}
	return o
}

// follow raises the session that a person has begun while a call was under way: the conversation reads the answer and goes on in that.
func (x *exchange) follow(ctx context.Context, call *guard.Call, l label.Label) error {
	ref, ok, err := x.f.agents.Next(call.Session)
	if err != nil || !ok {
		return err
	}
	next := *call
	next.Session = ref
	return x.f.g.guard.Told(ctx, &next, l)
}

// logged returns a verdict, and logs the error that it is for.
func (g *Gateway) logged(v guard.Verdict) guard.Verdict {
	if v.Err != nil {
		g.log.Log(context.Background(), severity(v.Err), "deciding on a call", "error", v.Err)
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
func (x *exchange) permit(ctx context.Context, call *guard.Call) (guard.Verdict, *rpc.Message) {
	return x.permitted(ctx, call, x.before(ctx, call))
}

// permitted is permit after the guard has decided.
func (x *exchange) permitted(ctx context.Context, call *guard.Call, v guard.Verdict) (guard.Verdict, *rpc.Message) {
	if v.Effect == policy.Ask {
		if refusal := x.ask(ctx, v.Question, nil); refusal != nil {
			return v, refusal
		}
		v = x.before(ctx, call)
	}
	if !v.Allowed() {
		x.letGo()
		return v, x.refused(afterAnswer(v.Refusal()))
	}
	x.redeemed = append(x.redeemed, v.Redeemed)
	x.warn(v.Refusal())
	return v, nil
}

// admit asks the guard, and if need be a person, whether the agent or the host may see a part of a server's answer in a call.
// The whole answer is held meanwhile. It returns the message to answer the host with if not.
func (x *exchange) admit(
	ctx context.Context, call *guard.Call, whole *approve.Held, decide func() guard.Outcome,
) (guard.Outcome, *rpc.Message) {
	o := x.after(ctx, call, decide)
	if o.Effect == policy.Ask {
		if refusal := x.ask(ctx, o.Question, whole); refusal != nil {
			return o, refusal
		}
		o = x.after(ctx, call, decide)
	}
	if !o.Allowed() {
		return o, x.refused(afterAnswer(o.Refusal()))
	}
	x.warn(o.Refusal())
	return o, nil
}
