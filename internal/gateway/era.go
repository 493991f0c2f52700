package gateway

import (
	"encoding/json"
	"slices"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// The protocol's revisions, newest first. From Modern on there is no handshake: every request says in its _meta which
// revision it speaks and what its client can do.
const (
	modern       = "2026-07-28"
	newestLegacy = "2025-11-25"
)

var revisions = []string{modern, newestLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}

// Members of _meta that every request of 2026-07-28 carries.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"       // of a request that wants log messages
	metaSubscription = "io.modelcontextprotocol/subscriptionId" // of a notification that was listened for
)

// A caller is what a request says of the client that made it: by its own _meta in 2026-07-28, by the handshake before.
type caller struct {
	version      string
	info         json.RawMessage // the client's implementation, raw; nil if it did not say
	capabilities json.RawMessage // the client's capabilities, raw; nil if it has none
}

func (c *caller) modern() bool { return c.version >= modern }

// Bounds of what servers are told of a client, in bytes.
const (
	maxName      = 128
	maxAbilities = 8 << 10
)

// introduction returns what servers are told of the client's implementation: its names and version, where they are short.
func (c *caller) introduction() json.RawMessage {
	if rawjson.Kind(c.info) != '{' {
		return nil
	}
	short := json.RawMessage("{}")
	for _, name := range []string{"name", "title", "version"} {
		text, _ := rawjson.Get(c.info, name)
		if s, ok := rawjson.String(text); ok && len(s) <= maxName {
			short, _ = rawjson.Set(short, rawjson.Quote(s), name)
		}
	}
	for _, name := range []string{"name", "version"} { // which servers want
		if _, ok := rawjson.Get(short, name); !ok {
			short, _ = rawjson.Set(short, []byte(`""`), name)
		}
	}
	return short
}

// abilities returns the capabilities of the client that servers are told of: of too many, those that MCP names, without more on them.
func (c *caller) abilities() json.RawMessage {
	if len(c.capabilities) <= maxAbilities {
		return c.capabilities
	}
	known := json.RawMessage("{}")
	for _, name := range []string{"roots", "sampling", "elicitation"} {
		if _, ok := rawjson.Get(c.capabilities, name); ok {
			known, _ = rawjson.Set(known, []byte("{}"), name)
		}
	}
	return known
}

// canElicit reports whether the client can show a form to a person. An elicitation capability without members means form
// mode (2025-11-25, Elicitation, Capabilities).
func (c *caller) canElicit() bool {
	e, ok := rawjson.Get(c.capabilities, "elicitation")
	if !ok || rawjson.Kind(e) != '{' {
		return false
	}
	if _, form := rawjson.Get(e, "form"); form {
		return true
	}
	_, url := rawjson.Get(e, "url")
	return !url
}

// modernCaller reads the client from a request's _meta; nil if the request does not say its revision, and so belongs to a
// connection with a handshake.
func modernCaller(params json.RawMessage) (*caller, *rpc.Error) {
	raw, ok := rawjson.Get(params, "_meta", metaVersion)
	if !ok {
		return nil, nil
	}
	version, ok := rawjson.String(raw)
	if !ok {
		return nil, &rpc.Error{Code: rpc.InvalidParams, Message: "_meta member " + metaVersion + " is not a string"}
	}
	if !slices.Contains(revisions, version) {
		return nil, unsupportedVersion(version)
	}
	c := &caller{version: version}
	c.info, _ = rawjson.Get(params, "_meta", metaClientInfo)
	// "Servers MUST reject" a request without it, and need no clientInfo (2026-07-28, Request Metadata).
	if c.capabilities, ok = rawjson.Get(params, "_meta", metaCapabilities); !ok || rawjson.Kind(c.capabilities) != '{' {
		return nil, rpc.Errorf(rpc.InvalidParams, "_meta member %s is missing or not an object", metaCapabilities)
	}
	return c, nil
}

// ofOtherEra reports whether only the revisions of the other era know the method (2026-07-28, Changelog).
func ofOtherEra(method string, isModern bool) bool {
	switch method {
	case "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return isModern
	case "server/discover", "subscriptions/listen":
		return !isModern
	}
	return false
}

func unsupportedVersion(requested string) *rpc.Error {
	data, _ := json.Marshal(map[string]any{"supported": revisions, "requested": requested})
	return &rpc.Error{Code: rpc.UnsupportedVersion, Message: "unsupported protocol version", Data: data}
}

// forHost fits a result to the revision that the host speaks: in 2026-07-28 every result has a type, and lists, resources
// and the discovery say how long they may be cached (2026-07-28, Caching).
func forHost(result json.RawMessage, c *caller, cacheable bool) json.RawMessage {
	if !c.modern() || rawjson.Kind(result) != '{' {
		return result
	}
	defaults := []struct{ name, value string }{{"resultType", `"complete"`}}
	if cacheable {
		defaults = append(defaults, struct{ name, value string }{"ttlMs", "0"}, struct{ name, value string }{"cacheScope", `"private"`})
	}
	for _, d := range defaults {
		if _, ok := rawjson.Get(result, d.name); ok {
			continue
		}
		if set, err := rawjson.Set(result, []byte(d.value), d.name); err == nil {
			result = set
		}
	}
	return result
}
