package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// An exchange is one request of an agent on its way through the guard.
type exchange struct {
	f     *front
	sent  *rpc.Message // as the host sent it, but for our own question's answer
	m     *rpc.Message
	who   *protocol.Client
	route *route
	state *returnState // with which the host came back; nil if it did not

	modernServer bool // whether the server that answered speaks 2026-07-28
	asking       bool // whether its answer asks for input
	inquires     bool // whether there are questions in its answer
	ours         bool // whether the answer is Weir's own: a question that a server of an older revision asks in the middle
	reached      bool // whether the request went out to its server, as far as Weir knows

	admission *guard.Admission // accepts the answer of the server; nil before the request may go
	outcome   *guard.Outcome   // of the answer as a whole; nil before that is allowed

	warning  *guard.Refusal // for the agent, beside the answer; nil if there is none
	redeemed []string       // acceptances that were used up for a call that has not gone out yet
}

// guarded takes a request that carries data to its server and the answer back, as far as the guard lets it.
func (f *front) guarded(ctx context.Context, m *rpc.Message, who *protocol.Client, set *backend.Set) *rpc.Message {
	resumed, m, rerr := f.resume(ctx, m)
	if rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	x := &exchange{f: f, sent: m, m: m, who: who}
	if rerr := x.comeBack(); rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	if x.route, rerr = f.route(ctx, x.m, set); rerr == nil {
		rerr = x.sameServer()
	}
	if rerr == nil {
		rerr = x.fitsHeaders()
	}
	if rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	if err := x.f.g.holdEnded(ctx, x.route.call); err != nil {
		return f.internalError(m, err)
	}
	_, answers := rawjson.Get(x.m.Params, "inputResponses")
	x.route.call.Further = answers || x.state != nil
	if resumed != nil && !resumed.said.Yes() {
		return x.declined(resumed)
	}
	if resumed != nil && resumed.held() != nil {
		held := resumed.held()
		x.admission, x.outcome = held.Admission, held.Outcome
		x.look(&rpc.Message{Result: held.Answer.Result})
		return x.handOn(ctx, held.Answer)
	}
	if refusal := x.permitAnswers(ctx); refusal != nil {
		return refusal
	}
	return x.rounds(ctx)
}

// fitsHeaders checks the headers of the request against the arguments that they repeat. Over stdio there are none.
func (x *exchange) fitsHeaders() *rpc.Error {
	header := x.f.agents.Header
	if header == nil || !x.who.Modern() || x.route.tool == nil {
		return nil
	}
	return protocol.CheckHeaders(header, x.route.tool, x.route.call.Arguments)
}

// withHeaders has the headers sent that the tool asks for. Over stdio there are none.
func (x *exchange) withHeaders(ctx context.Context, conn *upstream.Conn, params json.RawMessage) context.Context {
	if x.route.tool == nil || !conn.Modern() {
		return ctx
	}
	header := protocol.HeadersFor(x.route.tool, params)
	if len(header) == 0 {
		return ctx
	}
	return upstream.WithHeader(ctx, header)
}

// holdEnded has the guard refuse the calls of an agent session after a person has ended it, or that the store does not know as the one that
// counts in its conversation: the note of that is a file of its own.
func (g *Gateway) holdEnded(ctx context.Context, call *guard.Call) error {
	ended, err := g.book.HasEnded(ctx, call.Session)
	if err == nil && ended && call.Held == "" {
		call.Held = "a person has ended this agent session; nothing more happens in it"
	}
	if err != nil || call.Held != "" {
		return err
	}
	counts, err := g.counts(ctx, call.Session)
	if err == nil && !counts {
		call.Held = "the store does not know this agent session as the one that counts in its conversation; begin a new one: weir session new"
	}
	return err
}

// counts reports whether a session is the one that a person has begun last in its conversation, or the first where nobody has.
func (g *Gateway) counts(ctx context.Context, ref session.Ref) (bool, error) {
	if past, err := g.book.IsPast(ctx, ref); err != nil || past {
		return false, err
	}
	if conversation.KeyOf(ref.Key) == ref.Key {
		return true, nil
	}
	return g.book.HasBegun(ctx, ref)
}

// declined answers a request that came back with a no.
func (x *exchange) declined(r *resumption) *rpc.Message {
	x.letGo()
	when := policy.OnCall
	if r.held() != nil {
		x.abandon(r.held().Answer, &rpc.Message{})
		when = policy.OnResult
	}
	return x.refused(guard.Refusal{Effect: policy.Ask, When: when, Rule: r.asked.Rule, Message: notAccepted(r.said, r.asked.Message)})
}

// rounds sends the request until its server answers without a question that a host of an older revision, which cannot come
// back with input, has to be asked.
func (x *exchange) rounds(ctx context.Context) *rpc.Message {
	answer, refusal := x.round(ctx)
	for round := 1; refusal == nil && !x.who.Modern() && x.asking; round++ {
		if round == maxRounds {
			return x.f.internalError(x.m, hosterror.At(x.route.call.Server, hosterror.New("it still asks for input after {} rounds", hosterror.Number(maxRounds))))
		}
		if refusal = x.fulfil(ctx, *answer, round-1); refusal == nil {
			answer, refusal = x.round(ctx)
		}
	}
	if refusal != nil {
		return refusal
	}
	return x.handOn(ctx, *answer)
}

// round asks the server, as far as the guard lets it. It returns the server's answer, or the message to answer the host with
// instead.
func (x *exchange) round(ctx context.Context) (*guard.Answer, *rpc.Message) {
	v, refusal := x.permitted(ctx, x.route.call, x.learned(ctx))
	if refusal != nil {
		return nil, refusal
	}
	x.admission, x.outcome = v.Admission, nil
	params, err := x.route.params(v.Params)
	if err != nil {
		return nil, x.f.internalError(x.m, err)
	}
	answer, err := x.send(ctx, params)
	x.redeemed = nil
	if err != nil {
		return nil, x.unanswered(ctx, err)
	}
	return x.received(ctx, answer)
}

// learned asks the server for the contract of its call, and then the guard whether it may.
func (x *exchange) learned(ctx context.Context) guard.Verdict {
	if err := x.f.g.learn(ctx, x.route); err != nil {
		return x.f.g.logged(guard.Denied(err))
	}
	return x.before(ctx, x.route.call)
}

// received returns the answer of a server, as it concerns the guard.
func (x *exchange) received(ctx context.Context, m *rpc.Message) (*guard.Answer, *rpc.Message) {
	x.asking, x.inquires = false, false
	switch {
	case x.modernServer || x.ours:
		x.look(m)
	case x.who.Modern():
		m = ofOlder(m)
	}
	a := &guard.Answer{Result: m.Result, Error: m.Error, Own: !x.asking && !x.inquires}
	if x.who.Modern() && x.modernServer && x.asking {
		var err error
		if a.Result, err = x.wrap(a.Result); err != nil {
			return nil, x.unanswered(ctx, err)
		}
	}
	return a, nil
}

// ofOlder returns an answer of a server of an older revision without the members by which 2026-07-28 asks for input: there they
// have no meaning, and a host of 2026-07-28 would give them one.
func ofOlder(m *rpc.Message) *rpc.Message {
	var found []string
	rawjson.Select(m.Result, []string{protocol.ResultType, protocol.InputRequests, protocol.RequestState}, func(name string, _ []byte) bool {
		found = append(found, name)
		return true
	})
	if len(found) == 0 {
		return m
	}
	plain := *m
	plain.Inside = nil
	for _, name := range found {
		plain.Result = rawjson.Delete(plain.Result, name)
	}
	return &plain
}

// send passes the request to its server, in the server's era.
func (x *exchange) send(ctx context.Context, params json.RawMessage) (*rpc.Message, error) {
	x.ours = false
	if x.state != nil && x.state.Kind == stateHeld {
		name, _ := rawjson.String(x.state.Value)
		c, ok := x.f.g.holds.take(name)
		if !ok {
			return rpc.ReplyError(x.m.ID, rpc.Errorf(rpc.InvalidParams, "%s", hosterror.Text(errState))), nil
		}
		x.reached = true
		return x.goOn(ctx, c)
	}
	l := x.route.link
	conn, err := l.Connection(ctx)
	if err != nil {
		return nil, err
	}
	x.modernServer, x.reached = conn.Modern(), true
	if answer, ok := x.subscribe(ctx, conn); ok {
		return answer, nil
	}
	if params, err = x.suit(ctx, conn, params); err != nil {
		return nil, err
	}
	req := backend.NewRequest(x.route.set.Audience, x.f, x.m, x.who)
	req.Call = x.route.call
	ctx = x.withHeaders(ctx, conn, params)
	if x.holds(conn) {
		return x.begin(ctx, req, params)
	}
	answer, err := l.Call(ctx, req, x.m.Method, params)
	if err == nil {
		l.Passed(x.m.Method, x.route.call.Name, answer)
	}
	return answer, err
}

// unanswered answers a request for which its server has given no answer that can be used. A request that reached the server
// raises the agent session as its contract says, whatever came back. Nothing that the server sent is in the answer: that is
// in the event and in the log.
func (x *exchange) unanswered(ctx context.Context, err error) *rpc.Message {
	ctx = context.WithoutCancel(ctx) // the host may have cancelled the request, and the server has it all the same
	call := x.route.call
	if x.reached {
		if raising := x.admission.Failed(ctx); raising != nil {
			x.f.g.log.Error("raising an agent session by a failed call", "error", raising)
		}
	}
	if x.reached && !errors.Is(err, errCancelled) {
		e := record.New(record.Upstream, time.Now())
		e.Session, e.Call, e.Server, e.Method, e.Name = call.Session.Key, call.ID, call.Server, call.Method, call.Name
		e.Effect, e.Message = "unanswered", fmt.Sprintf("%.1000q", err.Error())
		if recording := x.f.g.opts.State.Record(ctx, e); recording != nil {
			x.f.g.log.Error("recording", "error", recording)
		}
	}
	return x.f.internalError(x.m, err)
}

// handOn gives the agent an answer, as far as the guard lets it.
func (x *exchange) handOn(ctx context.Context, a guard.Answer) *rpc.Message {
	o, refusal := x.screen(ctx, a)
	x.tellFinding(ctx, o, refusal != nil)
	switch {
	case refusal != nil:
		x.abandon(a, refusal)
		return refusal
	case o.Answer.Error != nil:
		return &rpc.Message{ID: x.m.ID, Error: o.Answer.Error}
	}
	given := o.Answer.Result
	if x.inquires {
		var err error
		if given, err = x.attributed(given); err != nil {
			return x.f.internalError(x.m, err)
		}
	}
	result := protocol.FitResult(given, x.who, x.m.Method == "resources/read" && !protocol.NeedsInput(given))
	if x.warning != nil {
		var err error
		if result, err = guard.WithVerdict(result, *x.warning); err != nil {
			return x.f.internalError(x.m, err)
		}
	}
	return rpc.Reply(x.m.ID, result)
}

// look finds out whether a server's answer asks for something. It may be large, so this is done once.
func (x *exchange) look(m *rpc.Message) {
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

// warn keeps a warning for the agent, beside the answer.
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

// params returns the params to send, with the name by which the server knows the tool or prompt.
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
