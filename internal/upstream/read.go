package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// read has the transport hand on what the server sends until it ends. That end is what ends this, so that a server that is
// being closed can still empty its output.
func (c *Conn) read() {
	err := c.transport.run()
	if err == io.EOF {
		err = hosterror.New("it ended the connection")
	}
	c.end(fmt.Errorf("%w: %w", ErrClosed, err))
}

// dispatch hands on one message.
func (c *Conn) dispatch(m *rpc.Message) {
	if m.Repaired {
		c.defect(HalfPair, "id %.64q, method %.64q", m.ID, m.Method)
	}
	switch {
	case m.IsResponse():
		if ok, reason := c.settle(m.ID, answer{message: m}); !ok && reason != "" {
			c.defect(reason, "id %.64s", m.ID)
		}
	case m.IsRequest():
		c.serve(m)
	case m.Method == "notifications/cancelled":
		if id, ok := rawjson.Get(m.Params, "requestId"); ok {
			c.stopServing(string(id), false)
		}
	case c.Err() == nil:
		c.opts.Handler.Notification(m)
	}
}

// refuse deals with something that is no message: whoever waits for it is told.
func (c *Conn) refuse(bad *rpc.BadMessage) {
	c.defect(Malformed, "%v", bad)
	switch {
	case bad.Answers != nil:
		c.settle(bad.Answers, answer{err: bad})
	case bad.Err.ID != nil:
		c.reply(rpc.ReplyError(bad.Err.ID, bad.Err))
	}
}

// fail gives the call with that id an error.
func (c *Conn) fail(id json.RawMessage, err error) { c.settle(id, answer{err: err}) }

// defect reports a mistake of the server, unless the connection has ended.
func (c *Conn) defect(reason, format string, args ...any) {
	if c.Err() == nil {
		c.opts.Handler.Defect(reason, fmt.Sprintf(format, args...))
	}
}

// serve has a request of the server answered.
func (c *Conn) serve(m *rpc.Message) {
	id := string(m.ID)
	c.mu.Lock()
	_, repeated := c.serving[id]
	full := len(c.serving) >= mostRequests
	var ctx context.Context
	var cancel context.CancelFunc
	if !repeated && !full {
		ctx, cancel = context.WithCancel(c.life)
		c.serving[id] = cancel
	}
	c.mu.Unlock()

	switch {
	case repeated:
		c.defect(RepeatedID, "id %.64s, method %.64q", id, m.Method)
		c.reply(rpc.ReplyError(m.ID, rpc.Errorf(rpc.InvalidRequest, "request id is in use")))
	case full:
		c.defect(TooManyAtOnce, "method %.64q", m.Method)
		c.reply(rpc.ReplyError(m.ID, rpc.Errorf(rpc.InternalError, "too many requests at once")))
	default:
		started := c.task(func() {
			defer c.stopServing(id, true)
			c.write(ctx, c.answer(ctx, m))
		})
		if !started {
			c.stopServing(id, true)
		}
	}
}

// answer makes the answer to a request of the server.
func (c *Conn) answer(ctx context.Context, m *rpc.Message) *rpc.Message {
	if m.Method == "ping" {
		return rpc.Reply(m.ID, nil)
	}
	reply := c.opts.Handler.Request(ctx, m)
	if reply == nil || !reply.IsResponse() {
		return rpc.ReplyError(m.ID, rpc.Errorf(rpc.InternalError, "no answer"))
	}
	r := *reply
	r.ID = m.ID
	return &r
}

// stopServing ends the context of a request of the server, if it is being served. Its id is in use until it is over.
func (c *Conn) stopServing(id string, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel, ok := c.serving[id]; ok {
		cancel()
	}
	if over {
		delete(c.serving, id)
	}
}

// reply sends a refusal without delaying the server's next message. A server that takes no answers gets none.
func (c *Conn) reply(m *rpc.Message) {
	c.mu.Lock()
	full := c.replies >= mostRequests
	if !full {
		c.replies++
	}
	c.mu.Unlock()
	if full {
		return
	}
	release := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.replies--
	}
	if !c.task(func() { defer release(); c.write(c.life, m) }) {
		release()
	}
}

// write sends an answer. If it cannot be sent the server has itself to blame, or the connection is about to end.
func (c *Conn) write(ctx context.Context, m *rpc.Message) {
	if err := c.transport.Write(ctx, m); err != nil && c.life.Err() == nil {
		c.opts.Logger.Debug("answer to server not sent", "error", err)
	}
}
