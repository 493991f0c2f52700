package backend

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// levelWait bounds the request that sets a server's log level.
const levelWait = 5 * time.Second

// A verbosity is the log level that a server was told last.
type verbosity struct {
	mu    sync.Mutex
	of    *upstream.Conn
	level string
}

// mayTell reports whether a notification of the server may go to the host, after its label has entered the sessions
// that may read it: the agent session of the call that it belongs to, or else every session of the connection. It may
// tell of any call that is in flight.
func (c *Conn) mayTell(r *Request, m *rpc.Message) bool {
	if c.wordless(m) {
		return true
	}
	if c.Hushed != nil && c.Hushed() {
		return false // it may tell what is hidden in results
	}
	said, text := guard.Messages(c.Name(), c.Trust()), m.Params
	of := []*Request{r}
	if r == nil || r.Call == nil {
		said, text = c.Hear(c.Name(), c.Trust(), c.tools(), text), nil
		if err := c.hear(said); err != nil {
			c.Log.Error("a message of a server is not passed on", "server", c.Name(), "method", m.Method, "error", err)
			return false
		}
		of = c.requests.carrying()
	}
	for _, r := range of {
		if err := c.Told(context.Background(), r.Call, said, text); err != nil {
			c.Log.Error("a message of a server is not passed on", "server", c.Name(), "method", m.Method, "error", err)
			return false
		}
	}
	return true
}

// show passes a notification on that the host may get, without the values that are redacted. A resource keeps the
// name by which the host has subscribed to it.
func (c *Conn) show(m *rpc.Message, pass func(*rpc.Message)) {
	if m.Params == nil || m.Method == updated && c.wordless(m) {
		pass(m)
		return
	}
	params, err := c.Clean(m.Params)
	if err != nil {
		c.Log.Error("a message of a server is not passed on", "server", c.Name(), "method", m.Method, "error", err)
		return
	}
	shown := *m
	shown.Params = params
	pass(&shown)
}

// maxNumber is how many characters a number of progress has at most. One that is longer may hold text.
const maxNumber = 20

// wordless reports whether a notification has no text: progress in numbers, or that something has changed which the
// host knows by name. Any member that is not listed here may hold text.
func (c *Conn) wordless(m *rpc.Message) bool {
	if m.Method != "notifications/progress" && m.Method != updated && changed[m.Method] == nil {
		return false
	}
	for name, value := range rawjson.Members(m.Params) {
		switch {
		case m.Method == "notifications/progress" && name == "progressToken": // is replaced by the host's
		case m.Method == "notifications/progress" && (name == "progress" || name == "total"):
			if _, err := strconv.ParseFloat(string(value), 64); err != nil || len(value) > maxNumber {
				return false
			}
		case m.Method == updated && name == "uri":
			if uri, _ := rawjson.String(value); !c.watched(uri) {
				return false
			}
		case name == "_meta": // is deleted or replaced if it is only this
			if string(rawjson.Canonical(rawjson.Delete(value, protocol.MetaSubscription))) != "{}" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// relevel tells a server of an older revision that has come again, or late, the level that the host has set.
func (c *Conn) relevel(conn *upstream.Conn) {
	if level := c.LogLevel(); level != "" && !conn.Modern() {
		_ = c.Run(func() { c.RaiseLevel(c.life, conn, level) })
	}
}

// Logs reports whether a server writes log messages.
func Logs(conn *upstream.Conn) bool {
	_, ok := rawjson.Get(conn.Welcome(), "capabilities", "logging")
	return ok
}

// RaiseLevel has a server of an older revision log as much as a request of 2026-07-28 asks for, if it does not yet.
func (c *Conn) RaiseLevel(ctx context.Context, conn *upstream.Conn, level string) {
	if !Logs(conn) || !slices.Contains(protocol.Levels, level) {
		return
	}
	c.logs.mu.Lock()
	defer c.logs.mu.Unlock()
	if c.logs.of == conn && slices.Index(protocol.Levels, c.logs.level) <= slices.Index(protocol.Levels, level) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, levelWait)
	defer cancel()
	params := json.RawMessage(`{"level":` + string(rawjson.Quote(level)) + `}`)
	if m, err := conn.Call(ctx, "logging/setLevel", params); err != nil || m.Error != nil {
		c.Log.Debug("setting the log level", "server", c.Name(), "error", err)
		return
	}
	c.logs.of, c.logs.level = conn, level
}

// logged passes a log message on. A host of an older revision gets all of them, on the stream of the request that
// they most likely belong to. A request of 2026-07-28 gets them if it asked for that level and is the only one that
// did.
func (c *Conn) logged(m *rpc.Message) {
	if host := c.direct(); host != nil {
		ctx := context.Background()
		r := c.requests.newest()
		if r != nil {
			ctx = r.Related(ctx)
		}
		if c.mayTell(nil, m) && (r == nil || c.mayTell(r, m)) { // any session of the host may read it, and the newest call's most likely does
			c.show(m, func(m *rpc.Message) { host.Write(ctx, m) })
		}
		return
	}
	raw, _ := rawjson.Get(m.Params, "level")
	level, _ := rawjson.String(raw)
	severity := slices.Index(protocol.Levels, level)
	found := c.requests.among(func(r *Request) bool {
		least := slices.Index(protocol.Levels, r.level)
		return least >= 0 && least <= severity
	})
	if len(found) == 1 && c.mayTell(found[0], m) {
		c.show(m, found[0].write)
	}
}

// Notify sends a notification of the host to the server, and does not wait for that.
func (c *Conn) Notify(m *rpc.Message) {
	if !c.queue.add(m) {
		return
	}
	_ = c.Run(func() { // if the gateway closes, the server need not know any more
		for m, ok := c.queue.next(); ok; m, ok = c.queue.next() {
			if err := c.sendNotice(m); err != nil {
				c.Log.Warn("passing on a notification", "server", c.Name(), "error", err)
			}
		}
	})
}

func (c *Conn) sendNotice(m *rpc.Message) error {
	ctx, cancel := context.WithTimeout(context.Background(), noticeTime)
	defer cancel()
	conn := c.Open()
	if conn == nil || conn.Modern() && m.Method == "notifications/roots/list_changed" {
		return nil // a server that comes later asks anew
	}
	return conn.Notify(ctx, m.Method, m.Params)
}
