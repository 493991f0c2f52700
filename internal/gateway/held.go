package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// A server of an older revision asks in the middle of a call, and waits. A host of 2026-07-28 takes no requests: it is
// answered with the question, and comes back with the same request and what its user said. In between the server's
// call is held open here.

// Bounds of the calls that are held at one time. One more question is refused, and its server told so.
const (
	maxHolds          = 1000
	maxHoldsPrincipal = 32
)

// An ask is a request of a server that waits until the host comes back with the answer.
type ask struct {
	m     *rpc.Message
	reply chan *rpc.Message // takes one
}

// A heldCall is a call of a server that may ask in the middle. One exchange at a time has it.
type heldCall struct {
	fl        *flight
	principal string
	asked     *ask // what the host was asked last; nil if nothing
	cancel    context.CancelCauseFunc
	answered  chan answered // takes one
	expiry    *time.Timer   // while it is parked
}

type answered struct {
	m   *rpc.Message
	err error
}

// holds are the calls that wait for their hosts to come back, by unguessable names.
type holds struct {
	mu      sync.Mutex
	parked  map[string]*heldCall
	closed  bool
	running sync.WaitGroup
}

func newHolds() *holds { return &holds{parked: map[string]*heldCall{}} }

var (
	errTooManyHolds = hosterror.New("too many calls wait for their hosts already")
	errNotBack      = hosterror.New("the host did not come back with an answer in time")
	errRefused      = hosterror.New("the request may not go on")
	errClosing      = hosterror.New("the gateway is closing")
)

// run has do done in a goroutine that the gateway waits for when it closes.
func (h *holds) run(do func()) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosing
	}
	h.running.Go(do)
	return nil
}

// park keeps a call until it is taken or its life is over, and returns its name.
func (h *holds) park(c *heldCall, life time.Duration) (string, error) {
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
		return "", errClosing
	case mine >= maxHoldsPrincipal || len(h.parked) >= maxHolds:
		return "", errTooManyHolds
	}
	name := rand.Text()
	h.parked[name] = c
	c.expiry = time.AfterFunc(life, func() {
		if c, ok := h.take(name); ok {
			c.cancel(errNotBack)
		}
	})
	return name, nil
}

// take returns a call that is parked, once.
func (h *holds) take(name string) (*heldCall, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.parked[name]
	if ok {
		delete(h.parked, name)
		c.expiry.Stop()
	}
	return c, ok
}

// close ends every call. What runs ends with it, or with its connection.
func (h *holds) close() {
	h.mu.Lock()
	h.closed = true
	parked := h.parked
	h.parked = map[string]*heldCall{}
	h.mu.Unlock()
	for _, c := range parked {
		c.expiry.Stop()
		c.cancel(errClosing)
	}
}

// asked finds the flight that a server's question belongs to, and stops its clock until done is called. A call that waits
// for its host already is not asked again as long as there is another. If several are left it is any of the same agent
// session; between two sessions nothing is guessed.
func (l *link) asked(method string) (fl *flight, done func(), err error) {
	l.asking.Lock()
	defer l.asking.Unlock()
	found := l.flights.among(func(fl *flight) bool { return fl.asks != nil && protocol.TakesRequest(fl.takes, method) })
	if idle := slices.DeleteFunc(slices.Clone(found), (*flight).waits); len(idle) > 0 {
		found = idle
	}
	if len(found) == 0 {
		return nil, nil, hosterror.New("no request is in flight whose client takes this")
	}
	for _, other := range found[1:] {
		if other.call.Session != found[0].call.Session {
			return nil, nil, hosterror.New("several agent sessions have requests in flight, and nothing says which this belongs to")
		}
	}
	return found[0], found[0].wait(), nil
}

// hold gives a request of the server to the call that it most likely belongs to, and returns what the host answers. If
// that call ends before its host is asked, the request was another's.
func (l *link) hold(ctx context.Context, m *rpc.Message) *rpc.Message {
	a := &ask{m, make(chan *rpc.Message, 1)}
	for {
		reply, err := l.holdBy(ctx, a)
		switch {
		case err != nil:
			return rpc.ReplyError(m.ID, rpc.Errorf(rpc.MethodNotFound, "%s: %v", m.Method, err))
		case reply != nil:
			return reply
		}
	}
}

// holdBy tries one call. It returns neither an answer nor an error if that call is over.
func (l *link) holdBy(ctx context.Context, a *ask) (*rpc.Message, error) {
	fl, done, err := l.asked(a.m.Method)
	if err != nil {
		return nil, err
	}
	defer done()
	select {
	case fl.asks <- a:
	case <-fl.over:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case reply := <-a.reply:
		return reply, nil
	case <-fl.dropped:
		return nil, errNotBack
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// holds reports whether the server may ask in the middle of this request what only the host can answer later.
func (x *exchange) holds(conn *upstream.Conn) bool {
	if !x.who.Modern() || conn.Modern() {
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
func (x *exchange) begin(ctx context.Context, fl *flight, params json.RawMessage) (*rpc.Message, error) {
	call, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	fl.asks, fl.dropped = make(chan *ask), call.Done()
	c := &heldCall{fl: fl, principal: x.f.agents.Principal, cancel: cancel, answered: make(chan answered, 1)}
	method := x.m.Method
	err := x.f.g.holds.run(func() {
		m, err := x.route.link.call(call, fl, method, params)
		c.answered <- answered{m, err}
	})
	if err != nil {
		cancel(err)
		return nil, err
	}
	return x.await(ctx, c)
}

// goOn gives the server what the host came back with. A host that leaves the answer out is asked again.
func (x *exchange) goOn(ctx context.Context, c *heldCall) (*rpc.Message, error) {
	c.fl.board(x.f, x.m)
	response, ok := rawjson.Get(x.m.Params, "inputResponses", inputName)
	if !ok || rawjson.Kind(response) != '{' {
		return x.question(c, c.asked)
	}
	c.asked.reply <- rpc.Reply(c.asked.m.ID, response)
	return x.await(ctx, c)
}

// letGo ends the call that the host came back for and may not go on with.
func (x *exchange) letGo() {
	if x.state == nil || x.state.Kind != stateHeld {
		return
	}
	name, _ := rawjson.String(x.state.Value)
	if c, ok := x.f.g.holds.take(name); ok {
		c.cancel(errRefused)
	}
}

// inputName is the only member of our inputRequests and the host's inputResponses.
const inputName = "question"

// await returns the server's answer, or its next question as a result that requires input.
func (x *exchange) await(ctx context.Context, c *heldCall) (*rpc.Message, error) {
	for {
		select {
		case a := <-c.answered:
			c.cancel(nil)
			return a.m, a.err
		case a := <-c.fl.asks:
			m, err := x.question(c, a)
			if err == nil {
				return m, nil
			}
			a.reply <- rpc.ReplyError(a.m.ID, rpc.Errorf(rpc.InternalError, "%v", err))
		case <-ctx.Done():
			c.cancel(context.Cause(ctx))
			return nil, context.Cause(ctx)
		}
	}
}

// question parks the call and makes the result that asks the host.
func (x *exchange) question(c *heldCall, a *ask) (*rpc.Message, error) {
	c.asked = a
	name, err := x.f.g.holds.park(c, x.f.g.waits.Load().approval)
	if err != nil {
		return nil, err
	}
	state, err := x.seal(returnState{Kind: stateHeld, Value: rawjson.Quote(name)})
	if err != nil {
		return nil, err
	}
	request := map[string]any{"method": a.m.Method, "params": json.RawMessage("{}")}
	if a.m.Params != nil {
		request["params"] = a.m.Params
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
