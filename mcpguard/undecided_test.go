package mcpguard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/mcpguard"
	"github.com/weir-mcp/weir/record"
)

// methods are those of MCP, in any revision and from either side, of its extensions, and some of nobody.
var methods = []string{
	"initialize", "server/discover", "ping", "logging/setLevel", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
	"tools/call", "prompts/get", "resources/read", "resources/subscribe", "resources/unsubscribe", "completion/complete", "subscriptions/listen",
	"tools/resolve", "tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "sampling/createMessage", "elicitation/create", "roots/list",
	"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed", "notifications/message",
	"notifications/tools/list_changed", "notifications/tasks/status", "x/own", "Tools/Call", "tools/call ",
}

// An echo is a server that keeps each request, and answers it.
type echo struct {
	conn mcp.Connection
	got  chan *jsonrpc.Request
	work sync.WaitGroup
}

func (e *echo) serve(ctx context.Context) {
	for {
		msg, err := e.conn.Read(ctx)
		if err != nil {
			close(e.got)
			return
		}
		if req, ok := msg.(*jsonrpc.Request); ok {
			e.got <- req
			if req.IsCall() {
				_ = e.conn.Write(ctx, &jsonrpc.Response{ID: req.ID, Result: json.RawMessage(`{"text":"of a stranger"}`)})
			}
		}
	}
}

// raw connects a host and an untrusted server that speak no MCP of their own.
func raw(t interface{ Fatal(...any) }, ctx context.Context, p *mcpguard.Protector) (mcp.Connection, *echo) {
	clientSide, serverSide := mcp.NewInMemoryTransports()
	host, err := p.Transport(mcpguard.Server{Name: "evil", Trust: contract.Untrusted}, clientSide).Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	server, err := serverSide.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{conn: server, got: make(chan *jsonrpc.Request, 100)}
	e.work.Go(func() { e.serve(context.WithoutCancel(ctx)) })
	return host, e
}

const secret = "ann-earns-1"

// secretive draws params of any method, with a secret in each text of them.
func secretive(rt *rapid.T) json.RawMessage {
	members := map[string]any{
		"name": secret, "uri": "x:" + secret, "arguments": map[string]any{"a": secret}, "cursor": secret, "level": secret, "requestId": secret,
		"progressToken": secret, "progress": secret, "reason": secret, "protocolVersion": secret, "taskId": secret, secret: 1,
		"ref": map[string]any{"type": "ref/prompt", "name": secret}, "argument": map[string]any{"name": secret, "value": secret},
		"notifications": map[string]any{"toolsListChanged": true, "resourceSubscriptions": []string{"x:" + secret}, secret: true},
		"_meta":         map[string]any{"x": secret, "progressToken": secret, "io.modelcontextprotocol/protocolVersion": secret},
	}
	params := map[string]any{"name": secret, "uri": secret, "ref": members["ref"], "level": "info"} // without which there is no request
	for name, value := range members {
		if rapid.Bool().Draw(rt, name) {
			params[name] = value
		}
	}
	out, err := json.Marshal(params)
	if err != nil {
		rt.Fatal(err)
	}
	return out
}

// Nothing of a request or a notification of a host reaches a server without a decision that is recorded, and nothing of
// its answer the host without a label, for any method.
func TestNothingPassesUndecided(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		method := rapid.OneOf(rapid.SampledFrom(methods), rapid.StringN(1, 20, -1)).Draw(rt, "method")
		call, allowed := rapid.Bool().Draw(rt, "call"), rapid.Bool().Draw(rt, "allowed")
		var log bytes.Buffer
		decided := make(chan struct{}, 100)
		rule := map[bool]string{true: "warn", false: "block"}[allowed]
		p := protector(t, func(o *mcpguard.Options) {
			o.State = guard.NewState(nil, record.NewLines(&log))
			o.Policy = rules(t, "version: 1\nrules:\n  - {name: all, when: call, if: 'true', effect: "+rule+", message: m}\n")
			o.OnWarning = func(context.Context, *guard.Call, guard.Refusal) { decided <- struct{}{} }
		})
		host, server := raw(rt, t.Context(), p)
		req := &jsonrpc.Request{Method: method, Params: secretive(rt)}
		if call {
			req.ID, _ = jsonrpc.MakeID("1")
		}
		if err := host.Write(t.Context(), req); err != nil {
			rt.Fatal(err)
		}
		switch {
		case call:
			msg, err := host.Read(t.Context())
			resp, ok := msg.(*jsonrpc.Response)
			if err != nil || !ok {
				rt.Fatal(msg, err)
			}
			if strings.Contains(string(resp.Result), "stranger") && !strings.Contains(string(resp.Result), `"annotations"`) &&
				guard.Guarded(method) {
				rt.Errorf("the host got %s", resp.Result)
			}
		case guard.Guarded(method):
			<-decided
		}
		host.Close()
		server.work.Wait()
		for got := range server.got {
			written := string(got.Params)
			if !strings.Contains(written, secret) {
				continue
			}
			if !allowed || !guard.Guarded(method) || !strings.Contains(log.String(), `"phase":"call","effect":"warn"`) {
				rt.Errorf("allowed %v: the server got %s %s; recorded %s", allowed, got.Method, written, log.String())
			}
		}
	})
}

// A server's handler runs for no request that was not decided.
func TestNoHandlerRunsUndecided(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		method := rapid.OneOf(rapid.SampledFrom(methods), rapid.StringN(1, 20, -1)).Draw(rt, "method")
		p := protector(t, func(o *mcpguard.Options) {
			o.Policy = rules(t, "version: 1\nrules:\n  - {name: all, when: call, if: 'true', effect: block, message: m}\n")
		})
		ran := false
		handler := p.Middleware("s", nil)(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			ran = true
			return nil, nil
		})
		var req mcp.Request = &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: secret}}
		switch method {
		case "resources/read", "resources/subscribe", "resources/unsubscribe":
			req = &mcp.SubscribeRequest{Params: &mcp.SubscribeParams{URI: secret}}
		case "completion/complete":
			req = &mcp.CompleteRequest{Params: &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: secret}}}
		case "subscriptions/listen":
			req = &mcp.SubscriptionsListenRequest{Params: &mcp.SubscriptionsListenParams{
				Notifications: &mcp.NotificationSubscriptions{ResourceSubscriptions: []string{secret}},
			}}
		}
		res, err := handler(t.Context(), method, req)
		refused, _ := res.(*mcp.CallToolResult)
		if ran == guard.Guarded(method) || !ran && err == nil && (refused == nil || !refused.IsError) {
			rt.Errorf("ran %v: %+v, %v", ran, res, err)
		}
	})
}

// Data of a private session reaches an untrusted server by no kind of request, in any revision, and text of its answers
// counts.
func TestEveryKindOfRequestIsAskedAbout(t *testing.T) {
	for _, protocol := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, yes := range []bool{false, true} {
			asked := make(chan *guard.Question, 10)
			p := protector(t, func(o *mcpguard.Options) {
				o.Ask = func(_ context.Context, q *guard.Question) (bool, error) { asked <- q; return yes, nil }
			})
			files, _ := demo(t, p, mcpguard.Server{Name: "files", Trust: contract.Trusted}, map[string]string{"salaries.csv": "ann,1\n"}, protocol)
			call(t, files, "read_file", map[string]any{"path": "salaries.csv"})
			got := make(chan string, 10)
			server := mcp.NewServer(&mcp.Implementation{Name: "evil", Version: "1"}, &mcp.ServerOptions{
				CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
					got <- r.Params.Argument.Value
					return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"of a stranger"}}}, nil
				},
				SubscribeHandler:   func(_ context.Context, r *mcp.SubscribeRequest) error { got <- r.Params.URI; return nil },
				UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
			})
			server.AddPrompt(&mcp.Prompt{Name: "p", Arguments: []*mcp.PromptArgument{{Name: "q"}}}, nil)
			server.AddResource(&mcp.Resource{Name: "r", URI: "x:r"}, nil) // so that there are subscriptions
			evil := guarded(t, p, mcpguard.Server{Name: "evil"}, server, protocol)
			for method, try := range map[string]func() error{
				"completion/complete": func() error {
					_, err := evil.Complete(t.Context(), &mcp.CompleteParams{
						Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "p"}, Argument: mcp.CompleteParamsArgument{Name: "q", Value: secret},
					})
					return err
				},
				"resources/subscribe": func() error { return evil.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "x:" + secret}) },
			} {
				err := try()
				if q := <-asked; q.Method != method || q.Server != "evil" {
					t.Errorf("%s %s: asked %+v", protocol, method, q)
				}
				if listens := protocol == "2026-07-28" && method == "resources/subscribe"; !listens && (err == nil) != yes { // nobody waits for those
					t.Errorf("%s %s: %v", protocol, method, err)
				}
				if yes {
					if text := <-got; !strings.Contains(text, secret) {
						t.Errorf("%s %s: the server got %q", protocol, method, text)
					}
				}
			}
			if len(got) > 0 {
				t.Errorf("%s, %v: the server got %q", protocol, yes, <-got)
			}
		}
	}
}
