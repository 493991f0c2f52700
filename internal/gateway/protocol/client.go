package protocol

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// A Client is the client that makes a request, by its own words: in the _meta of the request in 2026-07-28, in the
// handshake before.
type Client struct {
	Version      string
	Info         json.RawMessage // the client's implementation, raw; nil if it did not say
	Capabilities json.RawMessage // the client's capabilities, raw; nil if it has none
}

// Modern reports whether the client speaks 2026-07-28 or later.
func (c *Client) Modern() bool { return c.Version >= Modern }

// Bounds of the texts by which servers get to know a client, in bytes.
const (
	maxIntroduced = 128
	maxAbilities  = 8 << 10
)

// Introduction returns the client's implementation for servers: its names and version, where they are short.
func (c *Client) Introduction() json.RawMessage {
	if rawjson.Kind(c.Info) != '{' {
		return nil
	}
	short := json.RawMessage("{}")
	for _, name := range []string{"name", "title", "version"} {
		text, _ := rawjson.Get(c.Info, name)
		if s, ok := rawjson.String(text); ok && len(s) <= maxIntroduced {
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

// Abilities returns the capabilities of the client that servers are told of: of too many, those that MCP names, without
// more on them.
func (c *Client) Abilities() json.RawMessage {
	if len(c.Capabilities) <= maxAbilities {
		return c.Capabilities
	}
	known := json.RawMessage("{}")
	for _, name := range []string{"roots", "sampling", "elicitation"} {
		if _, ok := rawjson.Get(c.Capabilities, name); ok {
			known, _ = rawjson.Set(known, []byte("{}"), name)
		}
	}
	return known
}

// CanElicit reports whether the client can show a form to a person. An elicitation capability without members means
// form mode (2025-11-25, Elicitation, Capabilities).
func (c *Client) CanElicit() bool {
	e, ok := rawjson.Get(c.Capabilities, "elicitation")
	if !ok || rawjson.Kind(e) != '{' {
		return false
	}
	if _, form := rawjson.Get(e, "form"); form {
		return true
	}
	_, url := rawjson.Get(e, "url")
	return !url
}

// ReadClient reads the client from a request's _meta; nil if the request does not say its revision, and so belongs to a
// connection with a handshake.
func ReadClient(params json.RawMessage) (*Client, *rpc.Error) {
	raw, ok := rawjson.Get(params, "_meta", MetaVersion)
	if !ok {
		return nil, nil
	}
	version, ok := rawjson.String(raw)
	if !ok {
		return nil, &rpc.Error{Code: rpc.InvalidParams, Message: "_meta member " + MetaVersion + " is not a string"}
	}
	if !slices.Contains(Revisions, version) {
		return nil, unsupportedVersion(version)
	}
	c := &Client{Version: version}
	c.Info, _ = rawjson.Get(params, "_meta", MetaClientInfo)
	// "Servers MUST reject" a request without it, and need no clientInfo (2026-07-28, Request Metadata).
	if c.Capabilities, ok = rawjson.Get(params, "_meta", MetaCapabilities); !ok || rawjson.Kind(c.Capabilities) != '{' {
		return nil, rpc.Errorf(rpc.InvalidParams, "_meta member %s is missing or not an object", MetaCapabilities)
	}
	return c, nil
}

// FitResult fits a result to the revision that the host speaks: in 2026-07-28 every result has a type, and lists,
// resources and the discovery say how long they may be cached (2026-07-28, Caching).
func FitResult(result json.RawMessage, c *Client, cacheable bool) json.RawMessage {
	if !c.Modern() || rawjson.Kind(result) != '{' {
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

// CapabilityFor maps the requests that servers make of hosts to the capability that allows them (2025-11-25, Lifecycle,
// Capability Negotiation; 2026-07-28, Multi Round-Trip Requests).
var CapabilityFor = map[string]string{
	"elicitation/create":     "elicitation",
	"sampling/createMessage": "sampling",
	"roots/list":             "roots",
}

// TakesRequest reports whether a client with these capabilities answers such a request of a server.
func TakesRequest(capabilities json.RawMessage, method string) bool {
	name, known := CapabilityFor[method]
	if !known {
		return false
	}
	value, ok := rawjson.Get(capabilities, name)
	return ok && rawjson.Kind(value) == '{'
}

// Lacks returns the error for a request whose server asks the client for something of which the client has declared no
// capability; nil where it has, and for methods that MCP does not name (2026-07-28, Multi Round-Trip Requests).
func (c *Client) Lacks(method string) *rpc.Error {
	name, known := CapabilityFor[method]
	if !known || TakesRequest(c.Capabilities, method) {
		return nil
	}
	err := rpc.Errorf(rpc.MissingCapability, "the server asks for input with %s, and the request declares no capability for it", method)
	err.Data = json.RawMessage(`{"requiredCapabilities":{"` + name + `":{}}}`)
	return err
}

// Resolves reports whether the client has negotiated the extension for tool resolution.
func (c *Client) Resolves() bool {
	_, ok := rawjson.Get(c.Capabilities, "extensions", annotation.ResolutionExtension)
	return ok
}

// Offering adds tool resolution to the capabilities that are told to a host: as the extension to one that has
// negotiated it, and then also as SEP-1862 has it. Others are told the capabilities of the servers as they are; they
// may ask all the same.
func (c *Client) Offering(capabilities json.RawMessage) json.RawMessage {
	if _, tools := rawjson.Get(capabilities, "tools"); !tools || !c.Resolves() {
		return capabilities
	}
	out, err := rawjson.Set(capabilities, []byte("true"), "tools", "resolve")
	if err == nil {
		out, err = rawjson.Set(out, []byte("{}"), "extensions", annotation.ResolutionExtension)
	}
	if err != nil {
		return capabilities // which are no object that members can be added to
	}
	return out
}

// Undeclared returns the error for a request of 2026-07-28 to resolve a tool that its server has marked as the
// extension has it, and not as SEP-1862: only a host of the extension would ask, and it has to declare that with each
// request (tool-resolution, Negotiation). It is nil where there is nothing to object to.
func (c *Client) Undeclared(tool json.RawMessage) *rpc.Error {
	extension, core := annotation.Resolvable(tool)
	if !c.Modern() || c.Resolves() || !extension || core {
		return nil
	}
	err := rpc.Errorf(rpc.MissingCapability, "tools/resolve of this tool needs the extension %s in the request's clientCapabilities",
		annotation.ResolutionExtension)
	err.Data = json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + annotation.ResolutionExtension + `":{}}}}`)
	return err
}

// RequestsTaken names the requests of servers that a client takes, in one of a few dozen ways.
func RequestsTaken(capabilities json.RawMessage) string {
	var names []string
	for _, path := range [][]string{
		{"elicitation"}, {"elicitation", "form"}, {"elicitation", "url"},
		{"sampling"}, {"sampling", "tools"}, {"sampling", "context"}, {"roots"},
	} {
		if _, ok := rawjson.Get(capabilities, path...); ok {
			names = append(names, strings.Join(path, "."))
		}
	}
	return strings.Join(names, " ")
}
