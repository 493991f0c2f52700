package gateway_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// foundKey is a value that a server puts wherever it can.
const foundKey = "AKIAQYLPMN5HFIQR7XYA"

// tellingAnswers are those of a server that has the value KEY in each of its messages: before each answer it logs
// and shows progress.
var tellingAnswers = map[string]string{
	"initialize": `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"x":"KEY"},"prompts":{},"resources":{},"logging":{},"completions":{}},` +
		`"serverInfo":{"name":"s","version":"KEY"},"instructions":"KEY"}}`,
	"tools/list": `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"look","description":"KEY","inputSchema":{"type":"object","description":"KEY"},"annotations":{"readOnlyHint":true,"title":"KEY"}},` +
		`{"name":"maybe","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"resolve":true}}],"_meta":{"x":"KEY"}}}`,
	"prompts/list":             `{"jsonrpc":"2.0","id":ID,"result":{"prompts":[{"name":"p","description":"KEY"}]}}`,
	"resources/list":           `{"jsonrpc":"2.0","id":ID,"result":{"resources":[{"uri":"x://a","name":"KEY"}]}}`,
	"resources/templates/list": `{"jsonrpc":"2.0","id":ID,"result":{"resourceTemplates":[{"uriTemplate":"x://{b}","name":"KEY"}]}}`,
	"tools/call": `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"KEY"}}` + "\n" +
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"KEY"},{"type":"resource","resource":{"uri":"x://KEY","text":"KEY"}},` +
		`{"type":"resource_link","uri":"x://KEY","name":"KEY"}],"structuredContent":{"a":["KEY"],"KEY":1},"_meta":{"x":"KEY"}}}`,
	"prompts/get":         `{"jsonrpc":"2.0","id":ID,"result":{"description":"KEY","messages":[{"role":"user","content":{"type":"text","text":"KEY"}}]}}`,
	"resources/read":      `{"jsonrpc":"2.0","id":ID,"result":{"contents":[{"uri":"x://a","text":"KEY"},{"uri":"x://a","blob":"BLOB"}]}}`,
	"completion/complete": `{"jsonrpc":"2.0","id":ID,"result":{"completion":{"values":["KEY"]}}}`,
	"logging/setLevel":    `{"jsonrpc":"2.0","id":ID,"result":{"x":"KEY"}}`,
	"tools/resolve":       `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"KEY"}}`,
}

// No message to a host has a byte of a value that is redacted: no answer, error, list, handshake or notification.
func TestNoMessageHasARedactedValue(t *testing.T) {
	t.Parallel()
	blob := base64.StdEncoding.EncodeToString([]byte("some text and " + foundKey))
	failing := map[string]string{}
	for method := range tellingAnswers {
		failing[method] = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"KEY","data":{"x":"KEY","KEY":1}}}`
	}
	failing["initialize"] = tellingAnswers["initialize"]
	for name, list := range map[string]string{"tools/list": "", "prompts/list": "", "resources/list": "", "resources/templates/list": ""} {
		failing[name] = tellingAnswers[name] + list
	}
	for name, answers := range map[string]map[string]string{"results": tellingAnswers, "errors": failing} {
		for form, value := range map[string]string{"plain": foundKey, "escaped": `\u0041` + foundKey[1:], "base64": base64.StdEncoding.EncodeToString([]byte("key " + foundKey))} {
			t.Run(name+"/"+form, func(t *testing.T) {
				text, err := json.Marshal(answers)
				if err != nil {
					t.Fatal(err)
				}
				said := strings.ReplaceAll(strings.ReplaceAll(string(text), "KEY", strings.ReplaceAll(value, `\`, `\\`)), "BLOB", blob)
				redactedWire(t, said, value, blob)
			})
		}
	}
}

func redactedWire(t *testing.T, answers, value, blob string) {
	file := filepath.Join(t.TempDir(), "answers")
	if err := os.WriteFile(file, []byte(answers), 0o600); err != nil {
		t.Fatal(err)
	}
	everything, err := policy.Load("p.yaml", []byte("version: 1\nrules: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	scanner := detect.New()
	g, err := gateway.New(gateway.Options{
		State: guard.NewState(nil, record.NewLines(io.Discard)), Version: "test", Stderr: io.Discard, Policy: everything,
		Servers: []gateway.Server{{Name: "s", Trust: contract.Trusted, Timeout: 30 * time.Second,
			Spec: upstream.Spec{Name: "s", Command: []string{os.Args[0], "hostile", file}}}},
		Contents: guard.Contents{Detection: guard.Detection{Detector: scanner, Effects: map[string]guard.FindingEffect{"credentials": guard.Redact}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	w := (&rig{g: g}).wire(t)
	placeholders := 0
	for _, q := range requests {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, q.method, q.params))
		for got := ""; !strings.Contains(got, `"id":7`); {
			got = w.recv()
			for _, secret := range []string{foundKey, value, blob} {
				if strings.Contains(got, secret) {
					t.Errorf("%s: the host reads %s", q.method, got)
				}
			}
			for _, found := range scanner.Scan([]byte(got), detect.JSON, nil).Findings {
				if found.Class == detect.Credentials {
					t.Errorf("%s: the host reads %s at %s of %s", q.method, found.Kind, found.Path, got)
				}
			}
			placeholders += strings.Count(got, "[redacted:aws-access-key-id]")
		}
	}
	if placeholders < 10 {
		t.Errorf("%d values are redacted", placeholders)
	}
}
