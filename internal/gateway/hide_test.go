package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/vault"
)

// leaky is a server that says a text in every way that it can while it works on a call. It takes that text and the ways from a file that
// the test writes before each call, and writes the calls that it gets beside it.
func leaky(file string) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		m, err := rpc.Parse([]byte(line))
		if err != nil || m.ID == nil {
			continue
		}
		answer, ok := leakyAnswers[m.Method]
		if m.Method == "tools/call" {
			raw, _ := os.ReadFile(file)
			var script leak
			_ = json.Unmarshal(raw, &script)
			token, _ := rawjson.Get(m.Params, "_meta", "progressToken")
			for _, said := range script.Before {
				fmt.Println(strings.ReplaceAll(said, "TOKEN", string(token)))
			}
			number, _ := rawjson.Get(m.Params, "arguments", "n")
			answer, ok = strings.ReplaceAll(script.Answer, "NUMBER", string(number)), true
			_ = os.WriteFile(file+".got", m.Params, 0o600)
		}
		if !ok {
			answer = `"error":{"code":-32601,"message":"no"}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer)
	}
}

// A leak is the answer to a call, without its id, and the messages before it.
type leak struct {
	Before []string
	Answer string
}

var leakyAnswers = map[string]string{
	"initialize": `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{},"completions":{},"logging":{}},` +
		`"serverInfo":{"name":"s","version":"1"}}`,
	"tools/list": `"result":{"tools":[{"name":"inbox","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},` +
		`"outputSchema":{"type":"object","properties":{"from":{"type":"string"}}},"annotations":{"readOnlyHint":true,"openWorldHint":true}},` +
		`{"name":"save","inputSchema":{"type":"object","properties":{"n":{"type":"integer"},"text":{"type":"string"}}},` +
		`"annotations":{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false}},` +
		`{"name":"mine","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}},"annotations":{"readOnlyHint":true,` +
		`"openWorldHint":true,"returnMetadata":{"source":["untrustedPublic","internal"],"sensitivity":["pii"]}}},` +
		`{"name":"note","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":false,` +
		`"destructiveHint":false,"openWorldHint":false,"inputMetadata":{"destination":["user"],"outcomes":["benign"],"sensitivity":["none"]},` +
		`"returnMetadata":{"source":["system"],"sensitivity":["none"]}}},` +
		`{"name":"post","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"account":{"type":"integer"}}},` +
		`"annotations":{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":true,` +
		`"inputMetadata":{"destination":["public"],"outcomes":["irreversible"]}}},` +
		`{"name":"weir_look","inputSchema":{"type":"object"}}]}`,
	"prompts/list":             `"result":{"prompts":[{"name":"p"}]}`,
	"resources/list":           `"result":{"resources":[{"uri":"x://a","name":"a"}]}`,
	"resources/templates/list": `"result":{"resourceTemplates":[]}`,
	"prompts/get":              `"result":{"messages":[{"role":"user","content":{"type":"text","text":"CANARY"}}]}`,
	"resources/read":           `"result":{"contents":[{"uri":"x://a","text":"CANARY"}]}`,
	"completion/complete":      `"result":{"completion":{"values":["CANARY"]}}`,
	"tasks/result":             `"result":{"content":[{"type":"text","text":"CANARY"}]}`,
	"logging/setLevel":         `"result":{}`,
}

// ways are answers with the canary, and messages with it before an answer.
var (
	leakyWays = []string{
		`"result":{"content":[{"type":"text","text":"CANARY"}]}`,
		`"result":{"content":[{"type":"text","text":"{\"from\":\"CANARY\",\"CANARY\":1,\"n\":7}"}]}`,
		`"result":{"content":[{"type":"text","text":"x"}],"structuredContent":{"from":"CANARY","CANARY":{"CANARY":[]}}}`,
		`"result":{"content":[{"type":"text","text":"CANARY"}],"isError":true}`,
		`"result":{"content":[{"type":"image","data":"CANARY","mimeType":"CANARY"}]}`,
		`"result":{"content":[{"type":"resource","resource":{"uri":"CANARY://a","text":"CANARY"}}],"_meta":{"CANARY":"CANARY"}}`,
		`"result":{"content":[{"type":"resource_link","uri":"x://CANARY","name":"CANARY"}],"CANARY":"CANARY"}`,
		`"result":{"resultType":"input_required","inputRequests":{"CANARY":{"method":"elicitation/create","params":{"message":"CANARY"}}},"requestState":"CANARY"}`,
		`"result":{"resultType":"CANARY","content":[{"type":"text","text":"CANARY"}]}`,
		`"error":{"code":-32000,"message":"CANARY","data":{"CANARY":"CANARY"}}`,
		`"result":"CANARY"`,
		`"result":{"content":[{"type":"text","text":"CANARY"}]},"CANARY":1`,
	}
	leakyMessages = []string{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"CANARY"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKEN,"progress":1,"message":"CANARY"}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://CANARY"}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"CANARY":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/CANARY","params":{"CANARY":1}}`,
		`{"jsonrpc":"2.0","id":"CANARY","method":"elicitation/create","params":{"message":"CANARY","requestedSchema":{"type":"object"}}}`,
		`{"jsonrpc":"2.0","id":77,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"CANARY"}}],"maxTokens":1}}`,
		`CANARY`,
	}
)

// A leakyHost is a host behind which a leaky server works.
type leakyHost struct {
	t     *testing.T
	w     *wire
	meta  string // of a request, with a comma; "" in the older revisions
	file  string
	id    int
	heard []string // all lines that the host got
}

const hideAll = "version: 1\nrules:\n- {name: hide, when: result, if: response.annotations.openWorldHint && !session.untrusted, effect: hide, message: it is a stranger's}\n"

func newLeakyHost(t *testing.T, modern bool, change func(*gateway.Options)) *leakyHost {
	t.Helper()
	p, err := policy.Load("hide.yaml", []byte(hideAll))
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/leak.json"
	r := newRig(t, func(o *gateway.Options) {
		o.Servers = []gateway.Server{{Name: "s", Trust: contract.Known, Spec: upstream.Spec{Name: "s", Command: []string{os.Args[0], "leaky", file}}}}
		o.Policy = p
		if change != nil {
			change(o)
		}
	})
	h := &leakyHost{t: t, w: r.wire(t), file: file}
	if modern {
		h.meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
			`"io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},"io.modelcontextprotocol/logLevel":"debug",`
		return h
	}
	h.w.ask(hello)
	h.w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	h.request("logging/setLevel", `"level":"debug"`)
	return h
}

// request sends a request and returns the answer, whatever comes before it.
func (h *leakyHost) request(method, params string) json.RawMessage {
	h.t.Helper()
	h.id++
	if params != "" {
		params = "," + params
	}
	h.w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":{%s"progressToken":"t%d"}%s}}`, h.id, method, h.meta, h.id, params))
	for {
		line := h.w.recv()
		h.heard = append(h.heard, line)
		if id, _ := rawjson.Get([]byte(line), "id"); string(id) == fmt.Sprint(h.id) {
			return json.RawMessage(line)
		}
	}
}

func (h *leakyHost) call(name, arguments string) json.RawMessage {
	h.t.Helper()
	return h.request("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments))
}

// says has the server answer the next call so.
func (h *leakyHost) says(l leak) {
	raw, _ := json.Marshal(l)
	if err := os.WriteFile(h.file, raw, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// got returns the arguments of the last call that came to the server.
func (h *leakyHost) got() string {
	raw, _ := os.ReadFile(h.file + ".got")
	arguments, _ := rawjson.Get(raw, "arguments")
	return string(arguments)
}

var valueName = regexp.MustCompile(`"dev\.weir/value":"(w[0-9]{5})"`)

func (h *leakyHost) value(answer json.RawMessage) string {
	h.t.Helper()
	m := valueName.FindSubmatch(answer)
	if m == nil {
		h.t.Fatalf("nothing is hidden: %s", answer)
	}
	return string(m[1])
}

func (h *leakyHost) silent(when string) {
	h.t.Helper()
	for _, line := range h.heard {
		if strings.Contains(line, "CANARY") {
			h.t.Fatalf("%s, the host got %s", when, line)
		}
	}
}

func eras(t *testing.T, run func(t *testing.T, modern bool)) {
	for _, modern := range []bool{false, true} {
		t.Run(map[bool]string{false: "handshake", true: "modern"}[modern], func(t *testing.T) {
			t.Parallel()
			run(t, modern)
		})
	}
}

// No byte of a hidden result is in any message to the host before the agent asks for it: whatever the answer is, and whatever its server
// says beside it, before it and after it.
func TestNoByteOfAHiddenResultReachesTheHost(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		h := newLeakyHost(t, modern, nil)
		name, hidden := "", 0
		for _, way := range leakyWays {
			h.says(leak{leakyMessages, way})
			if m := valueName.FindSubmatch(h.call("inbox", "{}")); m != nil {
				name, hidden = string(m[1]), hidden+1
			}
			h.silent(way)
			h.call("save", fmt.Sprintf(`{"text":"[[%s]]"}`, name)) // which answers in the same way
			if !strings.Contains(h.got(), "CANARY") && way == leakyWays[0] {
				t.Errorf("the server got %s", h.got())
			}
			for _, bad := range []string{`[[%s#/CANARI]]`, `[[%s#/0/x]]`, `[[%s]] [[w00000]]`, `[[%s#/from]]`} {
				h.call("save", fmt.Sprintf(`{"n":%q}`, fmt.Sprintf(bad, name)))
			}
			for _, look := range []string{`"as":"integer"`, `"as":"boolean"`, `"as":"date","path":"/from"`, `"as":"one_of","options":["a","b"]`,
				`"as":"text"`, `"as":"email"`, `"as":"integer","path":"/CANARI"`, `"as":"CANARI"`} {
				h.call("weir_look", fmt.Sprintf(`{"value":%q,%s}`, name, look))
			}
			h.call("weir_each", fmt.Sprintf(`{"value":%q,"path":"/content","look":{"as":"boolean"}}`, name))
			h.silent(way)
		}
		if hidden < 9 {
			t.Errorf("of %d answers %d were hidden", len(leakyWays), hidden)
		}
		for _, other := range [][2]string{
			{"prompts/get", `"name":"p"`}, {"resources/read", `"uri":"x://a"`}, {"resources/read", `"uri":"weir://value/` + name + `"`},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"}`},
			{"tools/list", ""}, {"tools/resolve", `"name":"save","arguments":{"text":"[[` + name + `]]"}`},
		} {
			h.request(other[0], other[1])
			h.silent(other[0])
		}
		h.says(leak{nil, leakyWays[0]})
		name = h.value(h.call("inbox", "{}"))
		if revealed := h.call("weir_reveal", fmt.Sprintf(`{"value":%q}`, name)); !strings.Contains(string(revealed), "CANARY") {
			t.Errorf("not revealed: %s", revealed)
		}
	})
}

// The same, for answers and messages in any order.
func TestNoOrderOfMessagesTellsAHiddenResult(t *testing.T) {
	h := newLeakyHost(t, false, nil)
	rapid.Check(t, func(rt *rapid.T) {
		before := rapid.SliceOfN(rapid.SampledFrom(leakyMessages), 0, 4).Draw(rt, "before")
		h.says(leak{before, rapid.SampledFrom(leakyWays).Draw(rt, "answer")})
		h.call("inbox", "{}")
		h.silent("then")
		h.heard = nil
	})
}

// A value is used as it is, decided on as what it is, and taken back by nobody: the session stays clean until the agent looks.
func TestHiddenValuesAreUsedByHandle(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		h := newLeakyHost(t, modern, nil)
		h.says(leak{nil, `"result":{"content":[{"type":"text","text":"{\"from\":\"bob@acme.example\",\"n\":7,\"on\":true}"}]}`})
		name := h.value(h.call("inbox", "{}"))
		for arguments, want := range map[string]string{
			`{"text":"[[` + name + `#/from]]"}`:         `{"text":"bob@acme.example"}`,
			`{"n":"[[` + name + `#/n]]"}`:               `{"n":7}`,
			`{"text":"a [[` + name + `#/n]] b [[x]] "}`: `{"text":"a 7 b [[x]] "}`,
		} {
			h.says(leak{nil, `"result":{"content":[{"type":"text","text":"done"}]}`})
			answer := h.call("save", arguments)
			if h.got() != want {
				t.Errorf("%s: the server got %s, want %s", arguments, h.got(), want)
			}
			h.value(answer)
		}
		for _, c := range [][2]string{
			{`"path":"/n","as":"integer","min":0,"max":100`, `{\"answer\":7}`},
			{`"path":"/on","as":"boolean"`, `{\"answer\":true}`},
			{`"path":"/from","as":"boolean"`, `there is no such answer`},
			{`"path":"/from","as":"email"`, `{\"how\":`},
			{`"path":"/from","as":"number"`, `64 bits of hidden values may be told`},
			{`"path":"/on","as":"boolean"`, `{\"answer\":true}`},
		} {
			if answer := string(h.call("weir_look", fmt.Sprintf(`{"value":%q,%s}`, name, c[0]))); !strings.Contains(answer, c[1]) {
				t.Errorf("%s: %s, want %s", c[0], answer, c[1])
			}
		}
		if answer := h.call("save", `{"text":"[[w00000]]"}`); !strings.Contains(string(answer), "stands for no value") {
			t.Errorf("%s", answer)
		}
		list := string(h.request("tools/list", ""))
		for _, want := range []string{`"weir_look"`, `"weir_each"`, `"weir_reveal"`, `"anyOf":[{"type":"integer"},{"type":"string","pattern"`} {
			if strings.Count(list, want) < 1 {
				t.Errorf("the list has no %s: %s", want, list)
			}
		}
		if strings.Contains(list, "outputSchema") || strings.Count(list, `"name":"weir_look"`) != 1 {
			t.Errorf("the list is %s", list)
		}
	})
}

// liar is a quarantined model that says the worst that it can.
type liar struct{ said string }

func (l *liar) Answer(_ context.Context, text string, _ *vault.Look) (json.RawMessage, error) {
	if l.said == "fail" || !strings.Contains(text, "CANARY") {
		return nil, errors.New("CANARY")
	}
	return json.RawMessage(l.said), nil
}

// A quarantined model that is told to lie says no more than an answer of the type.
func TestALyingModelTellsNoText(t *testing.T) {
	model := &liar{}
	h := newLeakyHost(t, false, func(o *gateway.Options) { o.Quarantine = model })
	for _, look := range []string{`"as":"one_of","options":["up","down"]`, `"as":"boolean"`, `"as":"integer","min":0,"max":3`, `"as":"date"`} {
		for _, lie := range []string{
			`"up"`, `"CANARY"`, `{"CANARY":1}`, `["CANARY"]`, `"true CANARY"`, `99`, `"2025-01-01 CANARY"`, `"up CANARY"`, `1e999`, `null`, "fail", "true", "1",
			`"up" `,
		} {
			way := 1
			if lie == `"up" ` { // of prose, which is none of the options
				way = 0
			}
			h.says(leak{nil, leakyWays[way]})
			name := h.value(h.call("inbox", "{}"))
			model.said = lie
			answer := string(h.call("weir_look", fmt.Sprintf(`{"value":%q,"question":"does the rent rise?",%s}`, name, look)))
			h.silent(look + " " + lie)
			if strings.TrimSpace(lie) == `"up"` && strings.Contains(look, "one_of") && !strings.Contains(answer, `{\"answer\":\"up\"}`) {
				t.Errorf("the answer is %s", answer)
			}
		}
	}
}

// Where no rule hides, nothing changes.
func TestNothingChangesWhereNothingIsHidden(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		h := newLeakyHost(t, modern, func(o *gateway.Options) { o.Policy = nil })
		h.says(leak{nil, leakyWays[0]})
		if answer := string(h.call("inbox", "{}")); !strings.Contains(answer, "CANARY") {
			t.Error(answer)
		}
		h.call("save", `{"text":"[[w12345]]"}`)
		if h.got() != `{"text":"[[w12345]]"}` {
			t.Errorf("the server got %s", h.got())
		}
		if list := string(h.request("tools/list", "")); strings.Contains(list, "weir_reveal") || !strings.Contains(list, "outputSchema") {
			t.Errorf("the list is %s", list)
		}
	})
}
