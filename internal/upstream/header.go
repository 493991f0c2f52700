package upstream

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// The HTTP headers of the streamable HTTP transport, in canonical form.
const (
	headerProtocol  = "Mcp-Protocol-Version"
	headerSession   = "Mcp-Session-Id"
	headerLastEvent = "Last-Event-Id"
	headerMethod    = "Mcp-Method"
	headerName      = "Mcp-Name"
)

// header returns the headers of a message.
func (s *streamable) header(m *rpc.Message, extra http.Header) http.Header {
	header := s.common(8 + len(extra))
	for name, values := range extra {
		header[name] = values
	}
	header["Content-Type"] = []string{"application/json"}
	header["Accept"] = []string{"application/json, " + eventStream}
	protocol := header.Get(headerProtocol)
	if protocol == "" {
		// Before a revision is agreed on, each question says in which it is.
		raw, _ := rawjson.Get(m.Params, "_meta", metaProtocol)
		if protocol, _ = rawjson.String(raw); protocol != "" {
			header[headerProtocol] = []string{protocol}
		}
	}
	if !isModern(protocol) || m.IsResponse() {
		return header
	}
	// Revision 2026-07-28, Streamable HTTP, Standard Headers.
	delete(header, headerSession)
	header[headerMethod] = []string{m.Method}
	if member := namedBy[m.Method]; member != "" {
		raw, _ := rawjson.Get(m.Params, member)
		if name, ok := rawjson.String(raw); ok {
			header[headerName] = []string{HeaderValue(name)}
		}
	}
	return header
}

// namedBy are the params that the Mcp-Name header repeats.
var namedBy = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// common returns the headers of all requests, with room for more.
func (s *streamable) common(room int) http.Header {
	header := make(http.Header, room)
	if protocol := s.agreed(); protocol != "" {
		header[headerProtocol] = []string{protocol}
	}
	if session := s.session.Load(); session != nil {
		header[headerSession] = []string{*session}
	}
	return header
}

type headerKey struct{}

// WithHeader returns a context for [Conn.Call] that has the header sent with the HTTP request, where there is one. It
// must not change afterwards, and its names are in canonical form.
func WithHeader(ctx context.Context, header http.Header) context.Context {
	return context.WithValue(ctx, headerKey{}, header)
}

func headerOf(ctx context.Context) http.Header {
	header, _ := ctx.Value(headerKey{}).(http.Header)
	return header
}

// HeaderValue returns a text as a header repeats it: in Base64 if it is not plain ASCII, or would lose white space
// (revision 2026-07-28, Streamable HTTP, Value Encoding).
func HeaderValue(text string) string {
	plain := strings.TrimSpace(text) == text && !strings.HasPrefix(text, "=?base64?") &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}
