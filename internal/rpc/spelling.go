package rpc

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// A decoder that ignores case, as Go's encoding/json does, reads {"name":"look","Name":"act"} as act, and
// {"Name":"act"} too. Weir and such a server would not read the same call. So wherever MCP names the members of an
// object, no member may differ in nothing but case from another one, or from one of MCP.
//
// Objects whose members the agent, a tool's schema or a person's form names are not looked at here: arguments,
// structured content, the content of a form, and the data of log messages and errors.

// A place is an object of MCP, or an array of such.
type place struct {
	known  *rawjson.Names
	inside map[string]*place // the places of its members
	each   *place            // the place of every other member, by any name; nil: nothing that is looked at
	all    bool              // nothing in it at any depth may have two names that differ in case
}

// fault returns whether there is such a member in a value at the place.
func (p *place) fault(value json.RawMessage) bool {
	switch rawjson.Kind(value) {
	case '[':
		for element := range rawjson.Elements(value) {
			if p.fault(element) {
				return true
			}
		}
	case '{':
		if rawjson.Folded(value, p.known) {
			return true
		}
		for name, member := range rawjson.Members(value) {
			if next := p.next(name); next != nil && next.fault(member) {
				return true
			}
		}
	}
	return false
}

// next returns the place of a member.
func (p *place) next(name string) *place {
	if next, ok := p.inside[name]; ok {
		return next
	}
	if p.all {
		return p
	}
	return p.each
}

// spelling reports the members of a message that are faulty in this way.
func (m *Message) spelling() *Error {
	switch {
	case m.Params != nil && places().params.fault(m.Params):
		return Errorf(InvalidParams, "a member of params differs from another, or from one of MCP, in nothing but case")
	case m.Result != nil && places().result.fault(forms(m.Result)):
		return Errorf(InvalidRequest, "a member of the result differs from another, or from one of MCP, in nothing but case")
	case m.Error != nil && places().fault.fault(m.Error):
		return Errorf(InvalidRequest, "a member of the error differs from another, or from one of MCP, in nothing but case")
	}
	return nil
}

// forms returns a result without a person's input in a form, whose members the form names: in the answer to an
// elicitation, content is an object and stands beside the action, and in no result of a server is it an object.
func forms(result json.RawMessage) json.RawMessage {
	_, answered := rawjson.Get(result, "action")
	content, _ := rawjson.Get(result, "content")
	if answered && rawjson.Kind(content) == '{' {
		return rawjson.Delete(result, "content")
	}
	return result
}

func words(list string) *rawjson.Names { return rawjson.NewNames(strings.Fields(list)...) }

// The names of the revisions up to 2026-07-28, and of the extensions that Weir reads.
const (
	ofEnvelope = "jsonrpc id method params result error"
	ofParams   = "_meta name arguments uri cursor ref argument context requestState inputResponses inputRequests level notifications " +
		"protocolVersion capabilities clientInfo requestId reason progressToken progress total message logger data task taskId " +
		"mode requestedSchema elicitationId url messages systemPrompt maxTokens modelPreferences includeContext temperature " +
		"stopSequences metadata tools toolChoice"
	ofResult = "_meta content structuredContent isError resultType inputRequests requestState contents messages description tools " +
		"prompts resources resourceTemplates nextCursor completion protocolVersion capabilities serverInfo instructions " +
		"supportedVersions tool name annotations ttlMs cacheScope role model stopReason action roots task tasks"
	ofBlock    = "type text data mimeType uri blob name title description size icons resource annotations _meta content isError id input toolUseId"
	ofMessage  = "role content _meta"
	ofTool     = "name title description inputSchema outputSchema annotations _meta icons execution resolve"
	ofPrompt   = "name title description arguments icons _meta required"
	ofResource = "uri uriTemplate name title description mimeType size annotations icons _meta"
	ofError    = "code message data"
	ofMeta     = "progressToken io.modelcontextprotocol/protocolVersion io.modelcontextprotocol/clientInfo " +
		"io.modelcontextprotocol/clientCapabilities io.modelcontextprotocol/logLevel io.modelcontextprotocol/serverInfo " +
		"io.modelcontextprotocol/subscriptionId io.modelcontextprotocol/tool-resolution io.modelcontextprotocol/trust-annotations " +
		"dev.weir/agent-session dev.weir/parent-agent-session dev.weir/user-message dev.weir/approval dev.weir/label dev.weir/contract dev.weir/verdict annotations traceparent tracestate baggage"
	ofReference  = "type name uri"
	ofArgument   = "name value"
	ofCompletion = "values total hasMore"
	ofRequest    = "method params"
)

var anything = &place{all: true}

// known are all of them. Marked are those by which results hold labels.
var known = sync.OnceValue(func() *rawjson.Names {
	return words(strings.Join([]string{ofEnvelope, ofParams, ofResult, ofBlock, ofMessage, ofTool, ofPrompt, ofResource, ofError, ofMeta,
		ofReference, ofArgument, ofCompletion, ofRequest}, " ")).Mark("_meta", "annotations")
})

// places are those of messages. They are made for the first message that may be faulty.
var places = sync.OnceValue(func() *messagePlaces {
	p := &messagePlaces{envelope: &place{known: words(ofEnvelope)}, meta: &place{known: words(ofMeta), all: true}, fault: &place{known: words(ofError)}}
	p.block = p.newBlock()
	p.message = &place{known: words(ofMessage), inside: map[string]*place{"content": p.block, "_meta": p.meta}}
	p.params, p.result = p.newParams(), p.newResult()
	return p
})

type messagePlaces struct{ envelope, meta, fault, block, message, params, result *place }

// newBlock returns the place of content blocks, which hold others.
func (m *messagePlaces) newBlock() *place {
	p := &place{known: words(ofBlock)}
	p.inside = map[string]*place{"resource": p, "content": p, "annotations": anything, "_meta": m.meta, "icons": anything}
	return p
}

// newParams returns the place of params, and of the params of a server's questions.
func (m *messagePlaces) newParams() *place {
	return &place{known: words(ofParams), inside: map[string]*place{
		"_meta": m.meta, "ref": {known: words(ofReference)}, "argument": {known: words(ofArgument)},
		"clientInfo": anything, "capabilities": anything, "notifications": anything, "messages": m.message,
		"inputResponses": {each: &place{known: words(ofResult), inside: map[string]*place{"_meta": m.meta}}},
		"tools":          m.newListed(ofTool),
	}}
}

// newListed returns the place of the entries of a list.
func (m *messagePlaces) newListed(names string) *place {
	return &place{known: words(names), inside: map[string]*place{"annotations": anything, "_meta": m.meta, "icons": anything, "execution": anything}}
}

func (m *messagePlaces) newResult() *place {
	prompts := m.newListed(ofPrompt)
	prompts.inside["arguments"] = &place{known: words(ofPrompt)}
	question := &place{known: words(ofRequest), inside: map[string]*place{"params": m.newParams()}}
	return &place{known: words(ofResult), inside: map[string]*place{
		"_meta": m.meta, "annotations": anything, "content": m.block, "contents": m.block, "messages": m.message,
		"tools": m.newListed(ofTool), "tool": m.newListed(ofTool), "prompts": prompts,
		"resources": m.newListed(ofResource), "resourceTemplates": m.newListed(ofResource),
		"completion": {known: words(ofCompletion)}, "inputRequests": {each: question},
		"capabilities": anything, "serverInfo": anything,
	}}
}
