package agentsession

import (
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// The name that a connection has at first stays: else a request that does not tell it would belong to another session.
func TestClientNameStays(t *testing.T) {
	f := &Tracker{}
	if got := f.ClientName(nil); got != "" || f.name != nil {
		t.Fatalf("before anything is known: %q", got)
	}
	says := func(name string) json.RawMessage {
		params, _ := rawjson.Set([]byte(`{"_meta":{"`+protocol.MetaVersion+`":"2026-07-28"}}`), []byte(`{"name":"`+name+`"}`), "_meta", protocol.MetaClientInfo)
		return params
	}
	for _, params := range []json.RawMessage{says("copilot-cli"), says("codex"), []byte(`{"_meta":{"` + protocol.MetaVersion + `":"2026-07-28"}}`), nil} {
		if got := f.ClientName(params); got != "copilot-cli" {
			t.Errorf("%s: %q", params, got)
		}
	}
}

// TestUnsure holds of which hosts a question that belongs to no call may be of a conversation that is not known.
func TestUnsure(t *testing.T) {
	for _, c := range []struct {
		name, client string
		first, want  bool // whether a request came that names nothing
		local        *Local
	}{
		{"a place", "h", false, true, local("/w")},
		{"a place that a request was of", "h", true, false, local("/w")},
		{"VS Code", "Visual Studio Code", false, true, local("/w")},
		{"VS Code after a list", "Visual Studio Code", true, true, local("/w")},
		{"Codex after a list", "codex-mcp-client", true, true, local("/w")},
		{"Claude Code", "claude-code", false, false, local("/w", "CLAUDE_CODE_SESSION_ID", "c")},
		{"a principal", "h", false, true, nil},
	} {
		var latest atomic.Pointer[string]
		f := New(Host{Principal: "ann", Local: c.local}, &latest, slog.New(slog.DiscardHandler))
		f.Shake(&protocol.Client{Info: json.RawMessage(`{"name":"` + c.client + `"}`)})
		if c.first {
			if _, err := f.Of(nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.Unsure(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
