package protocol

import (
	"encoding/json"
	"testing"

	"github.com/weir-mcp/weir/internal/upstream"
)

func TestHeadersSayWhatArgumentsSay(t *testing.T) {
	for value, want := range map[string]string{
		`"eu"`: "eu", `""`: "", `true`: "true", `7`: "7", `7.0`: "7", `-1e2`: "-100", `" x"`: "=?base64?IHg=?=", `"é"`: "=?base64?w6k=?=",
		`"=?base64?eA==?="`: "=?base64?PT9iYXNlNjQ/ZUE9PT89?=", `"a\nb"`: "=?base64?YQpi?=",
	} {
		text, ok := headerText(json.RawMessage(value))
		got := upstream.HeaderValue(text)
		if !ok || got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
		if back, ok := decodeHeader(got); !ok || !sameHeader(back, text, json.RawMessage(value)) {
			t.Errorf("%s: comes back as %q", value, back)
		}
	}
	for _, value := range []string{`1.5`, `1e400`, `9007199254740993`, `null`, `{}`, `[]`} {
		if text, ok := headerText(json.RawMessage(value)); ok {
			t.Errorf("%s: %q", value, text)
		}
	}
	schema := json.RawMessage(`{"inputSchema":{"properties":{
		"a":{"x-mcp-header":"A"},"b":{"properties":{"c":{"x-mcp-header":"C"}}},"d":{"x-mcp-header":"bad name"},"e":{"x-mcp-header":1},"f":true}}}`)
	if got := paramHeaders(schema); len(got) != 2 || got[0].name != "A" || got[1].name != "C" || len(got[1].path) != 2 {
		t.Errorf("headers %v", got)
	}
}
