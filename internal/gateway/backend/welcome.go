package backend

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// A Welcome describes the servers together, in their own words.
type Welcome struct {
	Single       json.RawMessage // the whole answer, if there is one server only
	Capabilities json.RawMessage
	Info         json.RawMessage // the implementation
	Instructions json.RawMessage // those that were accepted; nil if none
}

// ownLogging is the capability that all hosts are told of.
const ownLogging = `{"logging":{}}`

// Welcome merges the handshakes of the connected servers: a capability is there if one server has it, and a
// member of it is true if it is true of one.
//
// Log messages are offered always: Weir has some of its own. Of several servers one that is not there yet may offer
// every kind of list, and hosts ask only for lists that they were told of.
func (set *Set) Welcome(ctx context.Context) (Welcome, error) {
	w := Welcome{Capabilities: json.RawMessage(`{}`)}
	var instructions []string
	all := set.All()
	for _, l := range all {
		conn := l.opened()
		if conn == nil {
			w.Capabilities = mergeCapabilities(w.Capabilities, json.RawMessage(`{"tools":{},"prompts":{},"resources":{}}`))
			continue
		}
		said := conn.Welcome()
		text, err := set.reviews.instructions(ctx, l.Name(), said)
		if err != nil {
			return Welcome{}, err
		}
		if len(all) == 1 {
			w.Single, w.Instructions = catalog.Accepting(said, text)
			w.Capabilities, _ = rawjson.Get(said, "capabilities")
			if w.Info, _ = rawjson.Get(said, "serverInfo"); w.Info == nil {
				w.Info, _ = rawjson.Get(said, "_meta", protocol.MetaServerInfo)
			}
			break
		}
		if text != "" {
			instructions = append(instructions, "Server "+l.Name()+":\n"+text)
		}
		if capabilities, ok := rawjson.Get(said, "capabilities"); ok {
			w.Capabilities = mergeCapabilities(w.Capabilities, capabilities)
		}
	}
	if len(all) > 1 {
		w.Capabilities = announcing(w.Capabilities)
	}
	if rawjson.Kind(w.Capabilities) != '{' {
		w.Capabilities = json.RawMessage(`{}`)
	}
	w.Capabilities = mergeCapabilities(w.Capabilities, json.RawMessage(ownLogging))
	if len(instructions) > 0 {
		w.Instructions = rawjson.Quote(strings.Join(instructions, "\n\n"))
	}
	if w.Info == nil {
		w.Info, _ = json.Marshal(map[string]string{"name": "weir", "version": set.Version})
	}
	return w, errors.Join(w.clean(set.Clean), set.tell())
}

// clean changes the texts as hosts get them.
func (w *Welcome) clean(as func(json.RawMessage) (json.RawMessage, error)) (err error) {
	for _, text := range []*json.RawMessage{&w.Single, &w.Capabilities, &w.Info, &w.Instructions} {
		if *text, err = as(*text); err != nil {
			return err
		}
	}
	return nil
}

// mergeCapabilities adds the members of b to a, object by object; of two values that are no objects, true wins, else
// a's.
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

// announcing adds to the capabilities of several servers that hosts are told when a list changes: if no server does so,
// Reload does. The capabilities of a single server stay as they are.
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
