package mcpguard_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/demo/servers"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcpguard"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

func protector(t *testing.T, change func(*mcpguard.Options)) *mcpguard.Protector {
	t.Helper()
	opts := mcpguard.Options{State: guard.NewState(nil, record.Discard())}
	if change != nil {
		change(&opts)
	}
	p, err := mcpguard.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// demo starts a demonstration server and connects a guarded client to it.
func demo(t *testing.T, p *mcpguard.Protector, s mcpguard.Server, files map[string]string, protocol string) (*mcp.ClientSession, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), s.Name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clientSide, serverSide := mcp.NewInMemoryTransports()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		servers.Run(ctx, s.Name, servers.Options{Data: dir, Transport: serverSide})
	}()
	t.Cleanup(func() { stop(); <-done })
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	cs, err := client.Connect(t.Context(), p.Transport(s, clientSide), &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs, dir
}

func text(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func call(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

var mailTo = map[string]any{"to": "a@external.example", "subject": "s", "body": "b"}

func TestOneServersResultCountsAtTheNext(t *testing.T) {
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		for answer, sent := range map[bool]int{true: 1, false: 0} {
			var asked []*guard.Question
			p := protector(t, func(o *mcpguard.Options) {
				o.Ask = func(_ context.Context, q *guard.Question) (bool, error) {
					asked = append(asked, q)
					return answer, nil
				}
			})
			files, _ := demo(t, p, mcpguard.Server{Name: "files", Trust: contract.Trusted}, map[string]string{"salaries.csv": "ann,1\n"}, protocol)
			mail, out := demo(t, p, mcpguard.Server{Name: "mail", Trust: contract.Trusted}, map[string]string{"drafts.json": "[]", "inbox.json": "[]"}, protocol)
			for _, s := range []*mcp.ClientSession{files, mail} {
				if _, err := s.ListTools(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
			if res := call(t, files, "read_file", map[string]any{"path": "salaries.csv"}); res.IsError || res.Meta["annotations"] == nil {
				t.Fatalf("read_file: %v %v", text(res), res.Meta)
			}
			res := call(t, mail, "send_email", mailTo)
			if left, _ := servers.ReadOutbox(out); len(left) != sent || res.IsError == (sent == 1) {
				t.Errorf("%s, answer %v: %d mails left; %s", protocol, answer, len(left), text(res))
			}
			if len(asked) != 1 || asked[0].Server != "mail" || asked[0].Origins[0].URI != "mcp://files/read_file" {
				t.Errorf("%s: asked %+v", protocol, asked)
			}
		}
	}
}

func TestNobodyToAskMeansNo(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *guard.Question) (bool, error){
		"nil":   nil,
		"error": func(context.Context, *guard.Question) (bool, error) { return true, errors.New("no screen") },
	} {
		p := protector(t, func(o *mcpguard.Options) { o.Ask = ask })
		// Nothing was listed, so the worst case is assumed of every tool, and its results are untrusted.
		mail, out := demo(t, p, mcpguard.Server{Name: "mail", Trust: contract.Known}, map[string]string{"drafts.json": "[]", "inbox.json": "[]"}, "2025-11-25")
		call(t, mail, "list_inbox", nil)
		if res := call(t, mail, "send_email", mailTo); !res.IsError {
			t.Errorf("%s: sent: %s", name, text(res))
		}
		if left, _ := servers.ReadOutbox(out); len(left) != 0 {
			t.Errorf("%s: %d mails left", name, len(left))
		}
	}
}

func TestAnAnswerAfterTheCallEndedIsNo(t *testing.T) {
	waiting := make(chan struct{})
	p := protector(t, func(o *mcpguard.Options) {
		o.Ask = func(ctx context.Context, _ *guard.Question) (bool, error) {
			close(waiting)
			<-ctx.Done()
			return true, nil
		}
	})
	mail, out := demo(t, p, mcpguard.Server{Name: "mail", Trust: contract.Known}, map[string]string{"drafts.json": "[]", "inbox.json": "[]"}, "2025-11-25")
	call(t, mail, "list_inbox", nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-waiting; cancel() }()
	if _, err := mail.CallTool(ctx, &mcp.CallToolParams{Name: "send_email", Arguments: mailTo}); err == nil {
		t.Error("the call was answered")
	}
	mail.Close()
	if left, _ := servers.ReadOutbox(out); len(left) != 0 {
		t.Errorf("%d mails left", len(left))
	}
}

// publishing is a server with one tool, guarded by itself.
func publishing(t *testing.T, p *mcpguard.Protector, contracts map[string]contract.Contract) (*mcp.ClientSession, *int) {
	t.Helper()
	ran := 0
	server := mcp.NewServer(&mcp.Implementation{Name: "blog", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "publish"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		ran++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	server.AddPrompt(&mcp.Prompt{Name: "style"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return nil, &jsonrpc.Error{Code: -32602, Message: "no such style"}
	})
	server.AddReceivingMiddleware(p.Middleware("blog", contracts))
	clientSide, serverSide := mcp.NewInMemoryTransports()
	ss, err := server.Connect(t.Context(), serverSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	cs, err := client.Connect(t.Context(), clientSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close(); ss.Wait() })
	return cs, &ran
}

func TestServerRespectsWhatTheClientSays(t *testing.T) {
	contracts := map[string]contract.Contract{"publish": {
		ReadOnly: contract.No, OpenWorld: contract.Yes,
		Destinations: contract.Possible(contract.Public), Outcomes: contract.Possible(contract.Irreversible),
		Sources: contract.Possible(label.Internal), Returns: contract.Possible[label.Class](),
	}}
	perRequest := 0
	p := protector(t, func(o *mcpguard.Options) {
		o.Session = func(context.Context) session.Ref {
			perRequest++
			return session.Ref{Key: strings.Repeat("x", perRequest), Principal: "p"}
		}
	})
	cs, ran := publishing(t, p, contracts)
	for _, test := range []struct {
		meta mcp.Meta
		runs bool
	}{
		{nil, true},
		{mcp.Meta{"annotations": map[string]any{"openWorldHint": true}}, false},
		{mcp.Meta{"annotations": map[string]any{"openWorldHint": false}}, true},
	} {
		before := *ran
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "publish", Meta: test.meta})
		if err != nil {
			t.Fatal(err)
		}
		if got := *ran > before; got != test.runs || res.IsError == test.runs {
			t.Errorf("%v: ran %v, want %v; %s", test.meta, got, test.runs, text(res))
		}
		if test.runs && res.Meta["annotations"] == nil {
			t.Errorf("%v: the result has no labels: %v", test.meta, res.Meta)
		}
	}
	if _, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "style"}); err == nil || !strings.Contains(err.Error(), "no such style") {
		t.Errorf("the handler's own error was lost: %v", err)
	}
}

func TestServerRefusesOtherRequestsWithAnError(t *testing.T) {
	deny, err := policy.Load("deny.yaml", []byte("version: 1\nrules:\n  - name: none\n    when: call\n    if: \"true\"\n    effect: block\n    message: closed\n"))
	if err != nil {
		t.Fatal(err)
	}
	cs, _ := publishing(t, protector(t, func(o *mcpguard.Options) { o.Policy = deny }), nil)
	_, err = cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "style"})
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != guard.CodeRefused || !strings.Contains(string(wire.Data), guard.MetaVerdict) {
		t.Errorf("got %v", err)
	}
}

// An untrusted server's descriptions of its tools reach the host, so they count in the next call to any server.
func TestDefinitionsOfUntrustedServersRaise(t *testing.T) {
	for trust, want := range map[contract.Trust]bool{contract.Untrusted: true, contract.Known: false, contract.Trusted: false} {
		sessions := session.New(session.Options{})
		p := protector(t, func(o *mcpguard.Options) {
			o.State = guard.NewState(sessions, record.Discard())
			o.Session = func(context.Context) session.Ref { return session.Ref{Key: "s", Principal: "ann"} }
		})
		demo(t, p, mcpguard.Server{Name: "mail", Trust: trust}, map[string]string{"drafts.json": "[]", "inbox.json": "[]"}, "2025-11-25")
		files, _ := demo(t, p, mcpguard.Server{Name: "files", Trust: contract.Trusted}, map[string]string{"a.txt": "x"}, "2025-11-25")
		call(t, files, "read_file", map[string]any{"path": "nowhere"})
		state, err := sessions.Snapshot(t.Context(), "s")
		if got := state.Label.Attribution.Has("mcp://mail/#definitions"); err != nil || got != want {
			t.Errorf("%v: the session is %+v, %v", trust, state.Label, err)
		}
	}
}

// A call that ends without an answer has reached its server, which may have acted on it and said something.
func TestFailedCallsRaise(t *testing.T) {
	sessions := session.New(session.Options{})
	p := protector(t, func(o *mcpguard.Options) {
		o.State = guard.NewState(sessions, record.Discard())
		o.Session = func(context.Context) session.Ref { return session.Ref{Key: "s", Principal: "ann"} }
	})
	broken := errors.New("the connection broke")
	handler := p.Middleware("files", map[string]contract.Contract{"read": {
		ReadOnly: contract.Yes, OpenWorld: contract.No, Sources: contract.Possible(label.Internal), Returns: contract.Possible(label.Financial),
	}})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, broken })
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "read"}}
	if _, err := handler(t.Context(), "tools/call", req); !errors.Is(err, broken) {
		t.Fatalf("%v", err)
	}
	state, err := sessions.Snapshot(t.Context(), "s")
	if err != nil || !state.Label.Private || !state.Label.Attribution.Has("mcp://files/read") {
		t.Errorf("the session is %+v, %v", state.Label, err)
	}
}
