package mcpguard

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// An introduction is how the client of one connection introduces itself: by its first words, which it says before an
// agent has seen anything. Later ones are not passed on.
type introduction struct {
	mu   sync.Mutex
	said map[string]json.RawMessage
}

// Members of the handshake of the older revisions.
const (
	helloProtocol     = "protocolVersion"
	helloClient       = "clientInfo"
	helloCapabilities = "capabilities"
)

// to returns params with the named members of the _meta of a request of the host.
func (i *introduction) to(params, request json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		said, _ := rawjson.Get(request, "_meta", name)
		if said = i.first(name, said); said != nil {
			params, _ = rawjson.Set(params, said, "_meta", name)
		}
	}
	return params
}

// whole returns params with all that a client says of itself in the _meta of a request.
func (i *introduction) whole(params, request json.RawMessage) json.RawMessage {
	return i.to(params, request, protocol.MetaVersion, protocol.MetaClientInfo, protocol.MetaCapabilities)
}

// hello returns the params of a handshake of the older revisions.
func (i *introduction) hello(request json.RawMessage) json.RawMessage {
	params := json.RawMessage("{}")
	for _, name := range []string{helloProtocol, helloCapabilities, helloClient} {
		said, _ := rawjson.Get(request, name)
		said = i.first(name, said)
		if said == nil && name == helloProtocol {
			said = rawjson.Quote(protocol.NewestLegacy) // for a revision that nobody knows, as a server would answer
		}
		if said != nil {
			params, _ = rawjson.Set(params, said, name)
		}
	}
	return params
}

// first returns the first value of a member, as servers get it; nil if the request has none, or none that is passed on.
func (i *introduction) first(name string, value json.RawMessage) json.RawMessage {
	if value == nil {
		return nil
	}
	var passed json.RawMessage
	switch name {
	case protocol.MetaVersion, helloProtocol: // those of a probe and of the handshake after it differ
		if version, ok := rawjson.String(value); ok && slices.Contains(protocol.Revisions, version) {
			return rawjson.Quote(version)
		}
		return nil
	case protocol.MetaClientInfo, helloClient:
		passed = (&protocol.Client{Info: value}).Introduction()
	default:
		passed = (&protocol.Client{Capabilities: value}).Abilities()
	}
	if rawjson.Kind(passed) != '{' {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if before, ok := i.said[name]; ok {
		return before
	}
	if i.said == nil {
		i.said = map[string]json.RawMessage{}
	}
	i.said[name] = slices.Clone(passed)
	return passed
}
