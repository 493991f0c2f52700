package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/session"
)

// The names by which a host says which agent session a request belongs to.
const (
	metaSession   = "dev.weir/agent-session"
	metaParent    = "dev.weir/parent-agent-session"
	headerSession = "Weir-Agent-Session"
)

// baggageKeys are the members of OpenTelemetry baggage that name a conversation, in the order in which they count.
var baggageKeys = []string{"gen_ai.conversation.id", "session.id"}

// maxKeyValue bounds what a host may choose as a key; a longer one is replaced by its digest.
const maxKeyValue = 200

// A host is what the gateway knows of the other end of a host connection.
type host struct {
	principal  string      // whose agents these are
	mcpSession string      // Mcp-Session-Id, for HTTP in the older revisions
	process    string      // unguessable name of the connection, for stdio
	header     http.Header // of the HTTP request; nil for stdio
	shared     bool        // whether connections to servers are shared with other requests of the principal

	usual string // agent session of what names none
}

// named returns the host with the key of the agent session that its requests belong to if they name none.
func (h host) named() host {
	switch {
	case h.mcpSession != "":
		h.usual = h.key("mcp", h.mcpSession)
	case h.process != "":
		h.usual = h.key("process", h.process)
	default:
		h.usual = h.key("principal", "")
	}
	return h
}

// sessionRef derives the agent session of a request. A connection is not a conversation, and 2026-07-28 has no protocol
// session, so the first of these counts: _meta["dev.weir/agent-session"]; the conversation or session id in baggage
// (_meta.baggage, then the HTTP header); the HTTP header Weir-Agent-Session; Mcp-Session-Id; the stdio connection; else
// the principal. Coarser is safe: it only joins more. Every key begins with the principal, so nobody reaches another's
// session. A session that its host names may name the session it descends from. Nothing that a model writes is looked at.
func (h *host) sessionRef(params json.RawMessage) session.Ref {
	ref := session.Ref{Principal: h.principal, Key: h.usual}
	meta, _ := rawjson.Get(params, "_meta")
	said := func(name string) string {
		raw, _ := rawjson.Get(meta, name)
		s, _ := rawjson.String(raw)
		return s
	}
	switch {
	case said(metaSession) != "":
		ref.Key = h.key("agent", said(metaSession))
		if parent := said(metaParent); parent != "" {
			ref.Parent = h.key("agent", parent)
		}
	case conversation(said("baggage")) != "":
		ref.Key = h.key("conversation", conversation(said("baggage")))
	case conversation(h.header.Get("Baggage")) != "":
		ref.Key = h.key("conversation", conversation(h.header.Get("Baggage")))
	case h.header.Get(headerSession) != "":
		ref.Key = h.key("agent", h.header.Get(headerSession))
	}
	return ref
}

func (h *host) key(kind, value string) string {
	if len(value) > maxKeyValue || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
		sum := sha256.Sum256([]byte(value))
		value = "sha256-" + hex.EncodeToString(sum[:])
	}
	return url.PathEscape(h.principal) + "/" + kind + ":" + value
}

func metaString(params json.RawMessage, name string) string {
	raw, ok := rawjson.Get(params, "_meta", name)
	if !ok {
		return ""
	}
	s, _ := rawjson.String(raw)
	return s
}

// conversation returns the id of the conversation in a W3C baggage string, or "".
func conversation(baggage string) string {
	for _, key := range baggageKeys {
		for member := range strings.SplitSeq(baggage, ",") {
			pair, _, _ := strings.Cut(member, ";")
			name, value, ok := strings.Cut(pair, "=")
			if !ok || strings.TrimSpace(name) != key {
				continue
			}
			if v, err := url.PathUnescape(strings.TrimSpace(value)); err == nil && v != "" {
				return v
			}
		}
	}
	return ""
}
