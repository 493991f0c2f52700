package gateway_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// sentKey is a key in PEM without lines, in a text that goes on behind it.
var sentKey = "-----BEGIN PRIVATE KEY-----MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + strings.Repeat("q8Zk3Vw9Lm2xT5rB7nY1cD4fG6hJ0kLp", 4)

// sending are the requests by which an agent may bring a value VALUE to a server, and a part of the line that the
// server then gets; "" if it gets none, since the request is about the value.
var sending = []struct{ method, params, got string }{
	{"tools/call", `{"name":"tool","arguments":{"a":"see VALUE!","n":365,"keep":[1000]}}`, `"n":365,"keep":[1000]`},
	{"tools/call", `{"name":"tool","arguments":{"VALUE":1}}`, `[redacted:`},
	{"tools/call", `{"name":"tool","arguments":{"a":"x"},"more":["VALUE"]}`, `[redacted:`},
	{"tools/call", `{"name":"tool","arguments":{"a":"meta"},"_meta":{"x.y/z":"VALUE"}}`, `"meta"`},
	{"tools/call", `{"name":"tool","arguments":{"a":"token"},"_meta":{"progressToken":"VALUE"}}`, `"token"`},
	{"tools/call", `{"name":"tool","arguments":{"a":"label"},"_meta":{"annotations":{"attribution":["https://h.example/VALUE"]}}}`, `"label"`},
	{"prompts/get", `{"name":"p","arguments":{"q":"VALUE"}}`, `[redacted:`},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"q","value":"VALUE"}}`, `[redacted:`},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"q","value":"a"},"context":{"arguments":{"z":"VALUE"}}}`, `[redacted:`},
	{"resources/read", `{"uri":"http://x.test/?q=VALUE"}`, ""},
	{"resources/subscribe", `{"uri":"http://x.test/?q=VALUE"}`, ""},
	{"x/y", `{"q":"VALUE"}`, `[redacted:`},
	{"tasks/get", `{"taskId":"VALUE"}`, ""},
	{"ask", `VALUE`, `[redacted:`},
}

var sentAnswers = map[string]string{
	"initialize":               `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"completions":{},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}`,
	"tools/list":               `{"tools":[{"name":"tool","inputSchema":{"type":"object"}},{"name":"asks","inputSchema":{"type":"object"}}]}`,
	"prompts/list":             `{"prompts":[{"name":"p","arguments":[{"name":"q"}]}]}`,
	"resources/list":           `{"resources":[]}`,
	"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"http://x.test/{+q}","name":"t"}]}`,
	"tools/call tool":          `{"content":[]}`,
	"tools/call asks":          `"ask"`,
	"prompts/get":              `{"messages":[]}`,
	"completion/complete":      `{"completion":{"values":[]}}`,
	"resources/read":           `{"contents":[]}`,
	"resources/subscribe":      `{}`,
	"x/y":                      `{}`,
	"tasks/get":                `{}`,
}

// No message to a server has a byte of a value that is redacted for it, by whatever request it is brought, and all else
// arrives as it was.
func TestNoRequestHasARedactedValue(t *testing.T) {
	t.Parallel()
	const canaryValue = "CANARY-7f3a9c1b22"
	scanner := detect.NewWith(detect.Options{Canaries: []string{canaryValue}})
	sent := map[string][]contract.Destination{}
	for _, class := range []string{"credentials", "pii", "financial", "canary"} {
		sent[class] = contract.Destinations()
	}
	for _, trust := range []contract.Trust{contract.Untrusted, contract.Known, contract.Trusted} {
		for name, value := range map[string][2]string{ // as it is written, and the part of it that must not arrive
			"key":    {foundKey, foundKey},
			"base64": {base64.StdEncoding.EncodeToString([]byte("key " + foundKey)), base64.StdEncoding.EncodeToString([]byte("key " + foundKey))[8:]},
			"mail":   {"anna.schmidt@acme-corp.de", "anna.schmidt@acme-corp.de"},
			"card":   {"4539 1488 0343 6467", "4539 1488 0343 6467"},
			"canary": {canaryValue, canaryValue},
			"pem":    {sentKey, sentKey[40:]},
		} {
			t.Run(fmt.Sprint(trust, "/", name), func(t *testing.T) {
				r, seen := script(t, sentAnswers, func(o *gateway.Options) {
					o.Policy = mustPolicy(t, "version: 1\nrules: []\n")
					o.Servers[0].Trust = trust
					o.Contents = guard.Contents{Detection: guard.Detection{Detector: scanner, Sent: sent}}
				})
				w := r.wire(t)
				w.ask(strings.Replace(hello, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
				for i, q := range sending {
					params := strings.ReplaceAll(q.params, "VALUE", value[0])
					if q.method != "ask" && len(scanner.Scan([]byte(params), detect.JSON, nil).Findings) == 0 {
						continue // no number in an address counts as one of a card
					}
					before, _ := os.ReadFile(seen)
					if q.method == "ask" {
						asked := w.ask(`{"jsonrpc":"2.0","id":"99","method":"tools/call","params":{"name":"asks","arguments":{}}}`)
						var m struct{ ID json.RawMessage }
						if err := json.Unmarshal([]byte(asked), &m); err != nil || !strings.Contains(asked, "elicitation/create") {
							t.Fatalf("not asked: %s", asked)
						}
						w.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"action":"accept","content":{"a":"` + params + `"}}}`)
						w.until("99")
					} else {
						w.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i+1, q.method, params))
					}
					after, err := os.ReadFile(seen)
					got := string(after[len(before):])
					if err != nil || q.got == "" && strings.Contains(got, q.method) || !strings.Contains(got, q.got) {
						t.Errorf("%s %s: the server gets %s (%v)", q.method, q.params, got, err)
					}
					if strings.Contains(got, value[1]) {
						t.Errorf("%s %s: the server gets the value: %s", q.method, q.params, got)
					}
					for line := range strings.Lines(got) {
						for _, f := range scanner.Scan([]byte(line), detect.JSON, nil).Findings {
							if _, redacted := sent[string(f.Class)]; redacted && f.Confidence > detect.Low {
								t.Errorf("%s %s: the server gets %s at %s: %s", q.method, q.params, f.Kind, f.Path, line)
							}
						}
					}
				}
				for _, e := range r.recorded(t, record.Decision) {
					found := e.Content.Detection
					if found != nil && !found.Changed && slices.ContainsFunc(found.Findings, func(f record.Finding) bool { return f.Class != "" }) {
						t.Errorf("%s %s: the event has findings that went out: %+v", e.Method, e.Effect, found)
					}
				}
			})
		}
	}
}

const readOnlyQueries = `
version: 1
overlays:
  - name: db
    match: [{server: s}]
    tools:
      tool:
        contract: {readOnly: false, destructive: true, openWorld: true, destinations: [public], outcomes: [irreversible]}
        when:
          - if: sql.readOnly(call.arguments.query, "sqlite")
            contract: {readOnly: true, destructive: false, openWorld: false, destinations: [internal], outcomes: [benign]}
`

// A text that changes nothing only because of a value that does not go is decided on as the text that goes.
func TestTheTextThatGoesIsDecided(t *testing.T) {
	t.Parallel()
	hidden := `WITH \"a` + sentKey + `\" AS (SELECT 1 AS b) SELECT '-----END\" AS (SELECT 1) DELETE FROM users --'`
	for name, c := range map[string]struct {
		query string
		goes  bool
	}{
		"a read":                {"SELECT 2", true},
		"the text without keys": {`WITH \"a[redacted:private-key]-----END\" AS (SELECT 1) DELETE FROM users --'`, false},
		"a delete in a key":     {`SELECT '` + sentKey[:40] + `'; DELETE FROM users; -- ` + sentKey[40:], false},
		"a delete behind a key": {hidden, true}, // which stays a text
	} {
		t.Run(name, func(t *testing.T) {
			r, seen := script(t, sentAnswers, func(o *gateway.Options) {
				o.Policy = mustPolicy(t, "version: 1\nrules:\n  - {name: read, when: call, if: '!tool.annotations.readOnlyHint', effect: block, message: m}\n")
				o.Servers[0].Trust = contract.Known
				set, err := overlay.Load("db.yaml", []byte(readOnlyQueries))
				if err != nil {
					t.Fatal(err)
				}
				o.Servers[0].Overlay = set.For(overlay.Server{Name: "s"})
				o.Contents.Detection = guard.Detection{Detector: detect.New(), Sent: map[string][]contract.Destination{"credentials": {contract.Public, contract.Internal}}}
			})
			w := r.wire(t)
			w.ask(hello)
			got := w.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":{"query":"` + c.query + `"}}}`)
			log, _ := os.ReadFile(seen)
			if strings.Contains(string(log), `"tools/call"`) != c.goes {
				t.Errorf("the host gets %s, and the server %s", got, log)
			}
			if strings.Contains(string(log), "DELETE") && !strings.Contains(string(log), `AS (SELECT 1 AS b) SELECT '-----END`) {
				t.Errorf("the server gets another statement: %s", log)
			}
		})
	}
}

func mustPolicy(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
