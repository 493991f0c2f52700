package rpc

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// Error codes of JSON-RPC 2.0 (5.1), and of MCP revision 2026-07-28 below -32019.
const (
	ParseError         = -32700
	InvalidRequest     = -32600
	MethodNotFound     = -32601
	InvalidParams      = -32602
	InternalError      = -32603
	HeaderMismatch     = -32020 // an HTTP header contradicts the body
	MissingCapability  = -32021 // the request needs a capability that the client did not declare
	UnsupportedVersion = -32022 // of the protocol; the data lists the supported ones
)

// An Error is the error object of a response.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // nil if absent
	ID      json.RawMessage // of the request at fault, for whoever answers it; nil if not known; never encoded
}

// Errorf returns an error with a formatted message.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error returns the message, cut short if a peer made it long, and the code.
func (e *Error) Error() string {
	const most = 500
	text := e.Message
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text + " (code " + strconv.Itoa(e.Code) + ")"
}

// MarshalJSON encodes the error object.
func (e *Error) MarshalJSON() ([]byte, error) { return e.append(nil), nil }

// UnmarshalJSON decodes an error object. A code that is missing or no integer reads as InternalError.
func (e *Error) UnmarshalJSON(data []byte) error {
	if err := rawjson.Check(data); err != nil {
		return fmt.Errorf("reading error object: %w", err)
	}
	if rawjson.Kind(data) != '{' {
		return fmt.Errorf("reading error object: not an object")
	}
	*e = *decodeError(data)
	return nil
}

func (e *Error) append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"code":`...), int64(e.Code), 10)
	dst = rawjson.AppendQuote(append(dst, `,"message":`...), e.Message)
	if e.Data != nil {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	return append(dst, '}')
}

// decodeError reads a checked error object, as far as it is one.
func decodeError(data []byte) *Error {
	e := &Error{Code: InternalError}
	for name, value := range rawjson.Members(data) {
		switch name {
		case "code":
			if n, err := strconv.Atoi(string(value)); err == nil {
				e.Code = n
			}
		case "message":
			e.Message, _ = rawjson.String(value)
		case "data":
			e.Data = value
		}
	}
	return e
}
