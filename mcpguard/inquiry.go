package mcpguard

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/session"
)

// mostServed is how many requests of one server may wait for an answer at once. One that makes more is left.
const mostServed = 256

// A served request is one of the server that has no answer yet.
type served struct {
	call  *guard.Call // the question that the host was asked; nil as long as it was not
	token string      // under which the host may report progress, raw; "" if it may not
}

// Serving are the requests of one server that have no answer yet.
type serving map[jsonrpc.ID]served

// reports reports whether the progress of params is of a question that the host is answering.
func (s serving) reports(params json.RawMessage) bool {
	token, ok := rawjson.Get(params, "progressToken")
	for _, q := range s {
		if ok && q.call != nil && q.token == string(token) {
			return true
		}
	}
	return false
}

// Flights are the calls that are with the server, oldest first, and the agent sessions that there were calls of.
type flights struct {
	calls   []*guard.Call
	first   *session.Ref
	several bool
}

func (f *flights) enter(c *guard.Call) {
	f.calls = append(f.calls, c)
	if f.first == nil {
		f.first = &c.Session
	}
	f.several = f.several || *f.first != c.Session
}

func (f *flights) leave(c *guard.Call) {
	f.calls = slices.DeleteFunc(f.calls, func(other *guard.Call) bool { return other == c })
}

// only returns the agent session that there were calls of; if there were none, the one that the program has. The caller
// holds the lock.
func (c *conn) only() (session.Ref, bool) {
	if f := &c.flights; f.first != nil {
		return *f.first, !f.several
	}
	ref, err := c.p.listener(c.life)
	return ref, err == nil
}

// whose returns the call that a request of the server belongs to.
func (c *conn) whose() (*guard.Call, error) {
	trust, err := c.p.conduct.trust(c.life, c.server)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	call, _, err := guard.Pair(c.flights.calls, c.only, guard.Call{ID: rand.Text(), Server: c.server.Name, Trust: trust})
	return call, err
}

// serve takes a request or a notification of the server. A question is decided on before the host is asked, in a
// goroutine, because a person may have to be asked; other requests reach no host. The error ends the connection.
func (c *conn) serve(req *jsonrpc.Request) error {
	c.lists.heard(req.Method)
	if !req.IsCall() {
		if req.Method == "notifications/cancelled" && c.withdraw(req.Params) {
			c.hear(req) // by the id that the host was given
		} else if params, known := c.named(req.Method, req.Params); known {
			shown := *req
			shown.Params = params
			c.hear(&shown)
		}
		return nil
	}
	token, _ := rawjson.Get(req.Params, "_meta", "progressToken")
	c.mu.Lock()
	defer c.mu.Unlock()
	switch _, twice := c.serving[req.ID]; {
	case twice:
		return fmt.Errorf("server %s: two requests with one id", c.server.Name)
	case len(c.serving) >= mostServed:
		return fmt.Errorf("server %s: more than %d requests at once", c.server.Name, mostServed)
	}
	c.serving[req.ID] = served{token: string(token)}
	if guard.IsInquiry(req.Method) {
		c.work.Go(func() { c.inquire(req) })
	} else {
		c.work.Go(func() { c.settle(ownAnswer(req)) })
	}
	return nil
}

// hear takes a notification of the server to Read, after its label has entered the sessions that may read it: those of
// the calls that are with the server, and all others with their next calls.
func (c *conn) hear(req *jsonrpc.Request) {
	trust, _ := c.p.conduct.trust(c.life, c.server)
	l := c.p.guard.Hear(c.server.Name, trust, nil, req.Params)
	c.p.heard.Join(l)
	if req.Params != nil {
		c.mu.Lock()
		calls := slices.Clone(c.flights.calls)
		c.mu.Unlock()
		for _, call := range calls {
			if err := c.p.guard.Told(c.life, call, l, nil); err != nil {
				return
			}
		}
	}
	c.deliver(incoming{msg: req})
}

// withdraw forgets a request that the server has cancelled, and reports whether there is one. An answer that comes all
// the same goes nowhere.
func (c *conn) withdraw(params json.RawMessage) bool {
	id, ok := requestID(params)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, is := c.serving[id]
	delete(c.serving, id)
	return ok && is
}

// requestID returns the id of the request that a notification cancels.
func requestID(params json.RawMessage) (jsonrpc.ID, bool) {
	var cancelled struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(params, &cancelled) != nil {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.MakeID(cancelled.RequestID)
	return id, err == nil && id.IsValid()
}

// inquire shows the host a request of the server, as far as the guard lets it.
func (c *conn) inquire(req *jsonrpc.Request) {
	call, err := c.whose()
	if err == nil && req.Params != nil {
		err = annotation.Check(req.Params)
	}
	if err != nil {
		c.settle(refusal(req.ID, req.Method))
		return
	}
	inquiry := call.Inquiry(req.Method, req.Params)
	o := c.p.inquire(c.life, inquiry)
	if !o.Allowed() {
		c.settle(refusal(req.ID, req.Method))
		return
	}
	c.mu.Lock()
	asked, wanted := c.serving[req.ID]
	if wanted {
		asked.call = inquiry
		c.serving[req.ID] = asked
	}
	c.mu.Unlock()
	if !wanted {
		return
	}
	shown := *req
	if req.Params != nil {
		shown.Params = o.Answer.Result
	}
	c.deliver(incoming{msg: &shown})
}

// settle answers a request of the server.
func (c *conn) settle(resp *jsonrpc.Response) {
	c.mu.Lock()
	delete(c.serving, resp.ID)
	c.mu.Unlock()
	_ = c.Connection.Write(c.life, resp) // if it fails, Read will
}

// refusal answers a question with an error that gives no reason: that is the operator's matter.
func refusal(id jsonrpc.ID, method string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: guard.CodeRefused, Message: fmt.Sprintf("blocked by weir: %s may not be asked or answered here", method),
	}}
}

// ownAnswer answers a request of the server that is no question. No host sees it: nothing would decide on its answer.
func ownAnswer(req *jsonrpc.Request) *jsonrpc.Response {
	if req.Method == "ping" {
		return &jsonrpc.Response{ID: req.ID, Result: json.RawMessage("{}")}
	}
	return &jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not supported", req.Method),
	}}
}

// answer takes the host's answer to a question of the server, which is decided on in a goroutine. An answer to anything
// else, or to a question that the host was not asked, goes nowhere.
func (c *conn) answer(resp *jsonrpc.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	inquiry := c.serving[resp.ID].call
	if inquiry == nil || c.life.Err() != nil {
		return
	}
	delete(c.serving, resp.ID)
	c.work.Go(func() { c.reply(inquiry, resp) })
}

// reply passes an answer to a question, as far as the guard lets it. Of an error the server learns the code.
func (c *conn) reply(inquiry *guard.Call, resp *jsonrpc.Response) {
	said := &jsonrpc.Response{ID: resp.ID}
	var wire *jsonrpc.Error
	switch {
	case errors.As(resp.Error, &wire):
		said.Error = &jsonrpc.Error{Code: wire.Code, Message: "the client does not answer " + inquiry.Method}
	case resp.Error != nil, annotation.Check(resp.Result) != nil:
		said = refusal(resp.ID, inquiry.Method)
	default:
		if v := c.p.before(c.life, inquiry.Reply(resp.Result)); v.Allowed() {
			said.Result = v.Params
		} else {
			said = refusal(resp.ID, inquiry.Method)
		}
	}
	c.settle(said)
}
