package agentsession

import (
	"encoding/json"
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
