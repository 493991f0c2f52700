package mcpguard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/session"
)

// mostServed is how many requests of one server may wait for an answer at once. One that makes more is left.
const mostServed = 256

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

// only returns the agent session that there were calls of; if there were none, that of the connection. The caller holds
// the lock.
func (c *conn) only() (session.Ref, bool) {
	if f := &c.flights; f.first != nil {
		return *f.first, !f.several
	}
	return c.p.opts.Session(c.life), true
}

// whose returns the call that a request of the server belongs to.
func (c *conn) whose() (*guard.Call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call, _, err := guard.Pair(c.flights.calls, c.only, guard.Call{ID: rand.Text(), Server: c.server.Name, Trust: c.server.Trust})
	return call, err
}

// serve takes a request or a notification of the server to Read. A question is decided on before, in a goroutine,
// because a person may have to be asked. The error ends the connection.
func (c *conn) serve(req *jsonrpc.Request) error {
	if req.Method == "notifications/cancelled" {
		c.withdraw(req.Params)
	}
	c.lists.heard(req.Method)
	if req.IsCall() {
		c.mu.Lock()
		_, twice := c.serving[req.ID]
		full := len(c.serving) >= mostServed
		if !twice && !full {
			c.serving[req.ID] = nil
		}
		c.mu.Unlock()
		switch {
		case twice:
			return fmt.Errorf("server %s: two requests with one id", c.server.Name)
		case full:
			return fmt.Errorf("server %s: more than %d requests at once", c.server.Name, mostServed)
		case guard.IsInquiry(req.Method):
			c.work.Go(func() { c.inquire(req) })
			return nil
		}
	}
	c.hear(req)
	return nil
}

// hear takes a notification of the server, or a request that is no question, to Read, after its label has entered the
// sessions that may read it: those of the calls that are with the server, and all others with their next calls.
func (c *conn) hear(req *jsonrpc.Request) {
	l := c.p.guard.Hear(c.server.Name, c.server.Trust, nil, req.Params)
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

// withdraw forgets a request that the server has cancelled. An answer that comes all the same goes nowhere.
func (c *conn) withdraw(params json.RawMessage) {
	var cancelled struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(params, &cancelled) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(cancelled.RequestID); err == nil {
		c.mu.Lock()
		delete(c.serving, id)
		c.mu.Unlock()
	}
}

// inquire shows the host a request of the server, as far as the guard lets it.
func (c *conn) inquire(req *jsonrpc.Request) {
	call, err := c.whose()
	if err == nil && req.Params != nil {
		err = annotation.Check(req.Params)
	}
	if err != nil {
		c.refuse(req.ID, req.Method)
		return
	}
	inquiry := call.Inquiry(req.Method, req.Params)
	o := c.p.inquire(c.life, inquiry)
	if !o.Allowed() {
		c.refuse(req.ID, req.Method)
		return
	}
	c.mu.Lock()
	_, wanted := c.serving[req.ID]
	if wanted {
		c.serving[req.ID] = inquiry
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

// refuse answers a question of the server with an error that gives no reason: that is the operator's matter.
func (c *conn) refuse(id jsonrpc.ID, method string) {
	c.mu.Lock()
	delete(c.serving, id)
	c.mu.Unlock()
	_ = c.Connection.Write(c.life, &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{ // if it fails, Read will
		Code: guard.CodeRefused, Message: fmt.Sprintf("blocked by weir: %s may not be asked or answered here", method),
	}})
}

// answer passes the host's answer to a request of the server. Answers to questions are decided on first, in a
// goroutine.
func (c *conn) answer(ctx context.Context, resp *jsonrpc.Response) error {
	c.mu.Lock()
	inquiry, known := c.serving[resp.ID]
	delete(c.serving, resp.ID)
	guarded := inquiry != nil && resp.Error == nil && c.life.Err() == nil
	if guarded {
		c.work.Go(func() { c.reply(inquiry, resp) })
	}
	c.mu.Unlock()
	if guarded || !known {
		return nil
	}
	return c.Connection.Write(ctx, resp)
}

// reply passes an answer to a question, as far as the guard lets it.
func (c *conn) reply(inquiry *guard.Call, resp *jsonrpc.Response) {
	if annotation.Check(resp.Result) != nil {
		c.refuse(resp.ID, inquiry.Method)
		return
	}
	v := c.p.before(c.life, inquiry.Reply(resp.Result))
	if !v.Allowed() {
		c.refuse(resp.ID, inquiry.Method)
		return
	}
	said := *resp
	said.Result = v.Params
	_ = c.Connection.Write(c.life, &said) // if it fails, Read will
}
