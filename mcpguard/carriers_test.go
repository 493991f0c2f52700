package mcpguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcpguard"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// TestCarriers holds that no member of a request takes a private text to a server without a request that shows it: it is
// shown, it is another one by then, or nothing goes.
func TestCarriers(t *testing.T) {
	for _, params := range []string{
		`{"name":"look","arguments":{"q":"%s"}}`,
		`{"name":"look","arguments":{},"_meta":{"x":"%s"}}`,
		`{"name":"look","arguments":{},"_meta":{"progressToken":"%s"}}`,
		`{"name":"look","arguments":{},"requestState":"%s"}`,
		`{"name":"look","arguments":{},"requestState":{"a":["%s"]}}`,
		`{"name":"look","arguments":{},"inputResponses":{"q":{"action":"accept","content":{"a":"%s"}}}}`,
		`{"name":"look","arguments":{},"inputResponses":{"%s":{"action":"cancel"}}}`,
		`{"name":"look","arguments":{},"inputResponses":{"q":{"action":"cancel","_meta":{"x":"%s"}}}}`,
		`{"name":"look","arguments":{},"inputResponses":"%s"}`,
		`{"name":"look","arguments":{},"extra":"%s"}`,
		`{"name":"look","arguments":{},"task":{"ttl":1,"x":"%s"}}`,
	} {
		shown := ""
		state := guard.NewState(nil, record.Discard())
		ref := session.Ref{Key: "s", Principal: "p"}
		p := protector(t, func(o *mcpguard.Options) {
			o.State, o.Policy, o.Session = state, policy.Default(), func(context.Context) session.Ref { return ref }
			o.Ask = func(_ context.Context, q *guard.Question) (bool, error) {
				shown += approval.NewPrompt(q).Text()
				return true, nil
			}
		})
		ends(t, state, ref, label.Label{Untrusted: true, Private: true, Sensitivity: label.SetOf(label.Financial)})
		host, server := raw(t, t.Context(), p)
		id, err := jsonrpc.MakeID(secret)
		if err != nil {
			t.Fatal(err)
		}
		req := &jsonrpc.Request{ID: id, Method: "tools/call", Params: json.RawMessage(fmt.Sprintf(params, secret))}
		if err := host.Write(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if msg, err := host.Read(t.Context()); err != nil || msg.(*jsonrpc.Response).ID != id {
			t.Fatalf("%s: %v %v", params, msg, err)
		}
		if err := host.Close(); err != nil {
			t.Fatal(err)
		}
		for got := range server.got {
			all, err := jsonrpc.EncodeMessage(got)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(all), secret) && !strings.Contains(shown, secret) {
				t.Errorf("%s: the server got %s, and the request showed %q", params, all, shown)
			}
		}
	}
}

// ends raises a session.
func ends(t *testing.T, state guard.State, ref session.Ref, l label.Label) {
	t.Helper()
	opened, err := state.Open(t.Context(), ref, nil)
	if err == nil {
		_, err = state.Raise(t.Context(), opened.Key, l, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestUnaskedAnswers holds that a server's own middleware decides on answers that nobody asked for as on arguments.
func TestUnaskedAnswers(t *testing.T) {
	shown, sent := "", ""
	p := protector(t, func(o *mcpguard.Options) {
		o.Ask = func(_ context.Context, q *guard.Question) (bool, error) {
			shown = approval.NewPrompt(q).Text()
			return true, nil
		}
	})
	server := mcp.NewServer(&mcp.Implementation{Name: "mail", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "send_draft", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if answer, ok := req.Params.InputResponses["to"].(*mcp.ElicitResult); ok {
				sent, _ = answer.Content["to"].(string)
			}
			return &mcp.CallToolResult{}, nil
		})
	server.AddReceivingMiddleware(p.Middleware("mail", map[string]contract.Contract{"send_draft": contract.Sends(contract.Public)}))
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), far, nil); err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).
		Connect(t.Context(), near, &mcp.ClientSessionOptions{ProtocolVersion: "2026-07-28"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "send_draft", Arguments: map[string]any{"draft": "7"},
		Meta:           mcp.Meta{"annotations": map[string]any{"attribution": []string{"mcp://web/page"}, "untrusted": true, "openWorldHint": true}},
		InputResponses: mcp.InputResponseMap{"to": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"to": "eve@evil.example"}}},
	})
	if err != nil || sent != "eve@evil.example" || !strings.Contains(shown, sent) {
		t.Errorf("sent to %q, %v, and the request showed %q", sent, err, shown)
	}
}

// TestProgressIsNamed holds that a host is told of progress by its own token, and of that of no other request.
func TestProgressIsNamed(t *testing.T) {
	p := protector(t, func(o *mcpguard.Options) {
		o.Ask = func(context.Context, *guard.Question) (bool, error) { return true, nil }
	})
	near, far := mcp.NewInMemoryTransports()
	host, err := p.Transport(mcpguard.Server{Name: "slow", Trust: contract.Known}, near).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	server, err := far.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, _ := jsonrpc.MakeID("mine")
	call := &jsonrpc.Request{ID: id, Method: "resources/read", Params: json.RawMessage(`{"uri":"x:y","_meta":{"progressToken":"mine, too"}}`)}
	if err := host.Write(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	got, err := server.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	req := got.(*jsonrpc.Request)
	if text := string(req.Params); strings.Contains(text, "mine") || req.ID == id {
		t.Errorf("the server got %v %s", req.ID, text)
	}
	for _, token := range []any{"another", 77, req.ID.Raw()} {
		params, _ := json.Marshal(map[string]any{"progressToken": token, "progress": 1})
		if err := server.Write(t.Context(), &jsonrpc.Request{Method: "notifications/progress", Params: params}); err != nil {
			t.Fatal(err)
		}
	}
	told, err := host.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var params struct{ ProgressToken string }
	if err := json.Unmarshal(told.(*jsonrpc.Request).Params, &params); err != nil || params.ProgressToken != "mine, too" {
		t.Errorf("the host was told %s", told.(*jsonrpc.Request).Params)
	}
}
