package protocol

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// UnknownMembers says why a request with members Beyond those of MCP may do anything.
const UnknownMembers = "the request has members that MCP does not know"

// Beyond returns the members of a request's params that MCP does not have for the method; nil if there are none. The
// members of completions count as arguments, but for the reference.
func Beyond(method string, params json.RawMessage) json.RawMessage {
	out, is := json.RawMessage("{}"), false
	for name, value := range rawjson.Members(params) {
		if hasMember(method, name, value) {
			continue
		}
		if more, err := rawjson.Set(out, value, name); err == nil {
			out, is = more, true
		}
	}
	if !is {
		return nil
	}
	return out
}

// hasMember reports whether MCP has a member for the params of a method.
func hasMember(method, name string, value json.RawMessage) bool {
	switch name {
	case "_meta", InputResponses, RequestState: // see ComesBack
		return true
	case "name", "arguments":
		return method == "tools/call" || method == "prompts/get" || method == "tools/resolve"
	case "uri":
		return strings.HasPrefix(method, "resources/")
	case "task":
		ttl, _ := rawjson.Get(value, "ttl")
		return method == "tools/call" && rawjson.Kind(value) == '{' && (rawjson.Kind(ttl) == '0' || ttl == nil) &&
			string(rawjson.Canonical(rawjson.Delete(value, "ttl"))) == "{}"
	case "ref":
		rest := rawjson.Delete(rawjson.Delete(value, "name"), "uri")
		kind, _ := rawjson.Get(rest, "type")
		return rawjson.Kind(value) == '{' && (string(kind) == `"ref/prompt"` || string(kind) == `"ref/resource"`) &&
			string(rawjson.Canonical(rawjson.Delete(rest, "type"))) == "{}"
	}
	return method == "completion/complete" // where they are arguments
}

// Returns reports whether a request says that it comes back to a server: whether it has a requestState or
// inputResponses. See ComesBack.
func Returns(params json.RawMessage) bool {
	_, state := rawjson.Get(params, RequestState)
	_, answers := rawjson.Get(params, InputResponses)
	return state || answers
}

// Unasked returns the members of a request's params that MCP does not have, with a requestState and with answers for
// which no server asked: these are an agent's choice like any other member.
func Unasked(beyond, params json.RawMessage) (json.RawMessage, error) {
	for _, name := range []string{RequestState, InputResponses} {
		value, ok := rawjson.Get(params, name)
		if !ok {
			continue
		}
		var err error
		if beyond, err = rawjson.Set([]byte(cmp.Or(string(beyond), "{}")), value, name); err != nil {
			return nil, err
		}
	}
	return beyond, nil
}

// Answering returns params without those of their inputResponses that answer no question that was asked.
func Answering(params json.RawMessage, asked func(name string) bool) json.RawMessage {
	responses, ok := rawjson.Get(params, InputResponses)
	if !ok || rawjson.Kind(responses) != '{' {
		return params
	}
	for name := range rawjson.Members(responses) {
		if !asked(name) {
			params = rawjson.Delete(params, InputResponses, name)
		}
	}
	return params
}

// ComesBack returns the error of params whose inputResponses or requestState are not those with which a host comes
// back to a question: the state one that a server gave, each answer an object under the name of a question that the
// server asked. Nothing measures any other, and no approval covers it.
func ComesBack(params json.RawMessage, given func(state json.RawMessage) bool, asked func(name string) bool) error {
	if state, ok := rawjson.Get(params, RequestState); ok && !given(state) {
		return errors.New("params.requestState is none that the server gave; call again without it")
	}
	responses, ok := rawjson.Get(params, InputResponses)
	if ok && rawjson.Kind(responses) != '{' {
		return errors.New("params.inputResponses is not an object")
	}
	for name, answer := range rawjson.Members(responses) {
		if !asked(name) || rawjson.Kind(answer) != '{' {
			return errors.New("params.inputResponses has a member that answers no question of the server")
		}
	}
	return nil
}
