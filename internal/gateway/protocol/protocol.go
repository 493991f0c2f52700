// Package protocol holds the parts of MCP that hosts and servers of different revisions need of each other: revisions,
// the members of _meta and of results, how a client introduces itself, and the headers that repeat arguments. It
// decides nothing.
package protocol

import (
	"encoding/json"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// The newest revision with requests that stand alone, and the newest with a handshake. From Modern on every request
// names in its _meta the revision and the capabilities of its client.
const (
	Modern       = "2026-07-28"
	NewestLegacy = "2025-11-25"
)

// Revisions are the revisions that Weir speaks, newest first.
var Revisions = []string{Modern, NewestLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}

// Members of _meta that every request of 2026-07-28 carries.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo   = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaServerInfo   = "io.modelcontextprotocol/serverInfo"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"       // of a request that wants log messages
	MetaSubscription = "io.modelcontextprotocol/subscriptionId" // of a notification that was listened for
)

// Levels are the severities of log messages, least first (2025-11-25, Logging).
var Levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// OfOtherEra reports whether only the revisions of the other era know the method (2026-07-28, Changelog).
func OfOtherEra(method string, isModern bool) bool {
	switch method {
	case "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return isModern
	case "server/discover", "subscriptions/listen":
		return !isModern
	}
	return false
}

func unsupportedVersion(requested string) *rpc.Error {
	data, _ := json.Marshal(map[string]any{"supported": Revisions, "requested": requested})
	return &rpc.Error{Code: rpc.UnsupportedVersion, Message: "unsupported protocol version", Data: data}
}

// MetaString returns a member of the _meta of params that is a text; "" if there is none.
func MetaString(params json.RawMessage, name string) string {
	raw, ok := rawjson.Get(params, "_meta", name)
	if !ok {
		return ""
	}
	s, _ := rawjson.String(raw)
	return s
}

// Members of a result that requires input, and of the request with which a host comes back.
const (
	ResultType     = "resultType"
	InputRequests  = "inputRequests"
	InputResponses = "inputResponses"
	RequestState   = "requestState"
)

// NeedsInput reports whether a result is not one yet: its server wants to know something first, and then to be asked
// again (2026-07-28, Multi Round-Trip Requests).
func NeedsInput(result json.RawMessage) bool {
	raw, _ := rawjson.Get(result, ResultType)
	return IsInputRequired(raw)
}

// IsInputRequired reports whether a resultType says that its server needs input first.
func IsInputRequired(kind json.RawMessage) bool {
	s, _ := rawjson.String(kind)
	return s == "input_required"
}
