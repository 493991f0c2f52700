package gateway

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
)

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
				w.info, _ = rawjson.Get(said, "_meta", protocol.MetaServerInfo)
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

// announcing adds to what several servers offer that hosts are told when a list changes: if no server does so, Reload does.
// What a single server says of itself stays as it is.
func announcing(capabilities json.RawMessage) json.RawMessage {
	for _, a := range announcements {
		if _, ok := rawjson.Get(capabilities, a.capability); !ok {
			continue
		}
		if more, err := rawjson.Set(capabilities, []byte("true"), a.capability, "listChanged"); err == nil {
			capabilities = more
		}
	}
	return capabilities
}
