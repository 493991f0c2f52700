package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/vault"
)

// Exchange takes a request that carries data to its server and the answer back, as far as the guard lets it.
func (f *Host) Exchange(ctx context.Context, m *rpc.Message, who *protocol.Client, set *backend.Set) *rpc.Message {
	plain, _ := rawjson.Get(m.Params, "arguments")
	if rawjson.Kind(plain) != '{' {
		plain = nil
	}
	if own := (ownHost{f, who, set}).tool(m); own != nil {
		return own(ctx, m)
	}
	m, filling, rerr := expand(ctx, f, m, set)
	if rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	resumed, m, rerr := resume(ctx, f, m)
	if rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	x := newExchange(f, m, who, nil)
	x.plain = plain
	if rerr := x.openRequestState(); rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	if x.route, rerr = f.route(ctx, x.m, set); rerr == nil {
		if x.route.call.Filling = filling; len(filling.Uses) > 0 {
			x.route.call.Written = plain
		}
		rerr = x.sameServer()
		if err := x.unasked(); err != nil {
			return f.InternalError(m, err)
		}
	}
	if rerr == nil {
		rerr = x.fitsHeaders()
	}
	if rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	if err := x.f.Engine.holdEnded(ctx, x.route.call); err != nil {
		return f.InternalError(m, err)
	}
	x.route.call.Further = x.state != nil
	if resumed != nil && !resumed.said.Yes() {
		return x.declined(resumed)
	}
	if resumed != nil && resumed.held() != nil {
		held := resumed.held()
		x.admission, x.outcome = held.Admission, held.Outcome
		x.look(&rpc.Message{Result: held.Answer.Result})
		return x.deliver(ctx, held.Answer)
	}
	if refusal := x.permitAnswers(ctx); refusal != nil {
		return refusal
	}
	return x.rounds(ctx)
}

// Resolve answers tools/resolve: the contract of a call, and in _meta the decision on it, if that is no plain
// allow and no results may be hidden. The answer has the form of the extension where the host has negotiated it, else that of SEP-1862.
func (f *Host) Resolve(ctx context.Context, m *rpc.Message, who *protocol.Client, set *backend.Set) *rpc.Message {
	if arguments, _ := rawjson.Get(m.Params, "arguments"); f.Engine.Hiding() && vault.HasHandles(arguments) {
		return rpc.ReplyError(m.ID, rpc.Errorf(rpc.InvalidParams, "a call with handles of hidden values is not resolved: make the call"))
	}
	r, rerr := f.byName(ctx, m, set, catalog.Tools)
	if rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	if rerr := who.Undeclared(r.tool); rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	r.call.Method = "tools/call" // the method of the call to decide
	if err := f.Engine.learn(ctx, r); err != nil {
		return f.InternalError(m, err)
	}
	resolution, err := f.Engine.Guard.Resolve(ctx, r.call)
	if err != nil {
		return f.InternalError(m, err)
	}
	// The hints of the list bound every resolution (SEP-1862).
	for _, member := range r.call.Effective.Narrows(resolution.Contract) {
		if !strings.Contains(member, ".") {
			return f.InternalError(m, hosterror.New("the server says worse of this call than of the tool").Because(errors.New(member)))
		}
	}
	shown, _ := rawjson.Get(m.Params, "name")
	result, err := f.Engine.resolved(r.tool, shown, resolution.Contract, who.Resolves())
	if err == nil && !resolution.Verdict.Plain() && !f.Engine.Hiding() { // it may depend on hidden text, and is not counted here
		result, err = guard.WithVerdict(result, resolution.Verdict.Refusal())
	}
	if err != nil {
		return f.InternalError(m, err)
	}
	return rpc.Reply(m.ID, protocol.FitResult(result, who, false))
}

// maxWatched bounds the resources of one listener.
const maxWatched = 256

// Watch subscribes to the resources that a filter names, as far as they exist, the guard lets the agent name them to
// their servers and these agree. It returns their URIs, and a function that ends the subscriptions.
func (f *Host) Watch(ctx context.Context, m *rpc.Message, set *backend.Set, wanted json.RawMessage) (uris []string, end func()) {
	var ends []func()
	list, _ := rawjson.Get(wanted, "resourceSubscriptions")
	for raw := range rawjson.Elements(list) {
		uri, ok := rawjson.String(raw)
		if !ok || len(uris) == maxWatched {
			continue
		}
		params := json.RawMessage(`{}`)
		if meta, ok := rawjson.Get(m.Params, "_meta"); ok {
			params = json.RawMessage(`{"_meta":` + string(meta) + `}`)
		}
		params, err := rawjson.Set(params, raw, "uri")
		if err != nil {
			continue
		}
		r, rerr := f.route(ctx, &rpc.Message{ID: m.ID, Method: "resources/subscribe", Params: params}, set)
		if rerr != nil || f.Engine.holdEnded(ctx, r.call) != nil || !decide(ctx, f, set, r.call).Allowed() {
			continue
		}
		if err := r.link.Subscribe(ctx, uri); err != nil {
			f.Engine.Log.Warn("subscribing", "server", r.link.Name(), "error", err)
			continue
		}
		uris = append(uris, uri)
		ends = append(ends, func() { r.link.Unsubscribe(uri) })
	}
	return uris, func() {
		for _, end := range ends {
			end()
		}
	}
}

// Inquired puts a question of a server to a host of an older revision, as far as the guard lets it, and returns the
// host's answer, as far as the guard lets that. The reason of a refusal is for the operator and not for the server.
func (f *Host) Inquired(ctx context.Context, set *backend.Set, l *backend.Conn, m *rpc.Message) *rpc.Message {
	req, call, err := whose(f, set, l)
	if err == nil && req == nil && m.Method != guard.Roots && f.Agents.Unsure() {
		err = guard.ErrSeveralSessions
	}
	if err != nil {
		return rpc.ReplyError(m.ID, rpc.Errorf(rpc.MethodNotFound, "%s: %v", m.Method, err))
	}
	if req != nil {
		defer req.Wait()()
		ctx = req.Related(ctx)
	}
	who, rerr := f.Handshake(m.Method)
	if rerr != nil {
		return rpc.ReplyError(m.ID, rerr)
	}
	x := newExchange(f, m, who, &route{set: set, link: l, call: call})
	answer, refusal := x.inquire(ctx, m.Method, m.Params)
	if refusal != nil {
		f.Engine.Log.Warn("refused a request of a server", "server", l.Name(), "method", m.Method, "error", refusal.Failure())
		return rpc.ReplyError(m.ID, rpc.Errorf(guard.CodeRefused, "blocked by weir: %s may not be asked or answered here", m.Method))
	}
	answer.ID = m.ID
	return answer
}

// DecideNotification decides on a notification of the host for a server. The decision is an event.
func (f *Host) DecideNotification(ctx context.Context, m *rpc.Message, set *backend.Set, l *backend.Conn) (guard.Verdict, *rpc.Error) {
	r, rerr := f.toOnly(ctx, m, set, l)
	if rerr != nil {
		return guard.Verdict{}, rerr
	}
	x := newExchange(f, m, nil, r)
	return x.before(ctx, x.route.call), nil
}
