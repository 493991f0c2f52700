package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// initialize answers the handshake of the older revisions. What the host says of itself goes to the servers as it is;
// what a single server says of itself comes back as it is.
func (f *front) initialize(ctx context.Context, m *rpc.Message) *rpc.Message {
	f.mu.Lock()
	done := f.era != nil
	f.mu.Unlock()
	if done {
		return rpc.ReplyError(m.ID, &rpc.Error{Code: rpc.InvalidRequest, Message: "already initialized"})
	}
	raw, ok := rawjson.Get(m.Params, "protocolVersion")
	version, isString := rawjson.String(raw)
	if !ok || !isString {
		return rpc.ReplyError(m.ID, &rpc.Error{Code: rpc.InvalidParams, Message: "protocolVersion is missing or not a string"})
	}
	if !slices.Contains(revisions, version) || version >= modern {
		version = newestLegacy
	}
	who := &caller{version: version}
	who.info, _ = rawjson.Get(m.Params, "clientInfo")
	who.capabilities, _ = rawjson.Get(m.Params, "capabilities")
	f.mu.Lock()
	f.era = who
	f.mu.Unlock()
	set, err := f.connected(who)
	if err == nil {
		err = set.connect(ctx)
	}
	if err != nil {
		f.mu.Lock()
		f.era = nil
		f.mu.Unlock()
		return f.internalError(m, err)
	}
	w, err := set.welcome(ctx)
	if err != nil {
		return f.internalError(m, err)
	}
	w.capabilities = who.offering(w.capabilities)
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
func (f *front) discover(ctx context.Context, m *rpc.Message, who *caller, set *links) *rpc.Message {
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
	w.capabilities = who.offering(w.capabilities)
	versions, err := json.Marshal(revisions)
	if err != nil {
		return f.internalError(m, err)
	}
	for _, member := range []struct {
		value json.RawMessage
		path  []string
	}{
		{versions, []string{"supportedVersions"}},
		{w.capabilities, []string{"capabilities"}},
		{w.info, []string{"_meta", metaServerInfo}},
		{w.instructions, []string{"instructions"}},
	} {
		if member.value == nil {
			continue
		}
		if result, err = rawjson.Set(result, member.value, member.path...); err != nil {
			return f.internalError(m, err)
		}
	}
	return rpc.Reply(m.ID, forHost(result, who, true))
}

// isDiscovery reports whether a server's welcome is the result of server/discover.
func isDiscovery(welcome json.RawMessage) bool {
	_, ok := rawjson.Get(welcome, "supportedVersions")
	return ok
}

// A welcome is what the servers together say of themselves.
type welcome struct {
	single       json.RawMessage // the whole answer, if there is one server only
	capabilities json.RawMessage
	info         json.RawMessage // the implementation
	instructions json.RawMessage // those that were accepted; nil if none
}

// welcome merges what the connected servers said in their handshakes: a capability is there if one server has it, and a
// member of it is true if it is true of one.
//
// Log messages are offered always: Weir has some of its own. Of several servers one that is not there yet may offer every kind of
// list, and hosts ask only for what they were told of.
func (set *links) welcome(ctx context.Context) (welcome, error) {
	w := welcome{capabilities: json.RawMessage(`{}`)}
	var instructions []string
	all := set.all()
	for _, l := range all {
		conn := l.opened()
		if conn == nil {
			w.capabilities = mergeCapabilities(w.capabilities, json.RawMessage(`{"tools":{},"prompts":{},"resources":{}}`))
			continue
		}
		said := conn.Welcome()
		text, err := l.instructions(ctx, said)
		if err != nil {
			return welcome{}, err
		}
		if len(all) == 1 {
			w.single, w.instructions = accepting(said, text)
			w.capabilities, _ = rawjson.Get(said, "capabilities")
			if w.info, _ = rawjson.Get(said, "serverInfo"); w.info == nil {
				w.info, _ = rawjson.Get(said, "_meta", metaServerInfo)
			}
			break
		}
		if text != "" {
			instructions = append(instructions, "Server "+l.server.Name+":\n"+text)
		}
		if capabilities, ok := rawjson.Get(said, "capabilities"); ok {
			w.capabilities = mergeCapabilities(w.capabilities, capabilities)
		}
	}
	if len(all) > 1 {
		w.capabilities = announcing(w.capabilities)
	}
	if rawjson.Kind(w.capabilities) != '{' {
		w.capabilities = json.RawMessage(`{}`)
	}
	w.capabilities = mergeCapabilities(w.capabilities, json.RawMessage(ownLogging))
	if len(instructions) > 0 {
		w.instructions = rawjson.Quote(strings.Join(instructions, "\n\n"))
	}
	if w.info == nil {
		w.info, _ = json.Marshal(map[string]string{"name": "weir", "version": set.g.opts.Version})
	}
	return w, nil
}

// accepting returns a server's welcome with the instructions that were accepted, and these: as they are, if they are the server's.
func accepting(said json.RawMessage, accepted string) (welcome, instructions json.RawMessage) {
	raw, _ := rawjson.Get(said, "instructions")
	switch text, ok := rawjson.String(raw); {
	case ok && text == accepted:
		return said, raw
	case accepted == "":
		return rawjson.Delete(said, "instructions"), nil
	}
	return said, rawjson.Quote(accepted)
}

// mergeCapabilities adds the members of b to a, object by object; of two values that are no objects, true wins, else a's.
func mergeCapabilities(a, b json.RawMessage) json.RawMessage {
	for name, value := range rawjson.Members(b) {
		have, ok := rawjson.Get(a, name)
		switch {
		case ok && rawjson.Kind(have) == '{' && rawjson.Kind(value) == '{':
			value = mergeCapabilities(have, value)
		case ok && rawjson.Kind(value) != 't':
			continue
		}
		if merged, err := rawjson.Set(a, value, name); err == nil {
			a = merged
		}
	}
	return a
}
