package streamable

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/weir-mcp/weir/internal/rpc"
)

// A refusal is the answer to a request that never reaches a connection. This file is where reasons become HTTP.
type refusal struct {
	status int
	text   string          // the body, if there is no code
	code   int             // JSON-RPC error code, or 0
	id     json.RawMessage // of the request, if it is known
	data   json.RawMessage // of the JSON-RPC error
	allow  string          // for 405
}

func forbidden(text string) *refusal { return &refusal{status: http.StatusForbidden, text: text} }
func unavailable(text string) *refusal {
	return &refusal{status: http.StatusServiceUnavailable, text: text}
}

func methodNotAllowed(allow string) *refusal {
	return &refusal{status: http.StatusMethodNotAllowed, text: "method not allowed", allow: allow}
}

// invalid is a request that is wrong in itself: HTTP 400 with a JSON-RPC error.
func invalid(m *rpc.Message, code int, text string) *refusal {
	return &refusal{status: http.StatusBadRequest, text: text, code: code, id: m.ID}
}

// malformed is a body that holds no message.
func malformed(err error) *refusal {
	f := &refusal{status: http.StatusBadRequest, text: err.Error(), code: rpc.ParseError}
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		f.text, f.code, f.id, f.data = e.Message, e.Code, e.ID, e.Data
	}
	return f
}
