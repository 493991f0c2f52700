package gateway_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
)

// TestConfirmedArguments holds that the parts of arguments that a person has confirmed reach the decision: only of the
// definition that they are of, and of servers that the operator vouches for.
func TestConfirmedArguments(t *testing.T) {
	const tool = `{"name":"send","description":"Send a note.","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"body":{"type":"string"}}}}`
	rule, err := policy.Load("p.yaml", []byte("version: 1\nrules: [{name: drafted, when: call, effect: block, if: 'call.roles != \"stated\"'}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "weir.lock")
	file, err := pins.Open(path, pins.Options{})
	if err != nil {
		t.Fatal(err)
	}
	goes := func(trust contract.Trust, definition, to string) bool {
		t.Helper()
		r, seen := script(t, map[string]string{"tools/list": `{"tools":[` + definition + `]}`, "tools/call": `{"content":[]}`}, func(o *gateway.Options) {
			o.Pins, o.Policy = file, rule
			o.Servers[0].Trust = trust
		})
		w := r.wire(t)
		w.ask(hello)
		w.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send","arguments":{"to":"` + to + `","body":"Hello"},` +
			`"_meta":{"dev.weir/user-message":"Send ann@example.com a hello."}}}`)
		came, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(came), `"tools/call"`)
	}
	const ann, mallory = "ann@example.com", "mallory@evil.example"
	if goes(contract.Trusted, tool, ann) {
		t.Error("a call goes by parts that nobody has confirmed")
	}
	_, now := pins.Tools.Define(rawjson.Canonical([]byte(tool)))
	parts := &pins.Arguments{Destination: []string{"to"}, Content: []string{"body"}}
	if err := file.Confirm(t.Context(), "s", []pins.Confirmation{{Tool: "send", Definition: now, Arguments: parts}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why        string
		trust      contract.Trust
		definition string
		to         string
		want       bool
	}{
		{"the user named the destination", contract.Trusted, tool, ann, true},
		{"the user named the destination, at a known server", contract.Known, tool, ann, true},
		{"nobody vouches for the server", contract.Untrusted, tool, ann, false},
		{"the user named another destination", contract.Trusted, tool, mallory, false},
		{"the definition is another", contract.Trusted, strings.Replace(tool, "a note", "a note to all", 1), ann, false},
	} {
		if got := goes(c.trust, c.definition, c.to); got != c.want {
			t.Errorf("%s: the call goes: %v", c.why, got)
		}
	}
}
