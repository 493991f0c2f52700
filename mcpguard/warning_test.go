package mcpguard

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestWithWarning holds that a text of the guard's own comes before those of a handler's result, which stay.
func TestWithWarning(t *testing.T) {
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	for name, c := range map[string]struct {
		result mcp.Result
		answer string
		want   string
	}{
		"tool": {&mcp.CallToolResult{Content: []mcp.Content{text("a")}, StructuredContent: map[string]any{"n": json.Number("1e400")}},
			`{"content":[{"type":"text","text":"W"},{"type":"text","text":"a"}],"structuredContent":{"n":1}}`,
			`{"content":[{"type":"text","text":"W"},{"type":"text","text":"a"}],"structuredContent":{"n":1e400}}`},
		"no warning": {&mcp.CallToolResult{Content: []mcp.Content{text("a")}}, `{"content":[{"type":"text","text":"a"}]}`,
			`{"content":[{"type":"text","text":"a"}]}`},
		"resource": {&mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "x:y", Text: "a"}}},
			`{"contents":[{"uri":"weir:warning","mimeType":"text/plain","text":"W"},{"uri":"x:y","text":"a"}]}`,
			`{"ttlMs":0,"cacheScope":"","contents":[{"uri":"weir:warning","mimeType":"text/plain","text":"W"},{"uri":"x:y","text":"a"}]}`},
		"prompt": {&mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: text("a")}}},
			`{"messages":[{"role":"user","content":{"type":"text","text":"W"}},{"role":"user","content":{"type":"text","text":"a"}}]}`,
			`{"messages":[{"content":{"type":"text","text":"W"},"role":"user"},{"content":{"type":"text","text":"a"},"role":"user"}]}`},
	} {
		if err := withLabel(c.result, json.RawMessage(c.answer)); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(c.result)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
