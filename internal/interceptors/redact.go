package interceptors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/weir-mcp/weir/interceptor"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// redact is weir-redact. In a request only arguments are replaced: another name is another tool.
func (p *desk) redact(_ context.Context, in *interceptor.Invocation) (interceptor.Change, error) {
	if _, err := p.server(in); err != nil {
		return interceptor.Change{}, err
	}
	if rawjson.Kind(in.Payload) != '{' {
		return interceptor.Change{}, bad("the payload is not an object")
	}
	if in.Phase == interceptor.Response {
		shown, err := p.clean(in.Payload)
		if err == nil && !samePlaces(in.Payload, shown) {
			err = errors.New("a value that is redacted stands where the protocol reads it")
		}
		return interceptor.Change{Payload: shown}, err
	}
	sent, err := params(in)
	if err != nil {
		return interceptor.Change{}, err
	}
	path := []string{"arguments"}
	if _, wrapped := rawjson.Get(in.Payload, "params"); wrapped {
		path = []string{"params", "arguments"}
	}
	arguments, there := rawjson.Get(sent, "arguments")
	if !there {
		return interceptor.Change{}, nil
	}
	shown, err := p.clean(arguments)
	if err != nil || bytes.Equal(shown, arguments) {
		return interceptor.Change{}, err
	}
	payload, err := rawjson.Set(in.Payload, shown, path...)
	return interceptor.Change{Payload: payload}, err
}

// clean returns a text without the findings that are redacted.
func (p *desk) clean(text json.RawMessage) (json.RawMessage, error) {
	shown, err := p.Guard.Clean(text)
	if err != nil {
		return nil, p.failed("redacting a payload", err)
	}
	return shown, nil
}

// samePlaces reports whether two results have the same members that MCP goes by.
func samePlaces(a, b json.RawMessage) bool {
	for _, name := range [...]string{"resultType", "requestState", "task", "nextCursor", "inputRequests"} {
		before, _ := rawjson.Get(a, name)
		after, _ := rawjson.Get(b, name)
		if !bytes.Equal(before, after) {
			return false
		}
	}
	return true
}
