package guard

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// ownMeta precedes the _meta members that hosts and Weir exchange.
const ownMeta = "dev.weir/"

// stripOwnMeta removes the members of _meta that hosts and Weir exchange: no server is told them, and none can forge
// them.
func stripOwnMeta(doc json.RawMessage) json.RawMessage {
	meta, ok := rawjson.Get(doc, "_meta")
	if !ok {
		return doc
	}
	for name := range rawjson.Members(meta) {
		if strings.HasPrefix(name, ownMeta) {
			doc = rawjson.Delete(doc, "_meta", name)
		}
	}
	return doc
}

// bareMeta removes the members of _meta that the call's server is not told. Weir's own go to nobody. Those of others
// tell more than anybody measures or is shown, so they go to no server that nobody vouches for once the session holds
// private data, and to none at all once it holds credentials. The label goes up all the same.
func bareMeta(c *Call, doc json.RawMessage, seen label.Label) json.RawMessage {
	if !seen.Private || c.Trust != contract.Untrusted && !seen.Sensitivity.Has(label.Credentials) {
		return stripOwnMeta(doc)
	}
	meta, ok := rawjson.Get(doc, "_meta")
	if !ok {
		return doc
	}
	kept := json.RawMessage("{}")
	for name, value := range rawjson.Members(meta) {
		if protocolMeta(c, name, value) {
			kept, _ = rawjson.Set(kept, value, name)
		}
	}
	doc, _ = rawjson.Set(doc, kept, "_meta")
	return doc
}

// protocolMeta reports whether a member of _meta is one of the protocol's that can tell next to nothing: the progress
// token of a request, for which the gateway puts a number of its own, the revision, and a level of log messages. A
// client's name and capabilities are those that the server was told first.
func protocolMeta(c *Call, name string, value json.RawMessage) bool {
	switch name {
	case "progressToken":
		return !c.asked && !strings.HasPrefix(c.Method, "notifications/")
	case "io.modelcontextprotocol/protocolVersion":
		return true
	case "io.modelcontextprotocol/logLevel":
		level, _ := rawjson.String(value)
		return string(rawjson.Quote(level)) == string(value) && slices.Contains(logLevels, level)
	}
	return false
}

// logLevels are those of RFC 5424.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
