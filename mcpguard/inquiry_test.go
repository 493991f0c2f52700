package mcpguard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcpguard"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// curious is a server whose tool asks for a name and returns a greeting with the answer.
func curious(t *testing.T, p *mcpguard.Protector, s mcpguard.Server, protocol string) (host *mcp.ClientSession, told *[]string, shown *int) {
	t.Helper()
	told, shown = &[]string{}, new(int)
	server := mcp.NewServer(&mcp.Implementation{Name: s.Name, Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "greet", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult)
			if !ok {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{
					Message: "your name?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}},
				}}}, nil
			}
			name, _ := answer.Content["name"].(string)
			*told = append(*told, name)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello " + name}}}, nil
		})
	clientSide, serverSide := mcp.NewInMemoryTransports()
	ss, err := server.Connect(t.Context(), serverSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			*shown++
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
		},
	})
	host, err = client.Connect(t.Context(), p.Transport(s, clientSide), &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close(); ss.Wait() })
	return host, told, shown
}

// Policy decides on a server's requests, and on their answers, in both eras.
func TestQuestionsOfServersAreGuarded(t *testing.T) {
	const rule = "version: 1\nrules:\n  - {name: no, when: WHEN, if: 'call.method == \"elicitation/create\"', effect: block, message: not that}\n"
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		for _, c := range []struct {
			when        string
			shown, told int
		}{{"", 1, 1}, {"result", 0, 0}, {"call", 1, 0}} {
			sessions := session.New(session.Options{})
			p := protector(t, func(o *mcpguard.Options) {
				o.State = guard.NewState(sessions, record.Discard())
				o.Session = func(context.Context) session.Ref { return session.Ref{Key: "s", Principal: "ann"} }
				o.Policy = rules(t, "version: 1\nrules:\n  - {name: none, when: call, if: 'false', effect: block, message: never}\n")
				if c.when != "" {
					o.Policy = rules(t, strings.Replace(rule, "WHEN", c.when, 1))
				}
			})
			host, told, shown := curious(t, p, mcpguard.Server{Name: "s"}, protocol)
			res, err := host.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet"})
			if *shown != c.shown || len(*told) != c.told {
				t.Errorf("%s %q: shown %d times, want %d; told %q, want %d answers; %+v %v", protocol, c.when, *shown, c.shown, *told, c.told, res, err)
			}
			if c.told == 1 && (err != nil || text(res) != "hello Ann") {
				t.Errorf("%s: %+v %v", protocol, res, err)
			}
			if c.told == 0 && err == nil && !res.IsError {
				t.Errorf("%s %q: a refused question gave %+v", protocol, c.when, res)
			}
			state, err := sessions.Snapshot(t.Context(), "s")
			if err != nil || state.Label.Sources.Has(label.UserSource) != (c.told == 1) {
				t.Errorf("%s %q: the session is %+v, %v", protocol, c.when, state.Label, err)
			}
		}
	}
}

func rules(t *testing.T, src string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("p.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The operator's description of a server's tools counts, in the words of a chosen dialect.
func TestOverlaysAndWords(t *testing.T) {
	set, err := overlay.Load("o.yaml", []byte(`
version: 1
overlays:
  - name: own
    match: [{server: files}]
    tools:
      read_file:
        contract: {destinations: [internal]}
        when: [{if: call.arguments.path == "a.txt", contract: {destinations: [system]}, why: harmless}]
`))
	if err != nil {
		t.Fatal(err)
	}
	writer, err := annotation.NewWriter("sep-2061")
	if err != nil {
		t.Fatal(err)
	}
	var asked []*guard.Question
	p := protector(t, func(o *mcpguard.Options) {
		o.Words.ToHosts = writer
		o.Policy = rules(t, "version: 1\nrules:\n  - {name: ask, when: call, if: 'true', effect: ask, message: sure}\n")
		o.Ask = func(_ context.Context, q *guard.Question) (bool, error) {
			asked = append(asked, q)
			return true, nil
		}
	})
	s := mcpguard.Server{Name: "files", Overlay: set.For(overlay.Server{Name: "files"})}
	host, _ := demo(t, p, s, map[string]string{"a.txt": "x"}, "2025-11-25")
	if _, err := host.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	res := call(t, host, "read_file", map[string]any{"path": "a.txt"})
	if res.IsError || strings.Contains(fmt.Sprint(res.Meta), "mcp://files/read_file") { // for which SEP-2061 has no words
		t.Errorf("the result is %s, with %v", text(res), res.Meta)
	}
	if len(asked) != 1 || len(asked[0].Refined) != 1 || asked[0].Refined[0].Why != "harmless" ||
		!asked[0].Contract.Destinations.Has(contract.System) || asked[0].Contract.Destinations.Has(contract.Public) {
		t.Errorf("asked %+v", asked)
	}
}
