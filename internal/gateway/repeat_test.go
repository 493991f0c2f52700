package gateway_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// mortal is an MCP server on stdio that writes each of its calls into dir/calls. At the n-th call it does as the n-th
// line of dir/script says, and answers when the script is over. Its tool is as dir/tool has it when it starts, or as
// dir/changed has it once there was a call.
func mortal(dir string) {
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		return string(text)
	}
	definition := read("tool")
	if changed := read("changed"); changed != "" && read("calls") != "" {
		definition = changed
	}
	script := strings.Split(read("script"), "\n")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		m, err := rpc.Parse(in.Bytes())
		if err != nil || !m.IsRequest() {
			continue
		}
		answer := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result) }
		switch m.Method {
		case "initialize":
			answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"logging":{}},"serverInfo":{"name":"m","version":"1"}}`)
		case "tools/list":
			answer(`{"tools":[` + definition + `]}`)
		case "resources/list":
			answer(`{"resources":[{"uri":"test://r","name":"r"}]}`)
		case "tools/call", "resources/read":
			f, _ := os.OpenFile(filepath.Join(dir, "calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			fmt.Fprintln(f, m.Method)
			f.Close()
			n := strings.Count(read("calls"), "\n")
			if n <= len(script) && strings.TrimSpace(script[n-1]) != "" {
				perform(m, dir, script[n-1])
				continue
			}
			text := fmt.Sprintf("answer %d", n)
			if m.Method == "tools/call" {
				answer(`{"content":[{"type":"text","text":"` + text + `"}]}`)
				continue
			}
			answer(`{"contents":[{"uri":"test://r","text":"` + text + `"}]}`)
		}
	}
}

// perform carries out a line of the script of a mortal server.
func perform(m *rpc.Message, dir, line string) {
	for _, word := range strings.Fields(line) {
		switch word {
		case "die":
			os.Exit(1)
		case "later":
			time.Sleep(200 * time.Millisecond)
		case "reloaded":
			for _, err := os.Stat(filepath.Join(dir, "go")); err != nil; _, err = os.Stat(filepath.Join(dir, "go")) {
				time.Sleep(5 * time.Millisecond)
			}
		case "progress":
			if token, ok := rawjson.Get(m.Params, "_meta", "progressToken"); ok {
				fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`+"\n", token)
			}
		case "log":
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		case "question":
			fmt.Println(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`)
		}
	}
}

// definition returns the definition of the tool of a mortal server.
func definition(hints string) string {
	return `{"name":"t","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},"annotations":{` + hints + `}}`
}

const (
	reads    = `"readOnlyHint":true,"openWorldHint":false`
	callOf   = `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"t","arguments":{"n":1},"_meta":{"progressToken":"p"}}}`
	readOf   = `{"jsonrpc":"2.0","id":"c","method":"resources/read","params":{"uri":"test://r"}}`
	allows   = "version: 1\nrules: []\n"
	blocking = "version: 1\nrules:\n- {name: no, when: call, effect: block, message: no longer, if: 'tool.name == \"t\"'}\n"
)

// A mortalRig is a gateway over a mortal server.
type mortalRig struct {
	*rig
	dir string
}

func newMortalRig(t *testing.T, tool, script string, change func(*gateway.Options)) mortalRig {
	t.Helper()
	r := mortalRig{newRecord(), t.TempDir()}
	write(t, r.dir, "tool", tool)
	write(t, r.dir, "script", script)
	opts := gateway.Options{State: guard.NewState(nil, record.NewLines(r)), Policy: rules(t, allows), BaseEnv: []string{"GORACE=atexit_sleep_ms=0"}}
	opts.Servers = []gateway.Server{{Name: "m", Trust: contract.Trusted, Spec: upstream.Spec{
		Name: "m", Command: []string{os.Args[0], "mortal", r.dir},
	}}}
	r.open(t, opts, change)
	return r
}

// calls returns how many calls reached the server.
func (r mortalRig) calls(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// checkEvents holds the events against a number of repeats: each is of the call that was decided, once.
func (r mortalRig) checkEvents(t *testing.T, repeats int) {
	t.Helper()
	decided := map[string]int{}
	for _, e := range r.recorded(t, record.Decision) {
		if e.Phase == policy.OnCall.String() {
			decided[e.Call]++
		}
	}
	if len(decided) != 1 {
		t.Errorf("%d calls were decided on, want one", len(decided))
	}
	for _, e := range r.recorded(t, record.Upstream) {
		if e.Effect != "repeated" {
			continue
		}
		repeats--
		if decided[e.Call] != 1 || e.Server != "m" || e.Message == "" {
			t.Errorf("the event of the repeat is %+v, of decisions on %v", e, decided)
		}
	}
	if repeats != 0 {
		t.Errorf("%d events of repeats are missing", repeats)
	}
}

// trusting trusts the server as far as that, and describes its tool.
func trusting(t *testing.T, level contract.Trust, described string) func(*gateway.Options) {
	return func(o *gateway.Options) {
		o.Servers[0].Trust = level
		if described != "" {
			src := "version: 1\noverlays:\n- name: m\n  match: [{server: m}]\n  tools:\n    t: {contract: {" + described + "}}\n"
			o.Servers[0].Overlay = mustOverlay(t, "m", src)
		}
	}
}

func TestReadsAreRepeatedOnceWhenTheirServerDies(t *testing.T) {
	for _, c := range []struct {
		name, tool, script, request string
		change                      func(*gateway.Options)
		sent                        int
		want                        string
	}{
		{name: "a read", tool: reads, script: "die", sent: 2, want: "answer 2"},
		{name: "a read that is idempotent", tool: reads + `,"idempotentHint":true`, script: "die", sent: 2, want: "answer 2"},
		{name: "a resource", tool: reads, script: "die", request: readOf, sent: 2, want: "answer 2"},
		{name: "a read of a known server", tool: reads, script: "die", change: trusting(t, contract.Known, ""), sent: 2, want: "answer 2"},
		{name: "a read by the operator's word", tool: ``, script: "die", change: trusting(t, contract.Untrusted, "readOnly: true"), sent: 2, want: "answer 2"},

		{name: "death each time", tool: reads, script: "die\ndie\ndie", sent: 2, want: `"error"`},
		{name: "a read that is not idempotent", tool: reads + `,"idempotentHint":false`, script: "die", sent: 1, want: `"error"`},
		{name: "a read that the operator knows better", tool: reads, script: "die", change: trusting(t, contract.Trusted, "readOnly: false"), sent: 1, want: `"error"`},
		{name: "a change", tool: `"readOnlyHint":false,"idempotentHint":true`, script: "die", sent: 1, want: `"error"`},
		{name: "a tool that says nothing", tool: ``, script: "die", sent: 1, want: `"error"`},
		{name: "the claim of an untrusted server", tool: reads, script: "die", change: trusting(t, contract.Untrusted, ""), sent: 1, want: `"error"`},
		{name: "progress before", tool: reads, script: "progress die", sent: 1, want: `"error"`},
		{name: "a message before", tool: reads, script: "log die", sent: 1, want: `"error"`},
		{name: "a question before", tool: reads, script: "question die", sent: 1, want: `"error"`},
		{name: "arguments outside of the schema", tool: reads, script: "die",
			request: strings.Replace(callOf, `"n":1`, `"n":"x"`, 1), sent: 1, want: `"error"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newMortalRig(t, definition(c.tool), c.script, c.change)
			w := r.wire(t)
			w.ask(hello)
			if c.request == "" {
				c.request = callOf
			}
			w.send(c.request)
			if got := w.until("c")["c"]; !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if sent := r.calls(t); sent != c.sent {
				t.Errorf("the call went out %d times, want %d", sent, c.sent)
			}
			r.checkEvents(t, c.sent-1)
			if c.sent == 1 {
				return
			}
			w.send(strings.Replace(c.request, `"c"`, `"next"`, 1))
			if got := w.until("next")["next"]; !strings.Contains(got, "answer") && c.want != `"error"` {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
}

// A server that comes back with another description of the tool is another server.
func TestReadsOfChangedServersAreNotRepeated(t *testing.T) {
	for name, changed := range map[string]string{
		"hints":       definition(`"readOnlyHint":false`),
		"open world":  definition(`"readOnlyHint":true,"openWorldHint":true`),
		"schema":      strings.Replace(definition(reads), `"integer"`, `"number"`, 1),
		"description": strings.Replace(definition(reads), `"name"`, `"description":"new","name"`, 1),
		"name":        strings.Replace(definition(reads), `"t"`, `"u"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newMortalRig(t, definition(reads), "die", nil)
			write(t, r.dir, "changed", changed)
			w := r.wire(t)
			w.ask(hello)
			w.send(callOf)
			if got := w.until("c")["c"]; !strings.Contains(got, `"error"`) {
				t.Errorf("got %s", got)
			}
			if sent := r.calls(t); sent != 1 {
				t.Errorf("the call went out %d times", sent)
			}
			r.checkEvents(t, 0)
		})
	}
}

// What was decided before the server died has to hold when it is back.
func TestReadsThatAreRefusedMeanwhileAreNotRepeated(t *testing.T) {
	for name, change := range map[string]func(*gateway.Change){
		"policy": func(c *gateway.Change) { c.Policy = rules(t, blocking) },
		"trust":  func(c *gateway.Change) { c.Servers[0].Trust = contract.Untrusted },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var servers []gateway.Server
			r := newMortalRig(t, definition(reads), "reloaded die", func(o *gateway.Options) { servers = append(servers, o.Servers...) })
			w := r.wire(t)
			w.ask(hello)
			w.send(callOf)
			await(t, filepath.Join(r.dir, "calls"))
			c := gateway.Change{Servers: servers, Policy: rules(t, allows)}
			change(&c)
			r.reload(t, c)
			write(t, r.dir, "go", "")
			if got := w.until("c")["c"]; !strings.Contains(got, `"error"`) {
				t.Errorf("got %s", got)
			}
			if sent := r.calls(t); sent != 1 {
				t.Errorf("the call went out %d times", sent)
			}
		})
	}
}

// A person's yes is for the call that the person has seen go out, once.
func TestApprovedReadsAreNotRepeated(t *testing.T) {
	t.Parallel()
	r := newMortalRig(t, definition(reads), "die", func(o *gateway.Options) {
		o.Policy = rules(t, "version: 1\nrules: [{name: all, when: call, if: 'true', effect: ask, message: every one}]\n")
	})
	w := r.wire(t)
	w.ask(strings.Replace(hello, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	asked := w.ask(strings.Replace(callOf, `,"_meta":{"progressToken":"p"}`, "", 1)) // with it, progress tells of the request
	id, _ := rawjson.Get([]byte(asked), "id")
	w.send(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"action":"accept","content":{"approve":true}}}`)
	if got := w.until("c")["c"]; !strings.Contains(got, `"error"`) || !strings.Contains(asked, "elicitation/create") {
		t.Errorf("asked %s, got %s", asked, got)
	}
	if sent := r.calls(t); sent != 1 {
		t.Errorf("the call went out %d times", sent)
	}
}

// Both attempts together have the time of one.
func TestRepeatsKeepTheDeadlineOfTheirCall(t *testing.T) {
	const timeout = 3 * time.Second
	r := newMortalRig(t, definition(reads), "later die\nnever", func(o *gateway.Options) { o.Servers[0].Timeout = timeout })
	w := r.wire(t)
	w.ask(hello)
	w.send(callOf)
	got := w.until("c")["c"]
	_, rest, _ := strings.Cut(got, "no answer within ")
	left, _, _ := strings.Cut(rest, `"`)
	if d, err := time.ParseDuration(left); err != nil || d > timeout-200*time.Millisecond {
		t.Errorf("got %s, want less than %v for the second attempt", got, timeout)
	}
	if sent := r.calls(t); sent != 2 {
		t.Errorf("the call went out %d times", sent)
	}
}

// An HTTP response that breaks off is a lost connection too; one that says something is none.
func TestReadsAreRepeatedOverHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		fails func(http.ResponseWriter)
		sent  int
	}{
		"no response":    {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, 2},
		"half an answer": {func(w http.ResponseWriter) { breakOff(w, "application/json", `{"jsonrpc":`) }, 2},
		"half a stream":  {func(w http.ResponseWriter) { breakOff(w, "text/event-stream", ": x\n\n") }, 2},
		"a status":       {func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, 1},
		"a bad answer": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":`)
		}, 1},
		"a stream that ends": {func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				m := readRequest(req)
				if m == nil {
					w.WriteHeader(http.StatusAccepted)
					return
				}
				result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"m","version":"1"}}`
				switch m.Method {
				case "tools/list":
					result = `{"tools":[` + definition(reads) + `]}`
				case "tools/call":
					if sent++; sent == 1 {
						c.fails(w)
						return
					}
					result = `{"content":[{"type":"text","text":"answer"}]}`
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
			}))
			t.Cleanup(srv.Close)
			r := newMortalRig(t, "", "", func(o *gateway.Options) { o.Servers[0].Spec = upstream.Spec{Name: "m", URL: srv.URL} })
			w := r.wire(t)
			w.ask(hello)
			w.send(callOf)
			got := w.until("c")["c"]
			if answered := strings.Contains(got, `"answer"`); answered != (c.sent == 2) || sent != c.sent {
				t.Errorf("the call went out %d times, want %d; got %s", sent, c.sent, got)
			}
			r.checkEvents(t, c.sent-1)
		})
	}
}

// breakOff begins a response and closes the connection.
func breakOff(w http.ResponseWriter, kind, text string) {
	w.Header().Set("Content-Type", kind)
	fmt.Fprint(w, text)
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// readRequest returns the JSON-RPC request in an HTTP request; nil if it has none.
func readRequest(req *http.Request) *rpc.Message {
	in := bufio.NewReader(req.Body)
	text, _ := in.ReadBytes(0)
	m, err := rpc.Parse(text)
	if err != nil || !m.IsRequest() {
		return nil
	}
	return m
}
