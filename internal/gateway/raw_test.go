package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/record"
)

// A wire is a host that speaks line by line.
type wire struct {
	t     testing.TB
	in    io.WriteCloser
	lines *bufio.Reader
	done  chan error
}

func (r *rig) wire(t testing.TB) *wire {
	t.Helper()
	hostReads, gatewayWrites := pipe(t)
	gatewayReads, hostWrites := pipe(t)
	w := &wire{t: t, in: hostWrites, lines: bufio.NewReaderSize(hostReads, 1<<20), done: make(chan error, 1)}
	go func() {
		w.done <- r.g.ServeStdio(context.Background(), rpc.NewStream(gatewayReads, gatewayWrites, nil))
		gatewayWrites.Close()
	}()
	t.Cleanup(func() {
		hostWrites.Close()
		go io.Copy(io.Discard, w.lines)
		if err := <-w.done; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return w
}

// pipe returns both ends of a pipe of the system, as between a host and weir.
func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func (w *wire) send(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) recv() string {
	w.t.Helper()
	line, err := w.lines.ReadString('\n')
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (w *wire) ask(line string) string {
	w.t.Helper()
	w.send(line)
	return w.recv()
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`

// scripted is an MCP server whose answers the test chooses byte by byte: no SDK keeps members that it does not know, so
// no server built on one could show that they survive. It is started as a process of its own, and gets its script as a
// file of method → result, or of method → a word for what else to do.
func scripted() {
	raw, err := os.ReadFile(os.Args[2])
	if err != nil {
		os.Exit(3)
	}
	script := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &script); err != nil {
		os.Exit(3)
	}
	seen, err := os.OpenFile(os.Args[2]+".seen", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		os.Exit(3)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		io.WriteString(seen, line)
		m, err := rpc.Parse([]byte(line))
		if err != nil || m.ID == nil {
			continue
		}
		name, _ := rawjson.Get(m.Params, "name")
		tool, _ := rawjson.String(name)
		result, ok := script[m.Method+" "+tool] // an answer for one tool comes before one for all
		if !ok {
			result, ok = script[m.Method]
		}
		word, _ := rawjson.String(result)
		switch {
		case !ok:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no","custom":{"a":1e400}}}`+"\n", m.ID)
		case word == "die":
			os.Exit(1)
		case word == "silence":
		case word == "ask":
			fmt.Println(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`)
			for line = ""; err == nil && !strings.Contains(line, `"q"`); line, err = in.ReadString('\n') {
				io.WriteString(seen, line)
			}
			io.WriteString(seen, line)
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", m.ID)
		case word == "lie":
			fmt.Printf(`{"jsonrpc":"2.0","id":424242,"result":{"content":[]}}` + "\n")
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"from":"server"}}`+"\n", m.ID)
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"from":"again"}}`+"\n", m.ID)
		case word == "duplicate":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"content":[{"type":"text","text":"hidden"}]}}`+"\n", m.ID)
		case word == "half":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[`+"\n", m.ID)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
	}
}

// script makes a rig over one scripted server and returns the path of the messages that the server has seen.
func script(t testing.TB, answers map[string]string, change func(*gateway.Options)) (*rig, string) {
	t.Helper()
	all := map[string]json.RawMessage{
		"initialize": json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`),
		"tools/list": json.RawMessage(`{"tools":[{"name":"tool","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`),
	}
	for method, answer := range answers {
		all[method] = json.RawMessage(answer)
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp(t.TempDir(), "script")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(data); err != nil {
		t.Fatal(err)
	}
	r := scriptRig(t, file.Name(), change)
	return r, file.Name() + ".seen"
}

func scriptRig(t testing.TB, path string, change func(*gateway.Options)) *rig {
	t.Helper()
	r := newRecord()
	opts := gateway.Options{
		State: guard.NewState(nil, record.NewLines(r)), Version: "test", BaseEnv: os.Environ(),
		Servers: []gateway.Server{{Name: "s", Trust: contract.Trusted, Spec: upstream.Spec{Name: "s", Command: []string{os.Args[0], "scripted", path}}}},
	}
	r.open(t, opts, change)
	return r
}

// value generates JSON whose spelling matters: numbers that no float64 holds, escapes, names of our own vocabulary.
func value(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{
		"null", "true", "false", "0", "-0", "1.0", "1e400", "123456789012345678901234567890", "0.1000", `""`, `"\u0041"`, `"\u2028"`,
		`"é\/\\\""`, `"\ud83d\ude00"`, `"<script>&"`, "[]", "{}", "[1,[2,[3]]]",
	})
	if depth == 0 {
		return leaf
	}
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return leaf.Draw(t, "leaf")
		case 1:
			return "[" + strings.Join(rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "items"), ",") + "]"
		}
		return object(depth-1).Draw(t, "object")
	})
}

func object(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"x", "Zz", "annotation", "hint\\u0000", "é", "a b", "dev.other/key", "outputSchema", "0", "__proto__", "", "toolx",
		}), 0, 4, rapid.ID).Draw(t, "names")
		var members []string
		for _, n := range names {
			members = append(members, `"`+n+`":`+value(depth).Draw(t, "value"))
		}
		return "{" + strings.Join(members, ",") + "}"
	})
}

// with adds a member to a generated object.
func with(obj, member string) string {
	if obj == "{}" {
		return "{" + member + "}"
	}
	return "{" + member + "," + obj[1:]
}

// TestUnknownMembersSurvive sends random documents both ways, and takes the members of Weir away.
func TestUnknownMembersSurvive(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		gen := object(3)
		capabilities := with(gen.Draw(rt, "capabilities"), `"tools":{"listChanged":false,"odd":1.50},"logging":{}`)
		welcome := with(gen.Draw(rt, "welcome"), `"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1","zz":0.10},"capabilities":`+capabilities)
		tool := with(gen.Draw(rt, "tool"), `"name":"tool"`)
		result := with(gen.Draw(rt, "result"), `"content":[`+with(gen.Draw(rt, "block"), `"type":"text","text":"x"`)+`]`)
		args := gen.Draw(rt, "arguments")
		hostCaps := gen.Draw(rt, "host capabilities")
		params := with(gen.Draw(rt, "params"), `"name":"tool","arguments":`+args)
		path := fmt.Sprintf("%s/script%d", dir, n)
		data := `{"initialize":` + welcome + `,"tools/list":{"odd":` + gen.Draw(rt, "list") + `,"tools":[` + tool + `]},"tools/call":` + result + `}`
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			rt.Fatal(err)
		}
		r := scriptRig(t, path, nil)
		w := r.wire(t)
		got := w.ask(`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + hostCaps + `,"clientInfo":{"name":"h"}}}`)
		same(rt, "welcome", got, welcome, "result")
		same(rt, "capabilities", got, capabilities, "result", "capabilities")
		list := w.ask(`{"jsonrpc":"2.0","id":2.50,"method":"tools/list"}`)
		if !strings.Contains(list, `"id":2.50`) {
			rt.Errorf("the host's id changed: %s", list)
		}
		tools, _ := rawjson.Get([]byte(list), "result", "tools")
		for shown := range rawjson.Elements(tools) {
			same(rt, "tool", `{"tool":`+string(rawjson.Delete(shown, "annotations"))+`}`, tool, "tool")
		}
		answer := w.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":` + params + `}`)
		raw, _ := rawjson.Get([]byte(answer), "result")
		same(rt, "result", `{"r":`+string(rawjson.Delete(raw, "_meta"))+`}`, result, "r")
		seen, err := os.ReadFile(path + ".seen")
		if err != nil {
			rt.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(seen)), "\n") {
			switch method, _ := rawjson.Get([]byte(line), "method"); string(method) {
			case `"initialize"`:
				same(rt, "host capabilities", line, hostCaps, "params", "capabilities")
			case `"tools/call"`:
				sent, _ := rawjson.Get([]byte(line), "params")
				same(rt, "params", `{"p":`+string(rawjson.Delete(sent, "_meta"))+`}`, params, "p")
			}
		}
	})
}

// same fails unless the value at the path is want, byte for byte.
func same(t *rapid.T, what, doc, want string, path ...string) {
	got, ok := rawjson.Get([]byte(doc), path...)
	if !ok || string(got) != want {
		t.Errorf("%s changed on the way:\n got %s\nwant %s", what, got, want)
	}
}

func TestBadInputIsAnswered(t *testing.T) {
	r, seen := script(t, map[string]string{"tools/call": `{"content":[]}`}, nil)
	w := r.wire(t)
	w.ask(hello)
	for _, test := range []struct{ name, line, want string }{
		{"not JSON", `hello`, `"code":-32700`},
		{"half an object", `{"jsonrpc":"2.0","id":1,`, `"code":-32700`},
		{"two values", `{} {}`, `"code":-32700`},
		{"not an object", `"x"`, `"code":-32600`},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"code":-32600`},
		{"no version", `{"id":1,"method":"ping"}`, `"code":-32600`},
		{"bad id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"code":-32600`},
		{"bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `"code":-32700`},
		{"half a surrogate pair", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800"}}`, `"code":-32602`},
		{"name in another case", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"tool"}}`, `"code":-32602`},
		{"a second name in another case", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"other","Name":"tool"}}`, `"code":-32602`},
		{"params in another case", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"other"},"PARAMS":{"name":"tool"}}`, `"code":-32600`},
		{"a call without an id", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"tool"}}`, `"id":null,"error":{"code":-32600`},
		{"a call with an ID", `{"jsonrpc":"2.0","ID":1,"method":"tools/call","params":{"name":"tool"}}`, `"code":-32600`},
		{"a read without an id", `{"jsonrpc":"2.0","method":"resources/read","params":{"uri":"x://tools/call"}}`, `"id":null,"error":{"code":-32600`},
		{"a vendor's request without an id", `{"jsonrpc":"2.0","method":"tasks/cancel","params":{"x":"tools/call"}}`, `"id":null,"error":{"code":-32600`},
		{"deep nesting", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`, `"code":-32700`},
		{"duplicate method", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`, `"code":-32700`},
		{"duplicate argument", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":{"to":"a","to":"b"}}}`, `"code":-32700`},
		{"duplicate in disguise", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","n\u0061me":"other"}}`, `"code":-32700`},
		{"params of a wrong type", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`, `"error"`},
		{"name of a wrong type", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, `"code":-32602`},
		{"arguments of a wrong type", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":"x"}}`, `"code":-32602`},
		{"meta of a wrong type", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","_meta":"x"}}`, `"code":-32602`},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}`, `"code":-32602`},
		{"unknown revision", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`, `"code":-32022`},
		{"a second handshake", hello, `"code":-32600`},
	} {
		if got := w.ask(test.line); !strings.Contains(got, test.want) {
			t.Errorf("%s: answered %.300s, want %s", test.name, got, test.want)
		}
	}
	if got := w.ask(`{"jsonrpc":"2.0","id":"still","method":"tools/call","params":{"name":"tool"}}`); !strings.Contains(got, `"id":"still","result"`) {
		t.Errorf("the connection does not work any more: %s", got)
	}
	log, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), "tools/call"); n != 1 {
		t.Errorf("%d calls reached the server, want the last one only:\n%s", n, log)
	}
}

// Notifications of MCP pass by a table; one that nobody knows goes to the only server, after a decision.
func TestHostNotifications(t *testing.T) {
	lines := []string{
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"told":"secret"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"secret"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"secret"}}`,
		`{"jsonrpc":"2.0","method":"notifications/acme/changed","params":{"what":"all"},"told":"secret"}`,
	}
	for _, servers := range []int{1, 2} {
		r, seen := script(t, nil, func(o *gateway.Options) {
			if servers == 2 {
				o.Servers = append(o.Servers, gateway.Server{Name: "f", Spec: upstream.Spec{Name: "f", Command: []string{os.Args[0], "faulty", "f"}}})
			}
		})
		w := r.wire(t)
		w.ask(hello)
		for _, line := range lines {
			w.send(line)
		}
		waitFor(t, seen, "list_changed")
		for w.ask(`{"jsonrpc":"2.0","id":3,"method":"ping"}`) == "" {
		}
		if servers == 1 {
			waitFor(t, seen, "notifications/acme/changed")
		}
		log, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(log), "secret") || strings.Contains(string(log), "notifications/progress") {
			t.Errorf("%d servers: the server was told\n%s", servers, log)
		}
		decided := slices.ContainsFunc(r.recorded(t, record.Decision), func(e record.Event) bool { return e.Method == "notifications/acme/changed" })
		if came := strings.Contains(string(log), "acme"); came != (servers == 1) || decided != came {
			t.Errorf("%d servers: decided %v, and sent %v", servers, decided, came)
		}
	}
}

// The contract of a tool is about the arguments that its schema names.
func TestArgumentsOutsideOfTheSchema(t *testing.T) {
	r, seen := script(t, map[string]string{
		"tools/list": `{"tools":[{"name":"tool","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"tags":{"type":"object"}}},` +
			`"annotations":{"readOnlyHint":true,"openWorldHint":false}}]}`,
		"tools/call": `{"content":[],"_meta":{"annotations":{"openWorldHint":true}}}`,
	}, nil)
	w := r.wire(t)
	w.ask(hello)
	for _, c := range []struct{ arguments, want string }{
		{`{"path":"/a"}`, `"content":[],`}, // which raises the session
		{`{"path":"/a","tags":{"x":"1"}}`, `"content":[],`},
		{`{"path":"/a","Path":"/b"}`, `-32602`},
		{`{"path":"/a","PATH":"/b"}`, `-32602`},
		{`{"Path":"/b"}`, `blocked by weir`},
		{`{"path":"/a","file":"/b"}`, `blocked by weir`},
		{`{"path":["/b"]}`, `blocked by weir`},
		{`{"path":"/a","tags":{"x":"1","X":"2"}}`, `blocked by weir`},
	} {
		if got := w.ask(tool("1", "tool", c.arguments)); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.arguments, got)
		}
	}
	log, err := os.ReadFile(seen)
	if n := strings.Count(string(log), `"tools/call"`); err != nil || n != 2 {
		t.Errorf("%d calls reached the server, want 2: %v", n, err)
	}
}

// A server of an older revision has no way to ask by its result, whatever it writes there.
func TestResultTypeOfAnOlderServer(t *testing.T) {
	result := `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"PIN?"}}},"requestState":"s","content":[]}`
	r, seen := script(t, map[string]string{"tools/call": result}, nil)
	w := r.wire(t)
	w.ask(hello)
	if got := w.ask(tool("1", "tool", "{}")); !strings.Contains(got, `"resultType":"input_required"`) || !strings.Contains(got, `"content":[]`) {
		t.Errorf("an older host is answered %s", got)
	}
	modern := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	got := r.wire(t).ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":{},` + modern + `}}`)
	if strings.Contains(got, "input_required") || strings.Contains(got, "PIN") || !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("a host of 2026-07-28 is answered %s", got)
	}
	log, err := os.ReadFile(seen)
	if n := strings.Count(string(log), `"tools/call"`); err != nil || n != 2 {
		t.Errorf("the tool ran %d times, want once for each host: %v", n, err)
	}
}

func TestHugeLineIsRefusedAndTheConnectionLives(t *testing.T) {
	r, _ := script(t, nil, nil)
	w := r.wire(t)
	w.ask(hello)
	go func() {
		io.WriteString(w.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`)
		chunk := strings.Repeat("x", 1<<20)
		for range 100 {
			io.WriteString(w.in, chunk)
		}
		io.WriteString(w.in, "\"}}\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	}()
	if got := w.recv(); !strings.Contains(got, `"error"`) {
		t.Errorf("a line of 100 MB: %.200s", got)
	}
	if got := w.recv(); !strings.Contains(got, `"id":2,"result"`) {
		t.Errorf("after it: %.200s", got)
	}
}

func TestHostileServers(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool"}}`
	for _, test := range []struct {
		answer, want string
		defects      bool
	}{
		{`"die"`, `"error":{"code":-32603`, false},
		{`"silence"`, `no answer within`, false},
		{`"lie"`, `"from":"server"`, true},
		{`"duplicate"`, `"error"`, true},
		{`"half"`, `no answer within`, true},
		{`7`, `blocked by weir`, true},
		{`{"content":[],"_meta":7}`, `"openWorldHint":true`, true},
		{`{"content":[],"_meta":{"annotations":{"openWorldHint":"no"}}}`, `"result"`, true},
	} {
		t.Run(test.answer, func(t *testing.T) {
			t.Parallel()
			r, seen := script(t, map[string]string{"tools/call": test.answer}, func(o *gateway.Options) {
				o.Servers[0].Timeout = 2 * time.Second
			})
			w := r.wire(t)
			w.ask(hello)
			if got := w.ask(call); !strings.Contains(got, test.want) || !strings.Contains(got, `"id":7`) {
				t.Errorf("answered %.300s, want %s", got, test.want)
			}
			if got := w.ask(`{"jsonrpc":"2.0","id":8,"method":"ping"}`); got != `{"jsonrpc":"2.0","id":8,"result":{}}` {
				t.Errorf("afterwards, ping: %s", got)
			}
			if test.answer == `"silence"` {
				waitFor(t, seen, "notifications/cancelled")
			}
			if got := len(r.recorded(t, record.Defect)) > 0; got != test.defects {
				t.Errorf("defects recorded: %v, want %v", r.recorded(t, record.Defect), test.defects)
			}
		})
	}
}

func TestCancellationIsPassedOn(t *testing.T) {
	r, seen := script(t, map[string]string{"tools/call": `"silence"`}, nil)
	w := r.wire(t)
	w.ask(hello)
	w.send(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"tool"}}`)
	waitFor(t, seen, "tools/call")
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}`)
	waitFor(t, seen, "notifications/cancelled")
	if got := w.ask(`{"jsonrpc":"2.0","id":8,"method":"ping"}`); !strings.Contains(got, `"id":8`) {
		t.Errorf("a cancelled request was answered: %s", got)
	}
}

func TestDeadServerIsStartedAgain(t *testing.T) {
	r, seen := script(t, map[string]string{"tools/call": `"die"`}, nil)
	w := r.wire(t)
	w.ask(hello)
	for i := range 2 {
		if got := w.ask(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool"}}`); !strings.Contains(got, `"error"`) {
			t.Errorf("call %d: %s", i, got)
		}
	}
	log, _ := os.ReadFile(seen)
	if n := strings.Count(string(log), `"initialize"`); n != 4 { // the tool only reads, so each call is sent twice
		t.Errorf("started %d times, want 4", n)
	}
}

// waitFor waits until the file holds the text.
func waitFor(t *testing.T, path, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if data, _ := os.ReadFile(path); strings.Contains(string(data), text) {
			return
		}
	}
	t.Fatalf("%s never came", text)
}
