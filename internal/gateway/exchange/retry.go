package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

const (
	maxRounds  = 10                     // of one request, answered by a host of an older revision
	roundPause = 200 * time.Millisecond // before a server that asks nothing is asked again, times the round
)

// openRequestState opens the requestState with which a host of 2026-07-28 sends a request again, and puts the
// server's own in its place. A state that is not ours, or of another request, is refused. Answers to other questions than
// those that came with it do not go on: a server ignores them (2026-07-28, Multi Round-Trip Requests).
func (x *exchange) openRequestState() *rpc.Error {
	raw, ok := rawjson.Get(x.m.Params, protocol.RequestState)
	var state returnState
	if ok && x.who.Modern() {
		text, _ := rawjson.String(raw)
		var err error
		if state, err = x.f.Engine.sealer.open(x.binding(), text); err != nil {
			return rpc.Errorf(rpc.InvalidParams, "%s", hosterror.Text(err))
		}
		x.state = &state
	}
	given := func(json.RawMessage) bool { return x.state != nil }
	asked := func(name string) bool {
		// Answers of a host of 2026-07-28 that nobody asked for are decided on as arguments: see unasked.
		return slices.Contains(state.Asked, name) || x.state == nil && x.who.Modern()
	}
	params := x.m.Params
	if x.state != nil {
		params = protocol.Answering(params, asked)
	}
	if err := protocol.ComesBack(params, given, asked); err != nil {
		return rpc.Errorf(rpc.InvalidParams, "%s", err)
	}
	if x.state == nil {
		return nil
	}
	params = rawjson.Delete(params, protocol.RequestState)
	if state.Kind == stateServer && state.Value != nil {
		var err error
		if params, err = rawjson.Set(params, state.Value, protocol.RequestState); err != nil {
			return rpc.Errorf(rpc.InternalError, "%s", hosterror.Text(err))
		}
	}
	back := *x.m
	back.Params = params
	x.m = &back
	return nil
}

// unasked has answers to questions that nobody asked count as members that MCP does not know.
func (x *exchange) unasked() (err error) {
	if x.state != nil || !protocol.Returns(x.m.Params) {
		return nil
	}
	c := x.route.call
	c.Violates = protocol.UnknownMembers
	c.Undeclared.Params, err = protocol.Unasked(c.Undeclared.Params, x.m.Params)
	return err
}

// sameServer reports whether the state goes back to the server that it came from.
func (x *exchange) sameServer() *rpc.Error {
	if x.state != nil && x.state.Server != x.route.call.Server {
		return rpc.Errorf(rpc.InvalidParams, "%s", hosterror.Text(errState))
	}
	return nil
}

// wrap seals the requestState in a result that requires input, with the names of its questions. A result without a
// state gets one.
func (x *exchange) wrap(result json.RawMessage) (json.RawMessage, error) {
	state := returnState{Kind: stateServer}
	state.Value, _ = rawjson.Get(result, protocol.RequestState)
	requests, _ := rawjson.Get(result, protocol.InputRequests)
	for name := range rawjson.Members(requests) {
		state.Asked = append(state.Asked, name)
	}
	sealed, err := x.seal(state)
	if err != nil {
		return nil, err
	}
	return rawjson.Set(result, rawjson.Quote(sealed), protocol.RequestState)
}

// restore puts back the members that carry kept.
func restore(f *Host, m *rpc.Message, sealed string) *rpc.Error {
	if sealed == "" {
		return nil
	}
	state, err := f.Engine.sealer.open(stateBinding(f.Agents.Principal, m.Method, m.Params), sealed)
	if err != nil || state.Kind != stateCarried {
		return rpc.Errorf(rpc.InvalidParams, "%s", hosterror.Text(errState))
	}
	for name, value := range rawjson.Members(state.Value) {
		if m.Params, err = rawjson.Set(m.Params, value, name); err != nil {
			return rpc.Errorf(rpc.InternalError, "%s", hosterror.Text(err))
		}
	}
	return nil
}

// answerInputRequests asks a host of an older revision for the input that the server needs, and makes the request anew with the answers. It
// returns the message to answer the host with if that does not work.
func (x *exchange) answerInputRequests(ctx context.Context, answer guard.Answer, round int) *rpc.Message {
	o, refusal := x.screen(ctx, answer)
	if refusal != nil {
		return refusal
	}
	ctx, cancel := context.WithTimeout(ctx, x.f.Engine.patience())
	defer cancel()
	asked, _ := rawjson.Get(o.Answer.Result, "inputRequests")
	responses := json.RawMessage(`{}`)
	for name, request := range rawjson.Members(asked) {
		response, refusal, err := x.answerFor(ctx, request)
		if refusal != nil {
			return refusal
		}
		if err == nil {
			responses, err = rawjson.Set(responses, response, name)
		}
		if err != nil {
			asks := hosterror.At(x.route.call.Server, hosterror.New("it asks for input: "))
			return x.f.InternalError(x.m, hosterror.And(asks, "{}", hosterror.Shown(err)).Because(err))
		}
	}
	if len(responses) == len(`{}`) {
		select {
		case <-time.After(time.Duration(round+1) * roundPause):
		case <-ctx.Done():
			return x.f.InternalError(x.m, context.Cause(ctx))
		}
	}
	state, _ := rawjson.Get(o.Answer.Result, "requestState")
	if err := x.renew(responses, state); err != nil {
		return x.f.InternalError(x.m, err)
	}
	return nil
}

// answerFor asks the host one of a server's questions. It returns the answer, or the message to answer the request with instead.
func (x *exchange) answerFor(ctx context.Context, request json.RawMessage) (_ json.RawMessage, refusal *rpc.Message, err error) {
	asked := guard.ReadInputRequest(request)
	method, params := asked.Method, asked.Params
	if !protocol.TakesRequest(x.who.Capabilities, method) {
		return nil, nil, hosterror.New("this host does not take such a request").Because(fmt.Errorf("%.100q", method))
	}
	answer, refusal := x.inquire(ctx, method, params)
	switch {
	case refusal != nil:
		return nil, refusal, nil
	case answer.Error != nil:
		return nil, nil, hosterror.New("the host answers with an error").Because(answer.Failure())
	case rawjson.Kind(answer.Result) != '{':
		return nil, nil, hosterror.New("the host answers with no object")
	}
	return answer.Result, nil, nil
}

// renew replaces the members that the last round added to the request.
func (x *exchange) renew(responses, state json.RawMessage) error {
	again := *x.m
	for _, params := range []*json.RawMessage{&again.Params, &x.route.call.Params} { // those of the call go out without some values
		next, err := rawjson.Set(rawjson.Delete(*params, "requestState"), responses, "inputResponses")
		if err == nil && state != nil {
			next, err = rawjson.Set(next, state, "requestState")
		}
		if err != nil {
			return err
		}
		*params = next
	}
	x.m, x.route.call.Further = &again, true
	return nil
}

// adaptParams fits a request to the server's revision where the host speaks one of the other era: log levels are set for a
// connection before 2026-07-28, and for each request since.
func (x *exchange) adaptParams(ctx context.Context, conn *upstream.Conn, params json.RawMessage) (json.RawMessage, error) {
	l := x.route.link
	switch {
	case x.who.Modern() && !conn.Modern():
		l.RaiseLevel(ctx, conn, protocol.MetaString(params, protocol.MetaLogLevel))
		return rawjson.Delete(rawjson.Delete(params, "requestState"), "inputResponses"), nil
	case !x.who.Modern() && conn.Modern():
		if level := x.route.set.LogLevel(); level != "" {
			return rawjson.Set(params, rawjson.Quote(level), "_meta", protocol.MetaLogLevel)
		}
	}
	return params, nil
}

// subscribe serves resources/subscribe and resources/unsubscribe of the older revisions for a server of 2026-07-28, which
// knows neither, and for a host that shares connections.
func (x *exchange) subscribe(ctx context.Context, conn *upstream.Conn) (*rpc.Message, bool) {
	set, l, uri := x.route.set, x.route.link, x.route.call.Name
	if !set.HasMember(x.f.peer) && (!conn.Modern() || x.who.Modern()) {
		return nil, false
	}
	switch x.m.Method {
	case "resources/subscribe":
		if err := set.Subscribe(ctx, x.f.peer, l, uri); err != nil {
			return x.f.InternalError(x.m, err), true
		}
	case "resources/unsubscribe":
		set.Unsubscribe(x.f.peer, l, uri)
	default:
		return nil, false
	}
	return rpc.Reply(x.m.ID, nil), true
}
