package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/record"
)

// canary is a text that only a server writes. In the errors that a host gets it may stand in one place: in an error object that
// answers a call of the agent, behind the label that the call has raised.
const canary = "CANARY"

// badAnswers are answers that no host may see anything of. ID stands for the id of the request.
var badAnswers = map[string]string{
	"not JSON":              `CANARY`,
	"half of it":            `{"jsonrpc":"2.0","id":ID,"result":{"CANARY":`,
	"duplicate name":        `{"jsonrpc":"2.0","id":ID,"result":{"CANARY":"CANARY","CANARY":1}}`,
	"duplicate by escape":   `{"jsonrpc":"2.0","id":ID,"result":{"CANARY":"CANARY","\u0043ANARY":1}}`,
	"name in another case":  `{"jsonrpc":"2.0","id":ID,"Result":{"CANARY":"CANARY"},"result":{"content":[]}}`,
	"nesting":               `{"jsonrpc":"2.0","id":ID,"result":{"CANARY":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}}`,
	"both":                  `{"jsonrpc":"2.0","id":ID,"result":{"CANARY":"CANARY"},"error":{"code":1,"message":"CANARY"}}`,
	"neither":               `{"jsonrpc":"2.0","id":ID,"CANARY":"CANARY"}`,
	"error of another type": `{"jsonrpc":"2.0","id":ID,"error":"CANARY"}`,
	"with params":           `{"jsonrpc":"2.0","id":ID,"result":{},"params":{"CANARY":"CANARY"}}`,
	"version":               `{"jsonrpc":"CANARY","id":ID,"result":{}}`,
	"array":                 `[{"jsonrpc":"2.0","id":ID,"result":{"CANARY":"CANARY"}}]`,
}

// errorObject is an answer that hosts may see if it answers a call.
const errorObject = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"CANARY","data":{"CANARY":"CANARY"}}}`

// goodAnswers are those of a server that behaves.
var goodAnswers = map[string]string{
	"initialize": `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}}`,
	"tools/list": `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
		`{"name":"maybe","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"resolve":true}}]}}`,
	"prompts/list":             `{"jsonrpc":"2.0","id":ID,"result":{"prompts":[{"name":"p"}]}}`,
	"resources/list":           `{"jsonrpc":"2.0","id":ID,"result":{"resources":[{"uri":"x://a","name":"a"}]}}`,
	"resources/templates/list": `{"jsonrpc":"2.0","id":ID,"result":{"resourceTemplates":[]}}`,
	"tools/call":               `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`,
	"logging/setLevel":         `{"jsonrpc":"2.0","id":ID,"result":{}}`,
}

// listed is in the good answers to the requests for lists.
var listed = map[string]string{"tools/list": `"look"`, "prompts/list": `"name":"p"`, "resources/list": `"x://a"`}

// requests are those of a host, and whether a call of the agent reaches the server by it.
var requests = []struct {
	method, params string
	call           string // the call of the agent by it, to which its label is attributed; "" if there is none
}{
	{"initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}`, ""},
	{"tools/list", `{}`, ""},
	{"prompts/list", `{}`, ""},
	{"resources/list", `{}`, ""},
	{"resources/templates/list", `{}`, ""},
	{"logging/setLevel", `{"level":"debug"}`, ""},
	{"tools/resolve", `{"name":"maybe","arguments":{}}`, ""},
	{"tools/call", `{"name":"look","arguments":{}}`, "s/look"},
	{"tools/call", `{"name":"maybe","arguments":{}}`, "s/maybe"},
	{"prompts/get", `{"name":"p"}`, "s/p"},
	{"resources/read", `{"uri":"x://a"}`, "s/x://a"},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"}}`, "s/p"},
}

// hostile is a server that answers methods as a file says.
func hostile(file string) {
	raw, err := os.ReadFile(file)
	answers := map[string]string{}
	if err != nil || json.Unmarshal(raw, &answers) != nil {
		os.Exit(3)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if m, err := rpc.Parse([]byte(line)); err == nil && m.IsRequest() {
			fmt.Println(strings.ReplaceAll(answerOf(answers, m.Method), "ID", string(m.ID)))
		}
	}
}

func answerOf(answers map[string]string, method string) string {
	if answer, ok := answers[method]; ok {
		return answer
	}
	return `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`
}

// A web is the same over HTTP: do answers the requests of one method.
type web struct {
	method string
	do     func(w http.ResponseWriter, r *http.Request, id string)
}

func (s *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, err := rpc.Parse(body)
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case err != nil || !m.IsRequest():
		w.WriteHeader(http.StatusAccepted)
	case m.Method == s.method:
		s.do(w, r, string(m.ID))
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, strings.ReplaceAll(answerOf(goodAnswers, m.Method), "ID", string(m.ID)))
	}
}

// badResponses are the faults of an HTTP server beyond a bad message.
var badResponses = map[string]func(w http.ResponseWriter, r *http.Request, id string){
	"body of 500": func(w http.ResponseWriter, _ *http.Request, _ string) { http.Error(w, canary, 500) },
	"body of 404": func(w http.ResponseWriter, _ *http.Request, _ string) { http.Error(w, canary, 404) },
	"body of 400": func(w http.ResponseWriter, _ *http.Request, _ string) { http.Error(w, canary, 400) },
	"reason phrase": func(w http.ResponseWriter, _ *http.Request, _ string) {
		raw(w, "HTTP/1.1 500 CANARY\r\nContent-Length: 0\r\n\r\n")
	},
	"header": func(w http.ResponseWriter, _ *http.Request, _ string) {
		raw(w, "HTTP/1.1 200 OK\r\nCANARY: CANARY\r\nCANARY\r\n\r\n")
	},
	"no HTTP": func(w http.ResponseWriter, _ *http.Request, _ string) { raw(w, "CANARY\r\n\r\n") },
	"broken off": func(w http.ResponseWriter, _ *http.Request, id string) {
		raw(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{\"CANARY\":")
	},
	"login": func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("WWW-Authenticate", `Bearer error="CANARY", scope="CANARY"`)
		w.WriteHeader(401)
	},
	"elsewhere": func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, "http://canary.example/CANARY", http.StatusTemporaryRedirect)
	},
	"made a GET": func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, "/CANARY", http.StatusSeeOther)
	},
	"round": func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, "/CANARY", http.StatusTemporaryRedirect)
	},
	"bad location": func(w http.ResponseWriter, _ *http.Request, _ string) {
		raw(w, "HTTP/1.1 307 x\r\nLocation: http://[CANARY\r\nContent-Length: 0\r\n\r\n")
	},
	"content type": func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/CANARY")
		io.WriteString(w, canary)
	},
	"session": func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "CANARY\x7f")
		io.WriteString(w, `{"jsonrpc":"2.0","id":"CANARY","result":{}}`)
	},
	"event":        events("event: CANARY\ndata: CANARY\n\n"),
	"no message":   events("data: CANARY\n\n"),
	"other answer": events("data: {\"jsonrpc\":\"2.0\",\"id\":\"CANARY\",\"result\":{}}\n\n"),
	"no event":     events(": CANARY\n\n"),
}

func events(text string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, text)
	}
}

// raw answers with bytes that package http would not write.
func raw(w http.ResponseWriter, text string) {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err == nil {
		buf.WriteString(text)
		buf.Flush()
		conn.Close()
	}
}

func answersWith(kind, text string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", kind)
		text := strings.ReplaceAll(text, "ID", id)
		if kind == "text/event-stream" {
			text = "data: " + text + "\n\n"
		}
		io.WriteString(w, text)
	}
}

// behindWeir is a gateway over one server that nobody vouches for, or that is trusted with its word about calls.
func behindWeir(t *testing.T, spec upstream.Spec) *rig {
	t.Helper()
	r := newRecord()
	spec.Name = "s"
	g, err := gateway.New(gateway.Options{
		State: guard.NewState(nil, record.NewLines(r)), Version: "test", Stderr: io.Discard,
		Servers: []gateway.Server{{Name: "s", Trust: contract.Trusted, Timeout: 300 * time.Millisecond, Spec: spec}},
		Startup: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.g = g
	t.Cleanup(func() { g.Close() })
	return r
}

// hears asks a server that misbehaves for one method all that a host may ask, and checks the answers.
func (r *rig) hears(t *testing.T, bad string, object bool) {
	t.Helper()
	w := r.wire(t)
	for _, q := range requests {
		ask := func() string {
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, q.method, q.params))
			for {
				if got := w.recv(); strings.Contains(got, `"id":7`) {
					return got
				}
			}
		}
		got := ask()
		for has := listed[q.method]; bad != q.method && bad != "initialize" && !strings.Contains(got, has); {
			got = ask() // on a slow machine the server comes after the startup
		}
		failure, isError := rawjson.Get([]byte(got), "error")
		mine := q.method == bad
		if mine && q.call != "" {
			raised := slices.ContainsFunc(r.recorded(t, record.Label), func(e record.Event) bool {
				return e.Label != nil && strings.Contains(fmt.Sprint(*e.Label), q.call)
			})
			if !raised {
				t.Errorf("%s was left unanswered and raised nothing: %v", bad, r.recorded(t, record.Label))
			}
		}
		if isError && strings.Contains(strings.ToUpper(string(failure)), canary) && !(mine && q.call != "" && object) {
			t.Errorf("the host reads what the server chose: %s", got)
		}
		if mine && !isError && strings.Contains(got, canary) {
			t.Errorf("%s: an answer that is none is handed on: %s", bad, got)
		}
	}
}

func methods() (all []string) {
	for _, q := range requests {
		all = append(all, q.method)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Nothing that a server chose reaches a host in an error, over a pipe.
func TestCanaryPipe(t *testing.T) {
	for _, method := range methods() {
		for name, answer := range badAnswers {
			// Over a pipe all answers are read in one place, and a handshake that nobody can tell was answered is waited for.
			unread := name == "not JSON" || name == "neither" || name == "half of it" || name == "array"
			if method == "tools/call" || method == "initialize" && !unread || name == "duplicate name" {
				t.Run(method+"/"+name, func(t *testing.T) { pipeCanary(t, method, answer, false) })
			}
		}
		t.Run(method+"/error", func(t *testing.T) { pipeCanary(t, method, errorObject, true) })
	}
}

func pipeCanary(t *testing.T, method, answer string, object bool) {
	t.Parallel()
	answers := map[string]string{}
	for name, good := range goodAnswers {
		answers[name] = good
	}
	answers[method] = answer
	text, err := json.Marshal(answers)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "answers")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	behindWeir(t, upstream.Spec{Command: []string{os.Args[0], "hostile", file}}).hears(t, method, object)
}

// Nor over HTTP.
func TestCanaryHTTP(t *testing.T) {
	for _, method := range methods() {
		check := func(name string, do func(http.ResponseWriter, *http.Request, string), object bool) {
			t.Run(method+"/"+name, func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(&web{method, do})
				t.Cleanup(server.Close)
				behindWeir(t, upstream.Spec{URL: server.URL}).hears(t, method, object)
			})
		}
		for name, answer := range badAnswers {
			check(name, answersWith("application/json", answer), false)
			if !strings.Contains(answer, "\n") {
				check(name+" in an event", answersWith("text/event-stream", answer), false)
			}
		}
		for name, do := range badResponses {
			check(name, do, false)
		}
		check("error", answersWith("application/json", errorObject), true)
	}
}
