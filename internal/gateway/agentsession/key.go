// Package agentsession finds the agent session, the conversation of an agent, to which a request of a host belongs. The
// session decides which label counts, so no request can reach another principal's session or choose a value of another
// origin.
package agentsession

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/session"
)

// The names by which a host says which agent session a request belongs to.
const (
	MetaSession   = "dev.weir/agent-session" // of a request: the name that its host gives the agent session
	metaParent    = "dev.weir/parent-agent-session"
	metaIsolated  = "dev.weir/isolated"
	headerSession = "Weir-Agent-Session"
)

// baggageKeys are the members of OpenTelemetry baggage that name a conversation, in the order in which they count.
var baggageKeys = []string{"gen_ai.conversation.id", "session.id"}

// LocalPrincipal owns the agents that use a gateway without authentication: the user who runs it.
const LocalPrincipal = "local"

// identifiers are the members of _meta by which hosts name their conversations in each request, by how the names of
// these hosts begin, the member that counts first first. Codex sends sessionId for a conversation with all agents in
// it, and threadId for each of these. It does so with calls of tools only, as VS Code does: answers to their other
// requests count in all of their conversations, see [host.beside]. Sub-agents have the identifier of the conversation.
var identifiers = []struct {
	client, kind string
	members      []string
}{
	{"codex", "codex", []string{"sessionId", "threadId"}},
	{"Visual Studio Code", "vscode", []string{"vscode.conversationId"}},
	{"goose", "goose", []string{"agent-session-id"}},
}

// variables are those of the environment in which hosts name the conversation for which they start Weir. Programs
// inherit them from a host that runs them, so each counts for the host alone that sets it: a conversation of another
// one has the same key inside and outside.
var variables = []struct{ client, kind, name string }{
	{"claude-code", "claude-code", "CLAUDE_CODE_SESSION_ID"},
	{"copilot-cli", "copilot-cli", "COPILOT_AGENT_SESSION_ID"},
}

// conversations are the kinds of keys that name one conversation for a host, beside those of hosts themselves. All
// other kinds are coarser: several conversations may have one such key, as all have that one configuration names.
var conversations = []string{"agent", "conversation"}

// NamesConversation reports whether a key names one conversation, and not merely a place where conversations go on. A
// label may be of more than one; words of the user and approvals may not.
func NamesConversation(key string) bool {
	_, rest, _ := strings.Cut(key, "/")
	kind, _, _ := strings.Cut(rest, ":")
	for _, known := range identifiers {
		if kind == known.kind {
			return true
		}
	}
	for _, v := range variables {
		if kind == v.kind {
			return true
		}
	}
	return slices.Contains(conversations, kind)
}

// inFolder ends the kinds of keys of hosts that name conversations in some requests, for all others of a folder.
const inFolder = "-folder"

// namesInCalls reports whether a key is of such a host.
func namesInCalls(key string) bool {
	_, rest, _ := strings.Cut(key, "/")
	kind, _, _ := strings.Cut(rest, ":")
	return strings.HasSuffix(kind, inFolder)
}

// maxKeyValue bounds the name that a host may choose as a key; a longer one is replaced by its digest.
const maxKeyValue = 200

// digested begins a value of which the digest stands in a key.
const digested = "sha256-"

// A Local describes the conversations of a host on stdio, as the process knows them.
type Local struct {
	Named  string                      // the session that the user has named on the command line; "" for none
	Folder string                      // in which the host started the process, with links followed
	Getenv func(string) (string, bool) // nil: nothing is set
	Book   *conversation.Book          // nil: every conversation stays in its first generation
}

// FolderSession returns the key of the conversation, of the user who runs Weir, that goes on in a folder whatever host
// it is of.
func FolderSession(folder string) string { return sessionKey(LocalPrincipal, "folder", folder) }

// HostSession returns the key of a conversation, of the user who runs Weir, to which a host of a kind gives an id.
func HostSession(kind, id string) string { return sessionKey(LocalPrincipal, kind, id) }

// NewSession returns the command with which a person begins another agent session in a conversation. Requests of its
// host that name none count in it too, so that takes another.
func NewSession(n conversation.Note) string {
	if n.Key == FolderSession(n.Folder) {
		return "weir session new"
	}
	command := func(key string) string { return "weir session new '" + strings.ReplaceAll(key, "'", `'\''`) + "'" }
	for _, known := range identifiers {
		if strings.HasPrefix(n.Key, sessionKey(LocalPrincipal, known.kind, "")) {
			return command(n.Key) + " and " + command(sessionKey(LocalPrincipal, known.kind+"-folder", n.Folder))
		}
	}
	return command(n.Key)
}

// Counts says for people which agent session counts in a conversation, and how they begin another.
func Counts(n conversation.Note, now time.Time) string {
	return fmt.Sprintf("the agent session of %s began at %s; for a new conversation the user can begin a new one, in a terminal there: %s",
		n.Of(), n.Began.Local().Format("2006-01-02 15:04"), plain.Text(NewSession(n), 400))
}

// A Host describes the other end of a host connection.
type Host struct {
	Principal  string      // whose agents these are
	AgentOnly  bool        // whether the principal may not answer approval requests
	McpSession string      // Mcp-Session-Id, for HTTP in the older revisions
	Apart      bool        // whether each of these is a conversation of its own
	Local      *Local      // for stdio; nil for HTTP
	Header     http.Header // of the HTTP request; nil for stdio
}

// sessionRef derives the agent session of a request of a client with a name. A connection is not a conversation, and a
// process is none, so the first of these counts: _meta["dev.weir/agent-session"]; the conversation or session id in
// baggage (_meta.baggage, then the HTTP header); the HTTP header Weir-Agent-Session; the identifiers of the host; the
// environment of the process, on stdio; Mcp-Session-Id, if the operator says so; else the folder on stdio, and the
// principal over HTTP. Coarser is safe: it only joins more.
//
// Every key begins with the principal and with where the value is from, so nobody reaches another's session, and no
// value another origin's. A session that its host names may name the session it descends from. Nothing that a model
// writes is looked at. A name that is there and cannot be one is an error: the request would belong to another session,
// which may know less.
func (h *Host) sessionRef(params json.RawMessage, client string) (session.Ref, error) {
	ref := session.Ref{Principal: h.Principal}
	meta, _ := rawjson.Get(params, "_meta")
	for _, source := range []func(*session.Ref, json.RawMessage, string) error{h.fromMeta, h.fromBaggage, h.fromHeader, h.fromIdentifiers} {
		if err := source(&ref, meta, client); err != nil || ref.Key != "" {
			return ref, err
		}
	}
	ref.Key = h.usual(client)
	var err error
	ref.Key, err = h.generation(ref.Key, client)
	return ref, err
}

// textOf returns a member of _meta that is a text; "" if it is not there.
func textOf(meta json.RawMessage, name string) (string, error) {
	raw, ok := rawjson.Get(meta, name)
	if !ok {
		return "", nil
	}
	if s, ok := rawjson.String(raw); ok && s != "" {
		return s, nil
	}
	return "", rpc.Errorf(rpc.InvalidParams, "_meta member %s is not a text of at least one character", name)
}

func (h *Host) fromMeta(ref *session.Ref, meta json.RawMessage, _ string) error {
	name, err := textOf(meta, MetaSession)
	if err != nil || name == "" {
		return err
	}
	parent, err := textOf(meta, metaParent)
	if err != nil {
		return err
	}
	if ref.Key = h.key("agent", name); parent != "" {
		ref.Parent = h.key("agent", parent)
	}
	return nil
}

// Isolated reports whether a request says that its agent session is isolated from its parent: that it tells the parent
// nothing but the values that it returns. Only a host can promise that, so a gateway believes only those that its
// operator names.
func Isolated(params json.RawMessage) (bool, error) {
	switch raw, ok := rawjson.Get(params, "_meta", metaIsolated); {
	case !ok || string(raw) == "false":
		return false, nil
	case string(raw) != "true":
		return false, rpc.Errorf(rpc.InvalidParams, "_meta member %s is neither true nor false", metaIsolated)
	}
	for _, name := range []string{MetaSession, metaParent} {
		if _, ok := rawjson.Get(params, "_meta", name); !ok {
			return false, rpc.Errorf(rpc.InvalidParams, "_meta member %s needs %s", metaIsolated, name)
		}
	}
	return true, nil
}

func (h *Host) fromBaggage(ref *session.Ref, meta json.RawMessage, _ string) error {
	raw, _ := rawjson.Get(meta, "baggage")
	sent, _ := rawjson.String(raw)
	for _, baggage := range []string{sent, strings.Join(h.Header.Values("Baggage"), ",")} {
		if id := inBaggage(baggage); id != "" {
			ref.Key = h.key("conversation", id)
			return nil
		}
	}
	return nil
}

func (h *Host) fromHeader(ref *session.Ref, _ json.RawMessage, _ string) error {
	switch all := h.Header.Values(headerSession); {
	case len(all) == 1 && all[0] != "":
		ref.Key = h.key("agent", all[0])
	case len(all) > 0:
		return rpc.Errorf(rpc.InvalidParams, "the header %s is empty or there more than once", headerSession)
	}
	return nil
}

func (h *Host) fromIdentifiers(ref *session.Ref, meta json.RawMessage, client string) error {
	for _, known := range identifiers {
		if !strings.HasPrefix(client, known.client) {
			continue
		}
		for _, name := range known.members {
			id, err := textOf(meta, name)
			if err != nil {
				return err
			}
			if id != "" {
				ref.Key, err = h.generation(h.key(known.kind, id), client)
				return err
			}
		}
	}
	return nil
}

func (h *Host) getenv(name string) string {
	if h.Local == nil || h.Local.Getenv == nil {
		return ""
	}
	value, _ := h.Local.Getenv(name)
	return value
}

// usual returns the key of the session to which requests belong that name none.
func (h *Host) usual(client string) string {
	if h.Local == nil {
		if h.Apart && h.McpSession != "" {
			return h.key("mcp", h.McpSession)
		}
		return h.key("principal", "")
	}
	if h.Local.Named != "" {
		return h.key("named", h.Local.Named)
	}
	for _, v := range variables {
		if id := h.getenv(v.name); id != "" && strings.HasPrefix(client, v.client) {
			return h.key(v.kind, id)
		}
	}
	for _, known := range identifiers { // other hosts of the folder do not count in its conversations
		if strings.HasPrefix(client, known.client) {
			return h.key(known.kind+inFolder, h.Local.Folder)
		}
	}
	return h.key("folder", h.Local.Folder)
}

// beside returns the key of the session whose label counts in that of a request too; "" for none. Hosts name a
// conversation in some requests and not in others (Codex in tools/call alone), so text that came in answer to the
// others may be in any conversation. Over HTTP a client that names its sessions itself is believed to do so throughout:
// others of the same principal do not count in them.
func (h *Host) beside(key, client string) (string, error) {
	base, own := h.usual(client), conversation.KeyOf(key)
	if own == base || h.Local == nil && !h.identified(own) {
		return "", nil
	}
	if h.Local == nil {
		return base, nil
	}
	n, ok, err := h.Local.Book.Find(base)
	if err != nil || !ok {
		return base, err
	}
	return n.Session(), nil
}

// identified reports whether a key is of an identifier that a host sends.
func (h *Host) identified(key string) bool {
	for _, known := range identifiers {
		if strings.HasPrefix(key, h.key(known.kind, "")) {
			return true
		}
	}
	return false
}

// Next returns the session that a person has begun in the conversation of another; false if none.
func (h *Host) Next(ref session.Ref) (session.Ref, bool, error) {
	if h.Local == nil {
		return ref, false, nil
	}
	n, ok, err := h.Local.Book.Find(conversation.KeyOf(ref.Key))
	if err != nil || !ok || n.Session() == ref.Key {
		return ref, false, err
	}
	return session.Ref{Key: n.Session(), Principal: ref.Principal}, true, nil
}

// generation returns the key of the session that goes on in the conversation with a key.
func (h *Host) generation(key, client string) (string, error) {
	if h.Local == nil {
		return key, nil
	}
	n, err := h.Local.Book.Enter(key, conversation.Note{Host: client, Folder: h.Local.Folder, Began: time.Now().UTC()})
	return n.Session(), err
}

func (h *Host) key(kind, value string) string { return sessionKey(h.Principal, kind, value) }

// sessionKey returns the key of a session: no two principals, kinds or values have the same. A value that is long,
// could not be shown, or could be taken for something else that stands in keys is replaced by its digest.
func sessionKey(principal, kind, value string) string {
	odd := func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError || r == '#' }
	if len(value) > maxKeyValue || strings.HasPrefix(value, digested) || strings.ContainsFunc(value, odd) {
		sum := sha256.Sum256([]byte(value))
		value = digested + hex.EncodeToString(sum[:])
	}
	return url.PathEscape(principal) + "/" + kind + ":" + value
}

// inBaggage returns the id of the conversation in a W3C baggage string, or "". One that is not encoded as it should be
// is taken as it stands.
func inBaggage(baggage string) string {
	for _, key := range baggageKeys {
		for member := range strings.SplitSeq(baggage, ",") {
			pair, _, _ := strings.Cut(member, ";")
			name, value, ok := strings.Cut(pair, "=")
			if !ok || strings.TrimSpace(name) != key {
				continue
			}
			value = strings.TrimSpace(value)
			if decoded, err := url.PathUnescape(value); err == nil {
				value = decoded
			}
			if value != "" {
				return value
			}
		}
	}
	return ""
}
