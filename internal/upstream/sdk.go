package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// toSDK converts a message that is to be sent. Members of the envelope that JSON-RPC does not have are lost.
func toSDK(m *rpc.Message) (jsonrpc.Message, error) {
	id, err := idToSDK(m.ID)
	if err != nil {
		return nil, err
	}
	if !m.IsResponse() {
		return &jsonrpc.Request{ID: id, Method: m.Method, Params: m.Params}, nil
	}
	if e := m.Failure(); e != nil {
		return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: int64(e.Code), Message: e.Message, Data: e.Data}}, nil
	}
	return &jsonrpc.Response{ID: id, Result: m.Result}, nil
}

// idToSDK converts an id; nil is none.
func idToSDK(raw json.RawMessage) (jsonrpc.ID, error) {
	if raw == nil {
		return jsonrpc.ID{}, nil
	}
	if s, ok := rawjson.String(raw); ok {
		return jsonrpc.MakeID(s)
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return jsonrpc.ID{}, fmt.Errorf("id is neither a string nor an integer")
	}
	// Exact: either the id is our own and small, or the SDK made it from a float64.
	return jsonrpc.MakeID(float64(n))
}

// idFromSDK returns the JSON text of an id, nil if there is none.
func idFromSDK(id jsonrpc.ID) json.RawMessage {
	switch v := id.Raw().(type) {
	case int64:
		return strconv.AppendInt(nil, v, 10)
	case string:
		return rawjson.Quote(v)
	}
	return nil
}

// fromSDK converts a message that was received. The SDK has decoded the envelope but takes duplicate names and bad
// UTF-8: what is inside is checked here, and the error is a [*rpc.BadMessage].
func fromSDK(m jsonrpc.Message) (*rpc.Message, error) {
	switch m := m.(type) {
	case *jsonrpc.Request:
		return requestFromSDK(m)
	case *jsonrpc.Response:
		return responseFromSDK(m)
	}
	return nil, &rpc.BadMessage{Err: rpc.Errorf(rpc.InvalidRequest, "neither a request nor a response")}
}

func requestFromSDK(m *jsonrpc.Request) (*rpc.Message, error) {
	id := idFromSDK(m.ID)
	params, err := checked(m.Params)
	switch {
	case err != nil:
	case !utf8.ValidString(m.Method) || m.Method == "":
		err = rpc.Errorf(rpc.InvalidRequest, "method is not a name")
	case string(params) == "null":
		params = nil
	case params != nil && rawjson.Kind(params) != '{':
		err = rpc.Errorf(rpc.InvalidRequest, "params is not an object")
	}
	if err != nil {
		err.ID = id
		return nil, badMessage(err, nil, m.Params)
	}
	return &rpc.Message{ID: id, Method: m.Method, Params: params}, nil
}

func responseFromSDK(m *jsonrpc.Response) (*rpc.Message, error) {
	id := idFromSDK(m.ID)
	if m.Error != nil {
		e, ok := m.Error.(*jsonrpc.Error)
		if !ok {
			// Made by the SDK: the response ended without the answer.
			return nil, badMessage(rpc.Errorf(rpc.InternalError, "%v", m.Error), id, nil)
		}
		raw, err := errorFromSDK(e)
		if err != nil {
			return nil, badMessage(err, id, e.Data)
		}
		return &rpc.Message{ID: id, Error: raw}, nil
	}
	result, err := checked(m.Result)
	switch {
	case err != nil:
	case result == nil:
		err = rpc.Errorf(rpc.InvalidRequest, "response has no result and no error")
	}
	if err != nil {
		return nil, badMessage(err, id, m.Result)
	}
	return &rpc.Message{ID: id, Result: result}, nil
}

// errorFromSDK returns the text of an error object. Members that JSON-RPC does not have are lost.
func errorFromSDK(e *jsonrpc.Error) (json.RawMessage, *rpc.Error) {
	data, err := checked(e.Data)
	if err != nil {
		return nil, err
	}
	// Of an error that marshals its own text, this cannot fail.
	raw, _ := (&rpc.Error{Code: int(e.Code), Message: e.Message, Data: data}).MarshalJSON()
	return raw, nil
}

// checked returns raw without the white space around it; nil if there is nothing.
func checked(raw json.RawMessage) (json.RawMessage, *rpc.Error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, nil
	}
	if err := rawjson.Check(raw); err != nil {
		return nil, rpc.Errorf(rpc.ParseError, "parse error %v", err)
	}
	return raw, nil
}

// badMessage describes a message of which the SDK left raw.
func badMessage(e *rpc.Error, answers, raw json.RawMessage) *rpc.BadMessage {
	return &rpc.BadMessage{Err: e, Answers: answers, Raw: bytes.Clone(raw[:min(len(raw), 256)])}
}

// isRejection reports whether an error is the SDK's own mark for "this message only", which has the form of a server's.
func isRejection(e *jsonrpc.Error) bool {
	return e.Code == -32005 && e.Message == "rejected by transport"
}
