package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/policy"
)

// An exchange is one request of an agent on its way to its server and back.
type exchange struct {
	decision

	plain        json.RawMessage // the arguments as the host sent them, with handles of hidden values
	modernServer bool            // whether the server that answered speaks 2026-07-28
	ours         bool            // whether the answer is Weir's own: a question that a server of an older revision asks in the middle
	reached      bool            // whether the request went out to its server, as far as Weir knows
	alone        bool            // whether no host answers questions of the server: a program made the call

	out *backend.Request // as it went out last to its server; nil if that had to be reached first, or held it already
}

// newExchange returns the exchange for a message of a host; who is nil for a notification.
func newExchange(f *Host, m *rpc.Message, who *protocol.Client, r *route) *exchange {
	return &exchange{decision: decision{request: request{f: f, sent: m, m: m, who: who, route: r}}}
}

// fitsHeaders checks the headers of the request against the arguments that they repeat. Over stdio there are none.
func (x *exchange) fitsHeaders() *rpc.Error {
	header := x.f.Agents.Header
	if header == nil || !x.who.Modern() || x.route.tool == nil {
		return nil
	}
	return protocol.CheckHeaders(header, x.route.tool, x.plain)
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

// declined answers a request that came back with a no.
func (x *exchange) declined(r *resumption) *rpc.Message {
	x.cancelSuspended()
	when := policy.OnCall
	if r.held() != nil {
		x.abandon(r.held().Answer, &rpc.Message{})
		when = policy.OnResult
	}
	message := notAccepted(r.said, r.asked.Message)
	if q := r.asked.Question; q != nil {
		return x.refused(q.Refusal(message))
	}
	return x.refused(guard.Refusal{Effect: policy.Ask, When: when, Rule: r.asked.Rule, Message: message})
}

// rounds sends the request until its server answers without a question that a host of an older revision, which cannot come
// back with input, has to be asked.
func (x *exchange) rounds(ctx context.Context) *rpc.Message {
	answer, refusal := x.round(ctx)
	for round := 1; refusal == nil && !x.who.Modern() && x.asking; round++ {
		if round == maxRounds {
			err := hosterror.New("it still asks for input after {} rounds", hosterror.Number(maxRounds))
			return x.f.InternalError(x.m, hosterror.At(x.route.call.Server, err))
		}
		if refusal = x.answerInputRequests(ctx, *answer, round-1); refusal == nil {
			answer, refusal = x.round(ctx)
		}
	}
	if refusal != nil {
		return refusal
	}
	return x.deliver(ctx, *answer)
}

// round asks the server, as far as the guard lets it. It returns the server's answer, or the message to answer the host with
// instead.
func (x *exchange) round(ctx context.Context) (*guard.Answer, *rpc.Message) {
	if err := x.f.Engine.learn(ctx, x.route); err != nil {
		return nil, x.denied(x.f.Engine.logged(guard.Denied(err)))
	}
	v, refusal := x.permit(ctx, x.route.call)
	if refusal != nil {
		return nil, refusal
	}
	x.admission, x.outcome = v.Admission, nil
	params, err := x.route.params(v.Params)
	if err != nil {
		return nil, x.f.InternalError(x.m, err)
	}
	answer, err := sendOrRepeat(ctx, x, params)
	x.redeemed = nil
	if err != nil {
		return nil, x.unanswered(ctx, err)
	}
	return x.received(ctx, answer)
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
	a := &guard.Answer{Result: m.Result, Error: m.Error, Outline: outline(m), Own: !x.asking && !x.inquires}
	if x.who.Modern() && x.modernServer && x.asking {
		var err error
		a.Outline = nil
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

// send passes the request to its server, in the server's era, which has that time to answer; zero: that of any call.
func (x *exchange) send(ctx context.Context, params json.RawMessage, within time.Duration) (*rpc.Message, error) {
	x.ours, x.out = false, nil
	if x.state != nil && x.state.Kind == stateHeld {
		name, _ := rawjson.String(x.state.Value)
		c, ok := x.f.Engine.suspended.take(name)
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
	if params, err = x.adaptParams(ctx, conn, params); err != nil {
		return nil, err
	}
	req := backend.NewRequest(x.route.set.Audience, x.f.peer, x.m, x.who)
	req.Call, req.Within = x.route.call, within
	x.out = req
	ctx = x.withHeaders(ctx, conn, params)
	if x.mayAsk(conn) {
		return x.begin(ctx, req, params)
	}
	answer, err := l.Call(ctx, req, x.m.Method, params)
	if err == nil {
		l.Passed(x.m.Method, x.route.call.Name, answer)
	}
	return answer, err
}

// ErrCancelled is why a request ended that its host cancelled. Such a request gets no answer (MCP, Cancellation).
var ErrCancelled = hosterror.New("cancelled by the host")

// unanswered answers a request for which its server has given no answer that can be used. A request that reached the server
// raises the agent session as its contract says, whatever came back. Nothing that the server sent is in the answer: that is
// in the event and in the log.
func (x *exchange) unanswered(ctx context.Context, err error) *rpc.Message {
	ctx = context.WithoutCancel(ctx) // the host may have cancelled the request, and the server has it all the same
	if x.reached {
		if raising := x.admission.Failed(ctx); raising != nil {
			x.f.Engine.Log.Error("raising an agent session by a failed call", "error", raising)
		}
	}
	if x.reached && !errors.Is(err, ErrCancelled) {
		if recording := x.f.Engine.State.Record(ctx, newEvent(x, eventUnanswered, err)); recording != nil {
			x.f.Engine.Log.Error("recording", "error", recording)
		}
	}
	return x.f.InternalError(x.m, err)
}

// deliver gives the agent an answer, as far as the guard lets it.
func (x *exchange) deliver(ctx context.Context, a guard.Answer) *rpc.Message {
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
	if o.Effect == policy.Hide && x.who.Version < resourceLinks {
		given = withoutLink(given)
	}
	if x.inquires {
		var err error
		if given, err = x.attributed(given); err != nil {
			return x.f.InternalError(x.m, err)
		}
	}
	result := protocol.FitResult(given, x.who, x.m.Method == "resources/read" && !protocol.NeedsInput(given))
	if x.warning != nil {
		var err error
		if result, err = guard.WithVerdict(result, *x.warning); err != nil {
			return x.f.InternalError(x.m, err)
		}
	}
	return rpc.Reply(x.m.ID, result)
}
