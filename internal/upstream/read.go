package upstream

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// read has the transport hand on what the server sends until it ends. That end is what ends this, so that a server that
// is being closed can still empty its output.
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
	if !m.IsResponse() && m.Method != "ping" {
		c.said.Add(1)
	}
	switch {
	case m.IsResponse():
		if ok, reason := c.calls.settle(m.ID, answer{message: m}); !ok && reason != "" {
			c.defect(reason, "id %.64s", m.ID)
		}
	case m.IsRequest():
		c.served.serve(m)
	case m.Method == "notifications/cancelled":
		if id, ok := rawjson.Get(m.Params, "requestId"); ok {
			c.served.stop(string(id), false)
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
		c.calls.settle(bad.Answers, answer{err: bad})
	case bad.Err.ID != nil:
		c.served.reply(rpc.ReplyError(bad.Err.ID, bad.Err))
	}
}

// fail gives the call with that id an error.
func (c *Conn) fail(id json.RawMessage, err error) { c.calls.settle(id, answer{err: err}) }

// defect reports a mistake of the server, unless the connection has ended.
func (c *Conn) defect(reason, format string, args ...any) {
	if c.Err() == nil {
		c.opts.Handler.Defect(reason, fmt.Sprintf(format, args...))
	}
}
