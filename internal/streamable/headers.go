package streamable

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// Headers of the binding, in canonical form.
const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// firstModern is the first revision without sessions.
const firstModern = "2026-07-28"

// legacy lists the revisions with sessions. Every other one, known or not, belongs to the era of firstModern.
var legacy = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

func isModern(version string) bool { return version != "" && !slices.Contains(legacy, version) }

// check holds the headers of a POST against its message and says which era it belongs to. (Streamable HTTP,
// Request Metadata and Server Validation.)
func (g *gate) check(header http.Header, m *rpc.Message) (modern bool, f *refusal) {
	for _, name := range []string{versionHeader, sessionHeader, methodHeader, nameHeader} {
		if len(header.Values(name)) > 1 {
			return false, mismatch(m, "header %s is given more than once", name)
		}
	}
	version := header.Get(versionHeader)
	if f := g.supported(version, m.ID); f != nil {
		return false, f
	}
	claimed, _ := rawjson.Get(m.Params, "_meta", "io.modelcontextprotocol/protocolVersion")
	inBody, _ := rawjson.String(claimed)
	if !isModern(version) && !isModern(inBody) {
		return false, g.mirrored(header, m, false)
	}
	switch {
	case m.IsResponse():
		return true, invalid(m, rpc.InvalidRequest, "responses cannot be posted in this revision")
	case m.IsNotification() && inBody == "":
		// Notifications have no header requirements yet; the headers that are sent must be true.
	case version == "":
		return true, mismatch(m, "header %s is missing", versionHeader)
	case inBody == "":
		return true, invalid(m, rpc.InvalidParams, "_meta has no io.modelcontextprotocol/protocolVersion")
	case version != inBody:
		return true, mismatch(m, "header %s is %q, the body says %q", versionHeader, version, inBody)
	}
	return true, g.mirrored(header, m, m.IsRequest())
}

// supported refuses a version that is given and not among the accepted.
func (g *gate) supported(version string, id json.RawMessage) *refusal {
	if version == "" || slices.Contains(g.opts.Versions, version) {
		return nil
	}
	data := []byte(`{"supported":[`)
	for i, v := range g.opts.Versions {
		if i > 0 {
			data = append(data, ',')
		}
		data = rawjson.AppendQuote(data, v)
	}
	data = rawjson.AppendQuote(append(data, `],"requested":`...), version)
	return &refusal{
		status: http.StatusBadRequest,
		code:   rpc.UnsupportedVersion,
		text:   "unsupported protocol version",
		data:   append(data, '}'),
		id:     id,
	}
}

// mirrored checks Mcp-Method and Mcp-Name, which intermediaries may have acted on. Older revisions do not know
// them, but whoever sends them must not lie.
func (g *gate) mirrored(header http.Header, m *rpc.Message, required bool) *refusal {
	if m.IsResponse() {
		return nil
	}
	if got := header.Get(methodHeader); got == "" && required {
		return mismatch(m, "header %s is missing", methodHeader)
	} else if got != "" && got != m.Method {
		return mismatch(m, "header %s is %q, the body says %q", methodHeader, got, m.Method)
	}
	source := "name"
	switch m.Method {
	case "tools/call", "prompts/get":
	case "resources/read":
		source = "uri"
	default:
		return nil
	}
	raw, _ := rawjson.Get(m.Params, source)
	want, _ := rawjson.String(raw)
	sent := header.Get(nameHeader)
	if sent == "" && want != "" && required {
		return mismatch(m, "header %s is missing", nameHeader)
	}
	got, ok := decodeValue(sent)
	if !ok {
		return mismatch(m, "header %s has invalid characters or encoding", nameHeader)
	}
	if sent != "" && got != want {
		return mismatch(m, "header %s is %q, the body says %q", nameHeader, got, want)
	}
	return nil
}

// decodeValue returns the text of a header value: printable ASCII as it is, or any UTF-8 as =?base64?…?=.
// (Streamable HTTP, Value Encoding.)
func decodeValue(v string) (text string, ok bool) {
	for i := range len(v) {
		if c := v[i]; (c < ' ' || c > '~') && c != '\t' {
			return "", false
		}
	}
	body, ok := strings.CutPrefix(v, "=?base64?")
	if !ok || !strings.HasSuffix(body, "?=") {
		return v, true
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(body, "?="))
	return string(data), err == nil
}

// mismatch is the error that the specification calls HeaderMismatch. Text from the body is cut: it is to be seen, not
// sent back whole.
func mismatch(m *rpc.Message, format string, args ...any) *refusal {
	const most = 100
	for i, arg := range args {
		if s, ok := arg.(string); ok && len(s) > most {
			args[i] = strings.ToValidUTF8(s[:most], "") + "…"
		}
	}
	return invalid(m, rpc.HeaderMismatch, "header mismatch: "+fmt.Sprintf(format, args...))
}
