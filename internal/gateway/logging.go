package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

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

// logLevel returns the level that a host of an older revision has set, "" if it has set none.
func (set *links) logLevel() string {
	set.mu.Lock()
	defer set.mu.Unlock()
	return set.level
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
	if !logs(conn) || !slices.Contains(protocol.Levels, level) {
		return
	}
	l.logs.mu.Lock()
	defer l.logs.mu.Unlock()
	if l.logs.of == conn && slices.Index(protocol.Levels, l.logs.level) <= slices.Index(protocol.Levels, level) {
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
	severity := slices.Index(protocol.Levels, level)
	found := l.flights.among(func(fl *flight) bool {
		least := slices.Index(protocol.Levels, fl.level)
		return least >= 0 && least <= severity
	})
	if len(found) == 1 && l.mayTell(found[0], m) {
		found[0].write(m)
	}
}
