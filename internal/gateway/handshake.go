package gateway

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// initialize answers the handshake of the older revisions. What the host says of itself goes to the servers as it is;
// what a single server says of itself comes back as it is.
func (f *front) initialize(ctx context.Context, m *rpc.Message) *rpc.Message {
	if f.agents.Handshake() != nil {
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
	f.agents.Shake(who)
	set, err := f.connected(who)
	if err == nil {
		err = set.connect(ctx)
	}
	if err != nil {
		f.agents.Shake(nil)
		return f.internalError(m, err)
	}
	w, err := set.welcome(ctx)
	if err != nil {
		return f.internalError(m, err)
	}
	w.capabilities = who.Offering(w.capabilities)
	result := json.RawMessage(`{}`)
	if w.single != nil && !isDiscovery(w.single) {
		result = w.single
	}
	for _, member := range []struct {
		name  string
		value json.RawMessage
	}{
		{"protocolVersion", rawjson.Quote(version)},
		{"capabilities", w.capabilities},
		{"serverInfo", w.info},
		{"instructions", w.instructions},
	} {
		if member.value == nil {
			continue
		}
		if result, err = rawjson.Set(result, member.value, member.name); err != nil {
			return f.internalError(m, err)
		}
	}
	return rpc.Reply(m.ID, result)
}

// discover answers server/discover of 2026-07-28.
func (f *front) discover(ctx context.Context, m *rpc.Message, who *protocol.Client, set *links) *rpc.Message {
	if err := set.connect(ctx); err != nil {
		return f.internalError(m, err)
	}
	w, err := set.welcome(ctx)
	if err != nil {
		return f.internalError(m, err)
	}
	result := json.RawMessage(`{}`)
	if w.single != nil && isDiscovery(w.single) {
		result = w.single
	}
	w.capabilities = who.Offering(w.capabilities)
	versions, err := json.Marshal(protocol.Revisions)
	if err != nil {
		return f.internalError(m, err)
	}
	for _, member := range []struct {
		value json.RawMessage
		path  []string
	}{
		{versions, []string{"supportedVersions"}},
		{w.capabilities, []string{"capabilities"}},
		{w.info, []string{"_meta", protocol.MetaServerInfo}},
		{w.instructions, []string{"instructions"}},
	} {
		if member.value == nil {
			continue
		}
		if result, err = rawjson.Set(result, member.value, member.path...); err != nil {
			return f.internalError(m, err)
		}
	}
	return rpc.Reply(m.ID, protocol.FitResult(result, who, true))
}

// isDiscovery reports whether a server's welcome is the result of server/discover.
func isDiscovery(welcome json.RawMessage) bool {
	_, ok := rawjson.Get(welcome, "supportedVersions")
	return ok
}
