package gateway_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// A tool and a result with all members of the extension io.modelcontextprotocol/display-templates.
const (
	displayMeta   = `{"io.modelcontextprotocol/display-templates":{"template":"read {path}, Allow this call?","x":1.0}}`
	displaySchema = `{"type":"object","properties":{"path":{},"mode":{}},"oneOf":[{"title":"a","io.modelcontextprotocol/display-template":"read {path}","properties":{"mode":{"const":"a"}}}]}`
	displayBlock  = `{"type":"text","text":"x","_meta":{"io.modelcontextprotocol/display-templates":{"text":"read \u0031 file"}}}`
)

// Hosts get templates as servers wrote them, whoever the server is. Approval requests show that of a trusted server, behind the
// arguments, before calls that fit the schema.
func TestDisplayTemplates(t *testing.T) {
	for _, test := range []struct {
		name      string
		when      string
		trust     contract.Trust
		arguments string
		want      string // "" means none
	}{
		{"trusted", "call", contract.Trusted, `{"mode":"a","path":"a\nb"}`,
			`In the words of server s: "read \"a\\nb\", Allow this call?", which leaves out 1 argument`},
		{"known", "call", contract.Known, `{"mode":"a","path":"a"}`, ""},
		{"untrusted", "call", contract.Untrusted, `{"mode":"a","path":"a"}`, ""},
		{"about the result", "result", contract.Trusted, `{"mode":"a","path":"a"}`, ""},
		{"outside of the schema", "call", contract.Trusted, `{"mode":"b","path":"a"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, _ := script(t, map[string]string{
				"tools/list": `{"tools":[{"name":"tool","inputSchema":` + displaySchema + `,"_meta":` + displayMeta + `}]}`,
				"tools/call": `{"content":[` + displayBlock + `]}`,
			}, func(o *gateway.Options) {
				o.Servers[0].Trust = test.trust
				o.Policy = mustLoad(t, "version: 1\ndefault: allow\nrules: [{name: all, when: "+test.when+", if: 'true', effect: ask, message: every one}]\n")
			})
			w := r.wire(t)
			w.ask(strings.Replace(hello, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
			list := w.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			for _, kept := range []string{`"inputSchema":` + displaySchema, displayMeta[1 : len(displayMeta)-1]} {
				if !strings.Contains(list, kept) {
					t.Errorf("%s is not in %s", kept, list)
				}
			}
			asked := w.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tool","arguments":` + test.arguments + `}}`)
			raw, _ := rawjson.Get([]byte(asked), "params", "message")
			message, _ := rawjson.String(raw)
			title, rest, _ := strings.Cut(message, "\n")
			if !strings.Contains(title, ` tool "tool" (server s)`) || strings.Contains(title, "read") {
				t.Errorf("the request begins with %q", title)
			}
			arguments, words := strings.Index(rest, "Arguments:"), strings.Index(rest, "In the words of")
			if test.want == "" && words >= 0 || test.want != "" && (words < arguments || !strings.Contains(rest, "\n"+test.want+"\n")) || arguments < 0 {
				t.Errorf("the request is\n%s", message)
			}
			id, _ := rawjson.Get([]byte(asked), "id")
			if got := w.ask(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"action":"accept","content":{"approve":true}}}`); !strings.Contains(got, displayBlock) {
				t.Errorf("%s is not in %s", displayBlock, got)
			}
		})
	}
}
