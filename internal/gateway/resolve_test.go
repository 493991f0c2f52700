package gateway_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcptool"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// resolving is a server on the Go SDK with a tool that resolves its contract: content that goes to public/ is public.
func resolving() {
	server := mcp.NewServer(&mcp.Implementation{Name: "resolving", Version: "1"}, nil)
	tools, err := mcptool.New(server, mcptool.Options{})
	if err != nil {
		os.Exit(3)
	}
	type file struct {
		Path string `json:"path"`
	}
	err = mcptool.Add(tools, &mcp.Tool{Name: "write"}, mcptool.Declaration[file]{
		Contract: contract.Contract{
			ReadOnly: contract.No, Destructive: contract.Yes, Idempotent: contract.No, OpenWorld: contract.Yes,
			Destinations: contract.Possible(contract.Internal, contract.Public), Accepts: contract.Possible[label.Class](),
			Outcomes: contract.Possible(contract.Consequential, contract.Irreversible),
			Sources:  contract.Possible(label.System), Returns: contract.Possible[label.Class](),
		},
		Resolve: func(in file, c contract.Contract) (contract.Contract, error) {
			if strings.HasPrefix(in.Path, "public/") {
				c.Destinations = contract.Possible(contract.Public)
				return c, nil
			}
			c.OpenWorld, c.Destructive = contract.No, contract.No
			c.Destinations, c.Outcomes = contract.Possible(contract.Internal), contract.Possible(contract.Consequential)
			return c, nil
		},
	}, func(_ context.Context, c *mcptool.Call, in file) (*mcp.CallToolResult, any, error) {
		return c.Text("written "+in.Path, label.Label{Sources: label.SetOf(label.System)}), nil, nil
	})
	if err != nil || server.Run(context.Background(), &mcp.StdioTransport{}) != nil {
		os.Exit(3)
	}
}

const publishing = "version: 1\nrules:\n" +
	"  - {name: public, when: call, if: '\"public\" in tool.annotations.inputMetadata.destination', effect: block, message: it would be public}\n"

func rules(t *testing.T, src string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("p.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// An era is one way to introduce a client.
type hostEra struct{ name, hello, meta string }

const resolution = "io.modelcontextprotocol/tool-resolution"

func hostEras(capabilities string) []hostEra {
	return []hostEra{
		{"2025-11-25", strings.Replace(hello, `"capabilities":{}`, `"capabilities":`+capabilities, 1), `{}`},
		{"2026-07-28", "", `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`},
	}
}

// ask sends a request in the way of the era.
func (e hostEra) ask(w *wire, method, params string) string {
	return w.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, must(rawjson.Set([]byte(params), []byte(e.meta), "_meta"))))
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func (e hostEra) begin(w *wire) string {
	if e.hello != "" {
		return w.ask(e.hello)
	}
	return e.ask(w, "server/discover", `{}`)
}

// TestServersResolveTheirTools calls a server on the Go SDK that tells the contract of each call.
func TestServersResolveTheirTools(t *testing.T) {
	for i, era := range hostEras(`{}`) {
		declaring := hostEras(`{"extensions":{"` + resolution + `":{}}}`)[i]
		for _, c := range []struct {
			trust contract.Trust
			path  string
			want  string
		}{
			{contract.Trusted, "notes/a", "written notes/a"},
			{contract.Trusted, "public/a", "it would be public"},
			{contract.Known, "notes/a", "it would be public"},     // it is not shown what its tool alone would not be given
			{contract.Untrusted, "notes/a", "it would be public"}, // likewise, and its word lowers nothing
		} {
			t.Run(fmt.Sprintf("%s %v %s", era.name, c.trust, c.path), func(t *testing.T) {
				r := newRecord()
				g, err := gateway.New(gateway.Options{State: guard.NewState(nil, record.NewLines(r)), BaseEnv: os.Environ(), Policy: rules(t, publishing), Servers: []gateway.Server{
					{Name: "s", Trust: c.trust, Spec: upstream.Spec{Name: "s", Command: []string{os.Args[0], "resolving"}}},
				}})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { g.Close() })
				r.g = g
				w := r.wire(t)
				era.begin(w)
				if got := era.ask(w, "tools/call", `{"name":"write","arguments":{"path":"`+c.path+`"}}`); !strings.Contains(got, c.want) {
					t.Errorf("answered %s", got)
				}
				if defects := r.recorded(t, record.Defect); len(defects) > 0 {
					t.Errorf("defects: %+v", defects)
				}
				resolved := declaring.ask(w, "tools/resolve", `{"name":"write","arguments":{"path":"`+c.path+`"}}`)
				if blocked := strings.Contains(resolved, `"effect":"block"`); blocked != (c.want == "it would be public") {
					t.Errorf("resolved %s", resolved)
				}
			})
		}
	}
}

const notesOverlay = `
version: 1
overlays:
  - name: s
    match: [{server: s}]
    tools:
      tool:
        contract: {readOnly: false, destructive: true, idempotent: false, openWorld: true, destinations: [public], accepts: [], outcomes: [irreversible], sources: [system], returns: []}
        when:
          - if: path.under(call.arguments.path, "/tmp")
            contract: {destructive: false, openWorld: false, destinations: [ephemeral], outcomes: [benign]}
`

func withOverlay(t *testing.T, trust contract.Trust) func(*gateway.Options) {
	t.Helper()
	set, err := overlay.Load("o.yaml", []byte(notesOverlay))
	if err != nil {
		t.Fatal(err)
	}
	return func(o *gateway.Options) {
		o.Servers[0].Overlay, o.Servers[0].Trust = set.For(overlay.Server{Name: "s"}), trust
	}
}

// TestEveryToolIsResolved asks for a tool of a server that has never heard of it, in both forms and eras.
func TestEveryToolIsResolved(t *testing.T) {
	for _, extension := range []bool{false, true} {
		capabilities := `{}`
		if extension {
			capabilities = `{"extensions":{"` + resolution + `":{}}}`
		}
		for _, era := range hostEras(capabilities) {
			t.Run(fmt.Sprintf("%s extension=%v", era.name, extension), func(t *testing.T) {
				r, seen := script(t, map[string]string{"tools/call": `{"content":[]}`}, withOverlay(t, contract.Untrusted))
				w := r.wire(t)
				if offered := strings.Contains(era.begin(w), `"`+resolution+`":{}`); offered != extension {
					t.Errorf("the extension is offered: %v", offered)
				}
				if marked := strings.Contains(era.ask(w, "tools/list", `{}`), `"resolvable":true`); marked != extension {
					t.Errorf("tools are marked: %v", marked)
				}
				got := era.ask(w, "tools/resolve", `{"name":"tool","arguments":{"path":"/tmp/x"}}`)
				at := []string{"result", "tool"}
				if extension {
					at = []string{"result"}
				}
				for member, want := range map[string]string{
					"readOnlyHint": "false", "destructiveHint": "false", "idempotentHint": "false", "openWorldHint": "false",
				} {
					if v, _ := rawjson.Get([]byte(got), append(at[:len(at):len(at)], "annotations", member)...); string(v) != want {
						t.Errorf("%s is %s in %s", member, v, got)
					}
				}
				if name, _ := rawjson.Get([]byte(got), append(at[:len(at):len(at)], "name")...); string(name) != `"tool"` {
					t.Errorf("the name is %s", name)
				}
				if strings.Contains(got, "Schema") || extension != strings.Contains(got, `"result":{"name":"tool"`) {
					t.Errorf("the form of %s", got)
				}
				for _, bad := range []string{`{"name":"nope"}`, `{"name":"tool","arguments":[]}`, `{}`} {
					if got := era.ask(w, "tools/resolve", bad); !strings.Contains(got, `"code":-32602`) {
						t.Errorf("%s: %s", bad, got)
					}
				}
				data, err := os.ReadFile(seen)
				if err != nil || strings.Contains(string(data), "tools/resolve") {
					t.Errorf("a server that does not resolve was asked: %s %v", data, err)
				}
			})
		}
	}
}

const resolvable = `{"tools":[{"name":"tool","inputSchema":{"type":"object"},"_meta":{"` + resolution + `":{"resolvable":true}},` +
	`"annotations":{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":true,` +
	`"inputMetadata":{"destination":["internal","public"],"sensitivity":"none","outcomes":"consequential"}}}]}`

// TestUndeclaredResolution asks, without the extension, for a tool that its server has marked in one way or another.
func TestUndeclaredResolution(t *testing.T) {
	for _, c := range []struct {
		marks   string
		refused bool // in 2026-07-28
	}{
		{`"_meta":{"` + resolution + `":{"resolvable":true}}`, true},
		{`"_meta":{"` + resolution + `":{"resolvable":true}},"resolve":true`, false},
		{`"_meta":{"` + resolution + `":{"resolvable":false}}`, false},
		{`"_meta":{}`, false},
	} {
		tools := `{"tools":[{"name":"tool","inputSchema":{"type":"object"},` + c.marks + `}]}`
		for _, era := range hostEras(`{}`) {
			r, seen := script(t, map[string]string{"tools/list": tools}, nil)
			w := r.wire(t)
			era.begin(w)
			got := era.ask(w, "tools/resolve", `{"name":"tool","arguments":{"path":"x"}}`)
			want := `"result":{"tool":{"name":"tool"`
			if c.refused && era.hello == "" {
				want = `"error":{"code":-32021`
				if data, _ := rawjson.Get([]byte(got), "error", "data"); string(data) != `{"requiredCapabilities":{"extensions":{"`+resolution+`":{}}}}` {
					t.Errorf("%s %s: data %s", c.marks, era.name, data)
				}
				if said, err := os.ReadFile(seen); err != nil || strings.Contains(string(said), "tools/resolve") {
					t.Errorf("%s: the server was asked: %s %v", c.marks, said, err)
				}
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s %s: got %s", c.marks, era.name, got)
			}
		}
	}
}

// TestBadResolutions has a trusted server answer everything that it should not. None of it lowers anything, and what it did
// wrong is recorded.
func TestBadResolutions(t *testing.T) {
	const internal = `"inputMetadata":{"destination":"internal","sensitivity":"none","outcomes":"consequential"}`
	for _, c := range []struct {
		name, answer string
		goes         bool   // the call, under a rule that blocks what may be public
		defect       string // where; "" if there is none
	}{
		{"core", `{"tool":{"name":"tool","annotations":{` + internal + `}}}`, true, ""},
		{"extension", `{"resultType":"complete","name":"tool","annotations":{` + internal + `}}`, true, ""},
		{"the same schema", `{"tool":{"name":"tool","inputSchema":{"type":"object"},"annotations":{` + internal + `}}}`, true, ""},
		{"another schema", `{"tool":{"name":"tool","inputSchema":{"type":"array"},"annotations":{` + internal + `}}}`, false, "inputSchema"},
		{"another name", `{"tool":{"name":"other","annotations":{` + internal + `}}}`, false, "name"},
		{"no name", `{"annotations":{` + internal + `}}`, false, "name"},
		{"no annotations", `{"name":"tool"}`, false, "annotations"},
		{"a question", `{"resultType":"input_required","inputRequests":{}}`, false, ""},
		{"worse than declared", `{"name":"tool","annotations":{"destructiveHint":true,` + internal + `}}`, false, "tools/resolve annotations.destructiveHint"},
		{"outside of what is declared", `{"name":"tool","annotations":{"inputMetadata":{"destination":"user","sensitivity":"none","outcomes":"consequential"}}}`,
			false, "tools/resolve annotations.inputMetadata.destination"},
		{"nonsense", `{"name":"tool","annotations":{"destructiveHint":"no"}}`, false, "tools/resolve annotations.destructiveHint"},
		{"silence", `"silence"`, false, ""},
		{"not JSON-RPC", `"half"`, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := script(t, map[string]string{"tools/list": resolvable, "tools/resolve": c.answer, "tools/call": `{"content":[],"did":"it"}`},
				func(o *gateway.Options) {
					o.Policy = rules(t, publishing)
					o.Servers[0].Resolve = time.Minute
					if strings.HasPrefix(c.answer, `"`) { // a word, for no answer
						o.Servers[0].Resolve = 300 * time.Millisecond
					}
				})
			w := r.wire(t)
			w.ask(hello)
			got := w.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":{}}}`)
			if goes := strings.Contains(got, `"did":"it"`); goes != c.goes {
				t.Errorf("answered %s", got)
			}
			var where []string
			for _, d := range r.recorded(t, record.Defect) {
				if d.Where != "" && strings.Contains(d.Where+d.Message, "resol") || d.Where == c.defect {
					where = append(where, d.Where)
				}
			}
			if strings.Join(where, " ") != c.defect {
				t.Errorf("defects %q, want %q", where, c.defect)
			}
		})
	}
}

// TestResolutionsAreNotReused wants every call to be resolved anew.
func TestResolutionsAreNotReused(t *testing.T) {
	r, seen := script(t, map[string]string{
		"tools/list": resolvable, "tools/resolve": `{"name":"tool","annotations":{}}`, "tools/call": `{"content":[]}`,
	}, nil)
	w := r.wire(t)
	w.ask(hello)
	for range 2 {
		w.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":{"a":1}}}`)
	}
	data, err := os.ReadFile(seen)
	if err != nil || strings.Count(string(data), `"tools/resolve"`) != 2 {
		t.Errorf("%v\n%s", err, data)
	}
}

// TestServersThatDoNotResolve are asked once, and one that may not be asked never.
func TestServersThatDoNotResolve(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*gateway.Options)
		asked  int
	}{
		"method not found": {nil, 1},
		"turned off":       {func(o *gateway.Options) { o.Servers[0].Resolve = -1 }, 0},
		"by policy": {func(o *gateway.Options) {
			o.Policy = rules(t, "version: 1\nrules:\n  - {name: secret, when: call, if: has(call.arguments.secret), effect: block}\n")
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, seen := script(t, map[string]string{"tools/list": resolvable, "tools/call": `{"content":[]}`}, c.change)
			w := r.wire(t)
			w.ask(hello)
			for range 3 {
				if got := w.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":{"secret":1}}}`); !strings.Contains(got, `"content"`) {
					t.Errorf("answered %s", got)
				}
			}
			data, err := os.ReadFile(seen)
			if asked := strings.Count(string(data), `"tools/resolve"`); err != nil || asked != c.asked {
				t.Errorf("asked %d times, %v", asked, err)
			}
		})
	}
}

// TestOverlaysAreShown wants the list to show the effect of overlays on a tool, and a declaration that is worse to be a defect
// once.
func TestOverlaysAreShown(t *testing.T) {
	r, _ := script(t, map[string]string{
		"tools/list": `{"tools":[{"name":"tool","inputSchema":{"type":"object"},"annotations":{"openWorldHint":true,"returnMetadata":{"source":"untrustedPublic","sensitivity":"pii"}}}]}`,
	}, withOverlay(t, contract.Trusted))
	w := r.wire(t)
	w.ask(hello)
	list := w.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for member, want := range map[string]string{"destination": `["ephemeral","public"]`, "outcomes": `["benign","irreversible"]`} {
		tools, _ := rawjson.Get([]byte(list), "result", "tools")
		for tool := range rawjson.Elements(tools) {
			if got, _ := rawjson.Get(tool, "annotations", "inputMetadata", member); string(got) != want {
				t.Errorf("%s is %s, want %s", member, got, want)
			}
		}
	}
	where := map[string]int{}
	for _, d := range r.recorded(t, record.Defect) {
		if strings.Contains(d.Message, "overlay") {
			where[d.Where]++
		}
	}
	if where["annotations.returnMetadata.source"] != 1 || where["annotations.returnMetadata.sensitivity"] != 1 || len(where) != 2 {
		t.Errorf("defects %v", where)
	}
}

// TestReloadedOverlaysCount has a call decided by another overlay after a change, over the connection that is there.
func TestReloadedOverlaysCount(t *testing.T) {
	var servers []gateway.Server
	r, seen := script(t, map[string]string{"tools/call": `{"content":[],"did":"it"}`}, func(o *gateway.Options) {
		withOverlay(t, contract.Untrusted)(o)
		o.Policy, servers = rules(t, publishing), o.Servers
	})
	w := r.wire(t)
	w.ask(hello)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":{"path":"/home/x"}}}`
	if got := w.ask(call); !strings.Contains(got, "it would be public") {
		t.Fatalf("answered %s", got)
	}
	set, err := overlay.Load("o.yaml", []byte(strings.Replace(notesOverlay, `"/tmp"`, `"/home"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	changed := servers[0]
	changed.Overlay = set.For(overlay.Server{Name: "s"})
	for _, want := range []string{"s", ""} {
		d, err := r.g.Reload(t.Context(), gateway.Change{Servers: []gateway.Server{changed}, Policy: rules(t, publishing)})
		if err != nil || strings.Join(d.Adjusted, " ") != want || len(d.Replaced) > 0 {
			t.Fatalf("%+v %v", d, err)
		}
	}
	for got := w.ask(call); !strings.Contains(got, `"did":"it"`); got = w.recv() { // hosts are told that lists changed
		if !strings.Contains(got, "list_changed") {
			t.Fatalf("answered %s", got)
		}
	}
	data, err := os.ReadFile(seen)
	if err != nil || strings.Count(string(data), `"initialize"`) != 1 {
		t.Errorf("the server was reached again: %s %v", data, err)
	}
}
