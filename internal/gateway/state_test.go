package gateway

import (
	"encoding/json"
	"testing"

	"github.com/weir-mcp/weir/internal/upstream"
)

func TestStateOpensForItsRequestOnly(t *testing.T) {
	s, err := newSealer()
	if err != nil {
		t.Fatal(err)
	}
	other, err := newSealer()
	if err != nil {
		t.Fatal(err)
	}
	const params = `{"name":"a","arguments":{"x":1,"y":2}}`
	sealed, err := s.seal(stateBinding("ann", "tools/call", json.RawMessage(params)), returnState{Kind: stateServer, Server: "s", Value: json.RawMessage(`"v"`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, principal, method, params string
		sealer                          *sealer
		opens                           bool
	}{
		{"the same", "ann", "tools/call", params, s, true},
		{"with what a retry adds", "ann", "tools/call", `{"_meta":{"a":1},"arguments":{"y":2,"x":1},"name":"a","requestState":"z","inputResponses":{}}`, s, true},
		{"another principal", "bob", "tools/call", params, s, false},
		{"another method", "ann", "prompts/get", params, s, false},
		{"other arguments", "ann", "tools/call", `{"name":"a","arguments":{"x":1,"y":3}}`, s, false},
		{"another process", "ann", "tools/call", params, other, false},
		{"parts moved", "annt", "ools/call", params, s, false},
	} {
		got, err := c.sealer.open(stateBinding(c.principal, c.method, json.RawMessage(c.params)), sealed)
		if opens := err == nil; opens != c.opens || opens && string(got.Value) != `"v"` {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

func FuzzStateOpen(f *testing.F) {
	s, err := newSealer()
	if err != nil {
		f.Fatal(err)
	}
	binding := stateBinding("ann", "tools/call", nil)
	sealed, err := s.seal(binding, returnState{Kind: stateHeld, Value: json.RawMessage(`"x"`)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add(sealPrefix)
	f.Add("weir1.ABC")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := s.open(binding, text); err == nil && text != sealed {
			t.Errorf("%q opens", text)
		}
	})
}

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
