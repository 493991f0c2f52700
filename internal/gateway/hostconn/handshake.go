package hostconn

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/exchange"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// An answerer answers the requests of a host connection.
type answerer struct{ conn *Conn }

// initialize answers the handshake of the older revisions. The host's description of itself goes to the servers as it
// is, and that of a single server comes back as it is.
func (a answerer) initialize(ctx context.Context, m *rpc.Message) *rpc.Message {
	f := a.conn
	if f.host.Agents.Handshake() != nil {
		return rpc.ReplyError(m.ID, &rpc.Error{Code: rpc.InvalidRequest, Message: "already initialized"})
	}
	raw, ok := rawjson.Get(m.Params, "protocolVersion")
	version, isString := rawjson.String(raw)
	if !ok || !isString {
		return rpc.ReplyError(m.ID, &rpc.Error{Code: rpc.InvalidParams, Message: "protocolVersion is missing or not a string"})
	}
	if !slices.Contains(protocol.Revisions, version) || version >= protocol.Modern {
		version = protocol.NewestLegacy
	}
	who := &protocol.Client{Version: version}
	who.Info, _ = rawjson.Get(m.Params, "clientInfo")
	who.Capabilities, _ = rawjson.Get(m.Params, "capabilities")
	f.host.Agents.Shake(who)
	set, err := f.connected(who)
	if err == nil {
		err = set.Connect(ctx)
	}
	if err != nil {
		f.host.Agents.Shake(nil)
		return f.host.InternalError(m, err)
	}
	w, err := set.Welcome(ctx)
	if err != nil {
		return f.host.InternalError(m, err)
	}
	w.Capabilities, w.Instructions = who.Offering(w.Capabilities), a.instructions(w.Instructions)
	result := json.RawMessage(`{}`)
	if w.Single != nil && !isDiscovery(w.Single) {
		result = w.Single
	}
	for _, member := range []struct {
		name  string
		value json.RawMessage
	}{
		{"protocolVersion", rawjson.Quote(version)},
		{"capabilities", w.Capabilities},
		{"serverInfo", w.Info},
		{"instructions", w.Instructions},
	} {
		if member.value == nil {
			continue
		}
		if result, err = rawjson.Set(result, member.value, member.name); err != nil {
			return f.host.InternalError(m, err)
		}
	}
	return rpc.Reply(m.ID, result)
}

// discover answers server/discover of 2026-07-28.
func (a answerer) discover(ctx context.Context, m *rpc.Message, who *protocol.Client, set *backend.Set) *rpc.Message {
	f := a.conn
	if err := set.Connect(ctx); err != nil {
		return f.host.InternalError(m, err)
	}
	w, err := set.Welcome(ctx)
	if err != nil {
		return f.host.InternalError(m, err)
	}
	result := json.RawMessage(`{}`)
	if w.Single != nil && isDiscovery(w.Single) {
		result = w.Single
	}
	w.Capabilities, w.Instructions = who.Offering(w.Capabilities), a.instructions(w.Instructions)
	versions, err := json.Marshal(protocol.Revisions)
	if err != nil {
		return f.host.InternalError(m, err)
	}
	for _, member := range []struct {
		value json.RawMessage
		path  []string
	}{
		{versions, []string{"supportedVersions"}},
		{w.Capabilities, []string{"capabilities"}},
		{w.Info, []string{"_meta", protocol.MetaServerInfo}},
		{w.Instructions, []string{"instructions"}},
	} {
		if member.value == nil {
			continue
		}
		if result, err = rawjson.Set(result, member.value, member.path...); err != nil {
			return f.host.InternalError(m, err)
		}
	}
	return rpc.Reply(m.ID, protocol.FitResult(result, who, true))
}

// instructions returns the instructions of servers with those for hidden values, where results may be hidden.
func (a answerer) instructions(servers json.RawMessage) json.RawMessage {
	if !a.conn.host.Engine.Hiding() {
		return servers
	}
	text, _ := rawjson.String(servers)
	if text != "" {
		text += "\n\n"
	}
	return rawjson.Quote(text + exchange.HandleInstructions)
}

// isDiscovery reports whether a server's welcome is the result of server/discover.
func isDiscovery(welcome json.RawMessage) bool {
	_, ok := rawjson.Get(welcome, "supportedVersions")
	return ok
}
