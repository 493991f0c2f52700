package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// levels are the severities of log messages, least first (2025-11-25, Logging).
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// levelWait bounds the request that sets a server's log level.
const levelWait = 5 * time.Second

// A verbosity is the log level that a server was told last.
type verbosity struct {
	mu    sync.Mutex
	of    *upstream.Conn
	level string
}

// logLevel returns the level that a host of an older revision has set, "" if it has set none.
func (set *links) logLevel() string {
	set.mu.Lock()
	defer set.mu.Unlock()
	return set.level
}

// setLevel serves logging/setLevel: servers of the older revisions are told, the others by each request from now on.
func (f *front) setLevel(ctx context.Context, m *rpc.Message, who *caller, set *links) *rpc.Message {
	raw, _ := rawjson.Get(m.Params, "level")
	level, _ := rawjson.String(raw)
	if !slices.Contains(levels, level) {
		return rpc.ReplyError(m.ID, &rpc.Error{Code: rpc.InvalidParams, Message: "params.level is not a log level"})
	}
	if one := set.member(f); one != nil {
		return f.setMemberLevel(ctx, m, set, one, level)
	}
	set.mu.Lock()
	set.level = level
	set.mu.Unlock()
	params := json.RawMessage(`{"level":` + string(rawjson.Quote(level)) + `}`) // nothing else: no server is asked about here
	all := set.all()
	for _, l := range all {
		conn := l.open()
		if conn == nil && len(all) > 1 || conn != nil && conn.Modern() {
			continue // it is told when it comes, or by each request
		}
		if conn != nil && !logs(conn) {
			continue // what the host sets is the level of Weir's own messages
		}
		answer, err := l.call(ctx, newFlight(f, m, who), m.Method, params)
		switch {
		case err != nil:
			f.g.log.Warn("passing on "+m.Method, "error", err)
		case answer.Error != nil && len(all) == 1:
			return f.internalError(m, hosterror.At(l.server.Name, upstream.Explain(answer.Failure())))
		}
	}
	return rpc.Reply(m.ID, json.RawMessage(`{}`))
}

// relevel tells a server of an older revision that has come again, or late, what level the host has set.
func (l *link) relevel(conn *upstream.Conn) {
	if level := l.set.logLevel(); level != "" && !conn.Modern() {
		_ = l.set.g.holds.run(func() { l.raiseLevel(l.life, conn, level) })
	}
}

// logs reports whether a server writes log messages.
func logs(conn *upstream.Conn) bool {
	_, ok := rawjson.Get(conn.Welcome(), "capabilities", "logging")
	return ok
}

// raiseLevel has a server of an older revision log as much as a request of 2026-07-28 asks for, if it does not yet.
func (l *link) raiseLevel(ctx context.Context, conn *upstream.Conn, level string) {
	if !logs(conn) || !slices.Contains(levels, level) {
		return
	}
	l.logs.mu.Lock()
	defer l.logs.mu.Unlock()
	if l.logs.of == conn && slices.Index(levels, l.logs.level) <= slices.Index(levels, level) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, levelWait)
	defer cancel()
	params := json.RawMessage(`{"level":` + string(rawjson.Quote(level)) + `}`)
	if m, err := conn.Call(ctx, "logging/setLevel", params); err != nil || m.Error != nil {
		l.set.g.log.Debug("setting the log level", "server", l.server.Name, "error", err)
		return
	}
	l.logs.of, l.logs.level = conn, level
}

// logged passes a log message on. A host of an older revision gets all of them, on the stream of the request that they
// most likely belong to. A request of 2026-07-28 gets them if it asked for that level and is the only one that did.
func (l *link) logged(m *rpc.Message) {
	if owner := l.set.owner; owner != nil && !owner.takesNoRequests() {
		ctx := context.Background()
		fl := l.flights.newest()
		if fl != nil {
			ctx = fl.related(ctx)
		}
		if l.mayTell(nil, m) && l.mayTell(fl, m) { // any session of the host may read it, and the newest call's most likely does
			owner.write(ctx, m)
		}
		return
	}
	raw, _ := rawjson.Get(m.Params, "level")
	level, _ := rawjson.String(raw)
	severity := slices.Index(levels, level)
	found := l.flights.among(func(fl *flight) bool {
		least := slices.Index(levels, fl.level)
		return least >= 0 && least <= severity
	})
	if len(found) == 1 && l.mayTell(found[0], m) {
		found[0].write(m)
	}
}
