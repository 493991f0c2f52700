package guard

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// ownMeta precedes the _meta members that hosts and Weir exchange.
const ownMeta = "dev.weir/"

// URI returns the attribution of what the call returns: mcp://server/name, or for a resource mcp://server/ and its URI.
func (c *Call) URI() string {
	return "mcp://" + url.PathEscape(c.Server) + "/" + (&url.URL{Path: c.Name}).EscapedPath()
}

// facts gathers what policy may know of the call.
func (c *Call) facts(phase policy.Phase, s session.State) *policy.Facts {
	args := c.Arguments
	if args == nil {
		args = json.RawMessage("{}")
	}
	roles, resources := c.parts()
	return &policy.Facts{
		Phase:     phase,
		Method:    c.Method,
		Tool:      policy.ToolFacts{Name: c.Name, Annotations: c.Effective, Declared: c.whatIsSaid()},
		Server:    policy.ServerFacts{Name: c.Server, Trust: c.Trust},
		Session:   policy.SessionFacts{ID: s.Key, Parent: s.Parent, Label: s.Label, Calls: int(s.Calls)},
		Arguments: args,
		Roles:     roles,
		Resources: resources,
	}
}

// canonicalArguments is the canonical form of everything that a call's params ask for: all members but the
// metadata and the answers of a multi round-trip request.
func canonicalArguments(params json.RawMessage) []byte {
	for _, member := range []string{"_meta", "inputResponses", "requestState"} {
		params = rawjson.Delete(params, member)
	}
	if len(params) == 0 {
		return []byte("{}")
	}
	return rawjson.Canonical(params)
}

// A canonical is the canonical form of a call's params.
type canonical struct {
	of     json.RawMessage // the params
	text   []byte
	salt   salt
	digest string
}

// canonicalParams returns the canonical form of the call's params as they are now.
func (c *Call) canonicalParams() *canonical {
	if c.canonical != nil && bytes.Equal(c.canonical.of, c.Params) {
		return c.canonical
	}
	k := &canonical{of: c.Params, text: canonicalArguments(c.Params)}
	rand.Read(k.salt[:]) // never fails
	k.digest = k.salt.digest(k.text)
	return k
}

// stripOwnMeta removes the members of _meta that hosts and Weir exchange: no server is told them, and none can forge them.
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

// bare removes the members of _meta that the call's server is not told. Weir's own go to nobody. Those of others tell more than
// anybody measures or is shown, so they go to no server that nobody vouches for once the session holds what is private, and to none at all
// once it holds credentials. What the label says of the data goes up all the same.
func (c *Call) bare(doc json.RawMessage, seen label.Label) json.RawMessage {
	if !seen.Private || c.Trust != contract.Untrusted && !seen.Sensitivity.Has(label.Credentials) {
		return stripOwnMeta(doc)
	}
	meta, ok := rawjson.Get(doc, "_meta")
	if !ok {
		return doc
	}
	kept := json.RawMessage("{}")
	for name, value := range rawjson.Members(meta) {
		if c.protocolMeta(name, value) {
			kept, _ = rawjson.Set(kept, value, name)
		}
	}
	doc, _ = rawjson.Set(doc, kept, "_meta")
	return doc
}

// protocolMeta reports whether a member of _meta is one of the protocol's that can tell next to nothing: the progress token of a
// request, for which the gateway puts a number of its own, the revision, and a level of log messages. A client's name and capabilities are those that
// the server was told first.
func (c *Call) protocolMeta(name string, value json.RawMessage) bool {
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

func isToolError(result json.RawMessage) bool {
	v, ok := rawjson.Get(result, "isError")
	if !ok {
		return false
	}
	isError, _ := rawjson.Bool(v)
	return isError
}
