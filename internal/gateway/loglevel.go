package gateway

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// setLevel serves logging/setLevel: servers of the older revisions are told, the others by each request from now on.
func (f *front) setLevel(ctx context.Context, m *rpc.Message, who *protocol.Client, set *links) *rpc.Message {
	raw, _ := rawjson.Get(m.Params, "level")
	level, _ := rawjson.String(raw)
	if !slices.Contains(protocol.Levels, level) {
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

// setMemberLevel serves logging/setLevel of a member: servers log as much as the one that wants the most.
func (f *front) setMemberLevel(ctx context.Context, m *rpc.Message, set *links, one *member, level string) *rpc.Message {
	set.mu.Lock()
	one.level = level
	if set.level == "" || slices.Index(protocol.Levels, level) < slices.Index(protocol.Levels, set.level) {
		set.level = level
	}
	set.mu.Unlock()
	for _, l := range set.all() {
		if conn := l.open(); conn != nil && !conn.Modern() {
			l.raiseLevel(ctx, conn, level)
		}
	}
	return rpc.Reply(m.ID, json.RawMessage(`{}`))
}
