package agentsession

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// local returns a process that was started in a folder, with an environment.
func local(folder string, env ...string) *Local {
	return &Local{Folder: folder, Getenv: func(name string) (string, bool) {
		for i := 0; i < len(env); i += 2 {
			if env[i] == name {
				return env[i+1], true
			}
		}
		return "", false
	}}
}

func TestSessionRef(t *testing.T) {
	inClaude := local("/w", "CLAUDE_CODE_SESSION_ID", "c1")
	for _, test := range []struct {
		name   string
		host   Host
		client string
		params string
		want   session.Ref
	}{
		{"HTTP, nothing known", Host{}, "", `{}`, session.Ref{Key: "ann/principal:"}},
		{"stdio, nothing known", Host{Local: local("/w")}, "h", `{}`, session.Ref{Key: "ann/folder:/w"}},
		{"an MCP session is no conversation", Host{McpSession: "m"}, "", `{}`, session.Ref{Key: "ann/principal:"}},
		{"an MCP session is one", Host{McpSession: "m", Apart: true}, "", `{}`, session.Ref{Key: "ann/mcp:m"}},
		{"the header", Host{McpSession: "m", Apart: true, Header: header("Weir-Agent-Session", "h")}, "", `{}`, session.Ref{Key: "ann/agent:h"}},
		{"baggage in a header", Host{Header: header("Weir-Agent-Session", "h", "baggage", "a=b, session.id = c%20d ;p=1")}, "", `{}`,
			session.Ref{Key: "ann/conversation:c d"}},
		{"baggage in two headers", Host{Header: header("baggage", "a=b", "baggage", "session.id=c")}, "", `{}`, session.Ref{Key: "ann/conversation:c"}},
		{"the conversation before the session", Host{}, "", `{"_meta":{"baggage":"session.id=s,gen_ai.conversation.id=c"}}`,
			session.Ref{Key: "ann/conversation:c"}},
		{"baggage of the request before the header's", Host{Header: header("baggage", "session.id=h")}, "", `{"_meta":{"baggage":"session.id=m"}}`,
			session.Ref{Key: "ann/conversation:m"}},
		{"baggage that is not encoded well", Host{}, "", `{"_meta":{"baggage":"session.id=%zz"}}`, session.Ref{Key: "ann/conversation:%zz"}},
		{"baggage without an id", Host{}, "", `{"_meta":{"baggage":";=,session.id,session.id="}}`, session.Ref{Key: "ann/principal:"}},
		{"the host's own word", Host{Header: header("baggage", "session.id=h")}, "", `{"_meta":{"dev.weir/agent-session":"a","baggage":"session.id=b"}}`,
			session.Ref{Key: "ann/agent:a"}},
		{"with a parent", Host{}, "", `{"_meta":{"dev.weir/agent-session":"a","dev.weir/parent-agent-session":"p"}}`,
			session.Ref{Key: "ann/agent:a", Parent: "ann/agent:p"}},
		{"a parent of no named session", Host{Local: local("/w")}, "", `{"_meta":{"dev.weir/parent-agent-session":"p"}}`, session.Ref{Key: "ann/folder:/w"}},
		{"a thread of Codex", Host{Local: local("/w")}, "codex-mcp-client", `{"_meta":{"threadId":"t"}}`, session.Ref{Key: "ann/codex:t"}},
		{"an agent in a conversation of Codex", Host{Local: local("/w")}, "codex-mcp-client", `{"_meta":{"threadId":"t","sessionId":"s"}}`,
			session.Ref{Key: "ann/codex:s"}},
		{"Codex over HTTP", Host{}, "codex-mcp-client", `{"_meta":{"threadId":"t"}}`, session.Ref{Key: "ann/codex:t"}},
		{"a chat of VS Code", Host{Local: local("/w")}, "Visual Studio Code - Insiders", `{"_meta":{"progressToken":1,"vscode.conversationId":"c"}}`,
			session.Ref{Key: "ann/vscode:c"}},
		{"VS Code without a chat", Host{Local: local("/w")}, "Visual Studio Code", `{"_meta":{"progressToken":1}}`, session.Ref{Key: "ann/vscode-folder:/w"}},
		{"a session of Goose", Host{Local: local("/w")}, "goose-cli", `{"_meta":{"agent-session-id":"20261126_1","agent-working-dir":"/w"}}`,
			session.Ref{Key: "ann/goose:20261126_1"}},
		{"the identifier of VS Code from another host", Host{Local: local("/w")}, "cursor-vscode", `{"_meta":{"vscode.conversationId":"c"}}`,
			session.Ref{Key: "ann/folder:/w"}},
		{"the same members of another host", Host{Local: local("/w")}, "cursor", `{"_meta":{"threadId":"t","sessionId":7}}`, session.Ref{Key: "ann/folder:/w"}},
		{"Claude Code", Host{Local: inClaude}, "claude-code", `{}`, session.Ref{Key: "ann/claude-code:c1"}},
		{"a host that Claude Code runs", Host{Local: inClaude}, "gemini-cli-mcp-client", `{}`, session.Ref{Key: "ann/folder:/w"}},
		{"Copilot", Host{Local: local("/w", "COPILOT_AGENT_SESSION_ID", "c2", "CLAUDE_CODE_SESSION_ID", "c1")}, "copilot-cli", `{}`,
			session.Ref{Key: "ann/copilot-cli:c2"}},
		{"the user's own word", Host{Local: &Local{Named: "n", Folder: "/w", Getenv: inClaude.Getenv}}, "claude-code", `{}`,
			session.Ref{Key: "ann/named:n"}},
		{"an empty variable", Host{Local: local("/w", "CLAUDE_CODE_SESSION_ID", "")}, "claude-code", `{}`, session.Ref{Key: "ann/folder:/w"}},
		{"an old Codex", Host{Local: local("/w")}, "codex-mcp-client", `{}`, session.Ref{Key: "ann/codex-folder:/w"}},
		{"the request before the environment", Host{Local: inClaude}, "claude-code", `{"_meta":{"dev.weir/agent-session":"a"}}`,
			session.Ref{Key: "ann/agent:a"}},
		{"the environment means nothing over HTTP", Host{}, "claude-code", `{}`, session.Ref{Key: "ann/principal:"}},
		{"what a model writes", Host{Local: local("/w")}, "codex",
			`{"arguments":{"_meta":{"dev.weir/agent-session":"a"},"dev.weir/agent-session":"a","threadId":"t"},"threadId":"t"}`, session.Ref{Key: "ann/codex-folder:/w"}},
	} {
		test.host.Principal = "ann"
		test.want.Principal = "ann"
		if got, err := test.host.sessionRef(json.RawMessage(test.params), test.client); got != test.want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", test.name, got, err, test.want)
		}
	}
}

// Whatever session a request of a host on stdio is in, the label of those that name none counts in it.
// TestNamesConversation holds which keys name one conversation: those of an identifier that the host gives it.
func TestNamesConversation(t *testing.T) {
	named := local("/w")
	named.Named = "n"
	for _, test := range []struct {
		name   string
		host   Host
		client string
		params string
		want   bool
	}{
		{"a folder", Host{Local: local("/w")}, "cline", `{}`, false},
		{"a folder with a name like a key", Host{Local: local("/agent:x")}, "cline", `{}`, false},
		{"a principal", Host{}, "cline", `{}`, false},
		{"a session of HTTP", Host{McpSession: "m", Apart: true}, "cline", `{}`, false},
		{"the variable of another host", Host{Local: local("/w", "CLAUDE_CODE_SESSION_ID", "c")}, "cline", `{}`, false},
		{"Codex without an identifier", Host{Local: local("/w")}, "codex-mcp-client", `{}`, false},
		{"Codex", Host{Local: local("/w")}, "codex-mcp-client", `{"_meta":{"sessionId":"s"}}`, true},
		{"VS Code without an identifier", Host{Local: local("/w")}, "Visual Studio Code", `{}`, false},
		{"VS Code", Host{Local: local("/w")}, "Visual Studio Code", `{"_meta":{"vscode.conversationId":"c"}}`, true},
		{"Goose", Host{Local: local("/w")}, "goose-desktop", `{"_meta":{"agent-session-id":"s"}}`, true},
		{"Claude Code", Host{Local: local("/w", "CLAUDE_CODE_SESSION_ID", "c")}, "claude-code", `{}`, true},
		{"Copilot CLI", Host{Local: local("/w", "COPILOT_AGENT_SESSION_ID", "c")}, "copilot-cli", `{}`, true},
		{"_meta", Host{Local: local("/w")}, "cline", `{"_meta":{"dev.weir/agent-session":"a"}}`, true},
		{"baggage", Host{Local: local("/w")}, "cline", `{"_meta":{"baggage":"session.id=s"}}`, true},
		{"the command line", Host{Local: named}, "cline", `{}`, false},
	} {
		for _, principal := range []string{LocalPrincipal, "", "a/agent:b", "x:agent:y", "agent:"} {
			test.host.Principal = principal
			ref, err := test.host.sessionRef(json.RawMessage(test.params), test.client)
			if got := NamesConversation(ref.Key); err != nil || got != test.want {
				t.Errorf("%s, %s: %v, %v", test.name, ref.Key, got, err)
			}
		}
	}
	for _, key := range []string{"", "/", "agent", "agent:a", "local/agents:a", "local/x/agent:a"} {
		if NamesConversation(key) {
			t.Errorf("%q names a conversation", key)
		}
	}
}

func TestBeside(t *testing.T) {
	for _, test := range []struct {
		name, client, key, want string
		host                    Host
	}{
		{"the same", "h", "ann/folder:/w", "", Host{Local: local("/w")}},
		{"a later generation of the same", "h", "ann/folder:/w#G", "", Host{Local: local("/w")}},
		{"an agent that the host names", "h", "ann/agent:a", "ann/folder:/w", Host{Local: local("/w")}},
		{"an agent that Claude Code names", "claude-code", "ann/agent:a", "ann/claude-code:c", Host{Local: local("/w", "CLAUDE_CODE_SESSION_ID", "c")}},
		{"Codex", "codex-mcp-client", "ann/codex:t", "ann/codex-folder:/w", Host{Local: local("/w")}},
		{"VS Code", "Visual Studio Code", "ann/vscode:c", "ann/vscode-folder:/w", Host{Local: local("/w")}},
		{"Goose", "goose-desktop", "ann/goose:s", "ann/goose-folder:/w", Host{Local: local("/w")}},
		{"Codex over HTTP", "codex-mcp-client", "ann/codex:t", "ann/principal:", Host{}},
		{"Codex over HTTP, in a session of its own", "codex-mcp-client", "ann/codex:t", "ann/mcp:m", Host{McpSession: "m", Apart: true}},
		{"a client over HTTP that names its sessions", "h", "ann/agent:a", "", Host{}},
	} {
		test.host.Principal = "ann"
		if got, err := test.host.beside(test.key, test.client); got != test.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", test.name, got, err, test.want)
		}
	}
}

// A name that cannot be one is refused: without it the request would belong to another session, which may be clean.
func TestBadNamesAreRefused(t *testing.T) {
	for _, test := range []struct {
		name, params string
		header       http.Header
	}{
		{"a number", `{"_meta":{"dev.weir/agent-session":7}}`, nil},
		{"null", `{"_meta":{"dev.weir/agent-session":null}}`, nil},
		{"an empty text", `{"_meta":{"dev.weir/agent-session":""}}`, nil},
		{"a parent that is an object", `{"_meta":{"dev.weir/agent-session":"a","dev.weir/parent-agent-session":{}}}`, nil},
		{"an identifier of the host", `{"_meta":{"threadId":["t"]}}`, nil},
		{"an identifier beside a good one", `{"_meta":{"sessionId":false,"threadId":"t"}}`, nil},
		{"an empty header", `{}`, header("Weir-Agent-Session", "")},
		{"two headers", `{}`, header("Weir-Agent-Session", "a", "Weir-Agent-Session", "b")},
	} {
		h := Host{Principal: "ann", Header: test.header}
		if ref, err := h.sessionRef(json.RawMessage(test.params), "codex-mcp-client"); err == nil {
			t.Errorf("%s: %+v", test.name, ref)
		}
	}
}

// Whatever principals, kinds, values and generations are: no two of them have the same key, every key can be kept, and shows nothing odd.
func TestSessionKeysStayApart(t *testing.T) {
	kinds := []string{"agent", "conversation", "codex", "codex-folder", "vscode", "goose", "claude-code", "copilot-cli", "named", "folder", "mcp", "principal"}
	values := rapid.OneOf(rapid.String(), rapid.StringMatching(`(sha256-|#|/|:|a|local)*`), rapid.StringOfN(rapid.Rune(), 150, 5000, -1),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	type origin struct{ principal, kind, value string }
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) origin {
			return origin{rapid.StringN(0, 50, 100).Draw(rt, name+" principal"), rapid.SampledFrom(kinds).Draw(rt, name+" kind"), values.Draw(rt, name+" value")}
		}
		a, b := draw("a"), draw("b")
		if rapid.Bool().Draw(rt, "a value that looks like the key of the other") {
			b.value = sessionKey(a.principal, a.kind, a.value)
		}
		keyA, keyB := sessionKey(a.principal, a.kind, a.value), sessionKey(b.principal, b.kind, b.value)
		if keyA == keyB && a != b {
			rt.Fatalf("%q and %q have the key %q", a, b, keyA)
		}
		renewed := conversation.Note{Key: keyB, Generation: "G"}
		if keyA == renewed.Session() || conversation.KeyOf(renewed.Session()) != keyB {
			rt.Fatalf("the key %q of %q is that of a later generation of %q", keyA, a, b)
		}
		if ref := (store.Ref{Key: keyA, Principal: "p"}); ref.Check() != nil || len(keyA) > 600 || !utf8.ValidString(keyA) || strings.ContainsAny(keyA, "\n\x00\x7f") {
			rt.Fatalf("the key of %q is %q", a, keyA)
		}
	})
}

// What is written in _meta names no session of another origin, and none of another principal.
func TestMetaReachesOneOriginOnly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"ann/folder:/w", "../folder:/w", "bob/agent:x", "x#G"})).Draw(rt, "value")
		name := rapid.SampledFrom([]string{"dev.weir/agent-session", "threadId", "sessionId", "vscode.conversationId", "agent-session-id", "baggage", "x"}).Draw(rt, "member")
		params, err := json.Marshal(map[string]any{"_meta": map[string]string{name: value}})
		if err != nil {
			rt.Fatal(err)
		}
		h := Host{Principal: "ann", Local: local("/w", "CLAUDE_CODE_SESSION_ID", "c1")}
		ref, err := h.sessionRef(params, rapid.SampledFrom([]string{"codex", "Visual Studio Code", "goose-cli", "claude-code", ""}).Draw(rt, "client"))
		if err != nil {
			return
		}
		own := []string{"ann/folder:/w", "ann/codex-folder:/w", "ann/vscode-folder:/w", "ann/goose-folder:/w", "ann/claude-code:c1"}
		named := []string{"ann/agent:", "ann/codex:", "ann/vscode:", "ann/goose:", "ann/conversation:"}
		if !slices.Contains(own, ref.Key) && !slices.ContainsFunc(named, func(prefix string) bool { return strings.HasPrefix(ref.Key, prefix) }) {
			rt.Fatalf("%s is %q", params, ref.Key)
		}
	})
}

// A person begins a new conversation, and only the one that is meant is a new one.
func TestGenerations(t *testing.T) {
	book := conversation.Open(t.TempDir())
	a, b := local("/a"), local("/b")
	a.Book, b.Book = book, book
	ref := func(l *Local, client string) string {
		t.Helper()
		r, err := (&Host{Principal: LocalPrincipal, Local: l}).sessionRef(nil, client)
		if err != nil {
			t.Fatal(err)
		}
		return r.Key
	}
	if got := ref(a, "gemini"); got != FolderSession("/a") {
		t.Fatalf("the first generation is %q", got)
	}
	ref(b, "gemini")
	n, err := book.Renew(FolderSession("/a"), time.Now(), func(conversation.Note) error { return nil })
	if err != nil || n.Host != "gemini" || n.Folder != "/a" {
		t.Fatalf("%+v, %v", n, err)
	}
	if got := ref(a, "opencode"); got != n.Session() || got == FolderSession("/a") {
		t.Errorf("the second generation is %q, of another host of the folder too: %q", n.Session(), got)
	}
	if got := ref(b, "gemini"); got != FolderSession("/b") {
		t.Errorf("that of another folder is %q", got)
	}
}

// Without knowing which generation counts, nothing is decided.
func TestSpoiledNoteRefuses(t *testing.T) {
	dir := t.TempDir()
	l := local("/a")
	l.Book = conversation.Open(dir)
	h := &Host{Principal: LocalPrincipal, Local: l}
	if _, err := h.sessionRef(nil, ""); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, text := range []string{"", "{", `{"v":2,"key":"local/folder:/a"}`, `{"v":1,"key":"local/folder:/b"}`} {
		if err := os.WriteFile(dir+"/"+entries[0].Name(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if ref, err := h.sessionRef(nil, ""); err == nil {
			t.Errorf("%q: %+v", text, ref)
		}
	}
}

func FuzzSessionRef(f *testing.F) {
	f.Add(`{"_meta":{"baggage":"session.id=a"}}`, "session.id=b")
	f.Fuzz(func(t *testing.T, params, baggage string) {
		h := Host{Principal: "ann", Local: local("/w"), Header: http.Header{"Baggage": {baggage}}}
		ref, err := h.sessionRef(json.RawMessage(params), "codex-mcp-client")
		if err == nil && (!strings.HasPrefix(ref.Key, "ann/") || len(ref.Key) > 300) {
			t.Errorf("key %q", ref.Key)
		}
	})
}
