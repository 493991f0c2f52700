package guard

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
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

func isToolError(result json.RawMessage) bool {
	v, ok := rawjson.Get(result, "isError")
	if !ok {
		return false
	}
	isError, _ := rawjson.Bool(v)
	return isError
}
