package exchange

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// A server of an older revision asks in the middle of a call, and waits. A host of 2026-07-28 takes no requests: it is
// answered with the question, and comes back with the same request and its user's answer. In between the server's
// call is held open here.

// Bounds of the calls that are held at one time. One more question is refused, and its server told so.
const (
	maxHolds          = 1000
	maxHoldsPrincipal = 32
)

// A suspendedCall is a call of a server that may ask in the middle. One exchange at a time has it.
type suspendedCall struct {
	req       *backend.Request
	principal string
	asked     *backend.Question // that the host was asked last; nil if none
	cancel    context.CancelCauseFunc
	answered  chan answered // takes one
	expiry    *time.Timer   // while it is parked
}

type answered struct {
	m   *rpc.Message
	err error
}

// suspended are the calls that wait for their hosts to come back, by unguessable names.
type suspended struct {
	mu     sync.Mutex
	parked map[string]*suspendedCall
	closed bool
}

func newSuspended() *suspended { return &suspended{parked: map[string]*suspendedCall{}} }

var (
	errTooManyHolds = hosterror.New("too many calls wait for their hosts already")
	errRefused      = hosterror.New("the request may not go on")
)

// park keeps a call until it is taken or its life is over, and returns its name.
func (h *suspended) park(c *suspendedCall, life time.Duration) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	mine := 0
	for _, other := range h.parked {
		if other.principal == c.principal {
			mine++
		}
	}
	switch {
	case h.closed:
		return "", backend.ErrClosing
	case mine >= maxHoldsPrincipal || len(h.parked) >= maxHolds:
		return "", errTooManyHolds
	}
	name := rand.Text()
	h.parked[name] = c
	c.expiry = time.AfterFunc(life, func() {
		if c, ok := h.take(name); ok {
			c.cancel(backend.ErrNotBack)
		}
	})
	return name, nil
}

// take returns a call that is parked, once.
func (h *suspended) take(name string) (*suspendedCall, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.parked[name]
	if ok {
		delete(h.parked, name)
		c.expiry.Stop()
	}
	return c, ok
}

// close ends every call.
func (h *suspended) close() {
	h.mu.Lock()
	h.closed = true
	parked := h.parked
	h.parked = map[string]*suspendedCall{}
	h.mu.Unlock()
	for _, c := range parked {
		c.expiry.Stop()
		c.cancel(backend.ErrClosing)
	}
}

// mayAsk reports whether the server may ask in the middle of this request for input that the host can only send later.
func (x *exchange) mayAsk(conn *upstream.Conn) bool {
	if x.alone || !x.who.Modern() || conn.Modern() {
		return false
	}
	switch x.m.Method {
	case "tools/call", "prompts/get", "resources/read": // 2026-07-28 lets no other be answered with input_required
	default:
		return false
	}
	for method := range protocol.CapabilityFor {
		if protocol.TakesRequest(x.who.Capabilities, method) {
			return true
		}
	}
	return false
}

// begin sends the request to a server that may ask, and returns its answer or first question.
func (x *exchange) begin(ctx context.Context, req *backend.Request, params json.RawMessage) (*rpc.Message, error) {
	call, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	req.Asks, req.Dropped = make(chan *backend.Question), call.Done()
	c := &suspendedCall{req: req, principal: x.f.Agents.Principal, cancel: cancel, answered: make(chan answered, 1)}
	method := x.m.Method
	err := x.f.Engine.Servers.Run(func() {
		m, err := x.route.link.Call(call, req, method, params)
		c.answered <- answered{m, err}
	})
	if err != nil {
		cancel(err)
		return nil, err
	}
	return x.await(ctx, c)
}

// goOn gives the server the answer with which the host came back. A host that leaves the answer out is asked again.
func (x *exchange) goOn(ctx context.Context, c *suspendedCall) (*rpc.Message, error) {
	c.req.Board(x.f.peer, x.m)
	response, ok := rawjson.Get(x.m.Params, "inputResponses", inputName)
	if !ok || rawjson.Kind(response) != '{' {
		return x.question(c, c.asked)
	}
	c.asked.Reply <- rpc.Reply(c.asked.Message.ID, response)
	return x.await(ctx, c)
}

// inputName is the only member of our inputRequests and the host's inputResponses.
const inputName = "question"

// await returns the server's answer, or its next question as a result that requires input.
func (x *exchange) await(ctx context.Context, c *suspendedCall) (*rpc.Message, error) {
	for {
		select {
		case a := <-c.answered:
			c.cancel(nil)
			return a.m, a.err
		case a := <-c.req.Asks:
			m, err := x.question(c, a)
			if err == nil {
				return m, nil
			}
			a.Reply <- rpc.ReplyError(a.Message.ID, rpc.Errorf(rpc.InternalError, "%v", err))
		case <-ctx.Done():
			c.cancel(context.Cause(ctx))
			return nil, context.Cause(ctx)
		}
	}
}

// question parks the call and makes the result that asks the host.
func (x *exchange) question(c *suspendedCall, a *backend.Question) (*rpc.Message, error) {
	c.asked = a
	name, err := x.f.Engine.suspended.park(c, x.f.Engine.patience())
	if err != nil {
		return nil, err
	}
	state, err := x.seal(returnState{Kind: stateHeld, Value: rawjson.Quote(name), Asked: []string{inputName}})
	if err != nil {
		return nil, err
	}
	request := map[string]any{"method": a.Message.Method, "params": json.RawMessage("{}")}
	if a.Message.Params != nil {
		request["params"] = a.Message.Params
	}
	result, err := json.Marshal(map[string]any{
		"resultType": "input_required", "inputRequests": map[string]any{inputName: request}, "requestState": state,
	})
	if err != nil {
		return nil, err
	}
	x.ours = true
	return rpc.Reply(x.m.ID, result), nil
}
