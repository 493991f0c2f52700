package mcpguard_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcpguard"
	"github.com/weir-mcp/weir/mcptool"
)

type message struct {
	To string `json:"to"`
}

type signature struct {
	Name string `json:"name"`
}

// post connects a guarded host to a server that signs messages with a name for which it asks, and sends them. The server's params are
// in got.
func post(t *testing.T, p *mcpguard.Protector, protocol string, got *[]string) *mcp.ClientSession {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "post", Version: "1"}, nil)
	tools, err := mcptool.New(server, mcptool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = mcptool.Add(tools, &mcp.Tool{Name: "send"}, mcptool.Declaration[message]{Contract: contract.Sends(contract.Public)},
		func(ctx context.Context, c *mcptool.Call, in message) (*mcp.CallToolResult, any, error) {
			by, err := mcptool.AskFor[signature](ctx, c, "Signed by whom?")
			if err != nil {
				return nil, nil, err
			}
			if err := c.Ask(ctx, "Really?"); err != nil {
				return nil, nil, err
			}
			raw, err := json.Marshal(c.Request.Params)
			*got = append(*got, string(raw))
			return c.Text("sent to "+in.To+" by "+by.Name, label.Label{}), nil, err
		})
	if err != nil {
		t.Fatal(err)
	}
	err = mcptool.Add(tools, &mcp.Tool{Name: "read"}, mcptool.Declaration[message]{Contract: contract.Reads(label.Internal, label.UntrustedPublic)},
		func(_ context.Context, c *mcptool.Call, in message) (*mcp.CallToolResult, any, error) {
			if in.To == "evil" {
				c.Malicious("override")
			}
			return c.Text("a letter", label.Label{Sources: label.SetOf(label.Internal, label.UntrustedPublic)}), nil, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	clientSide, serverSide := mcp.NewInMemoryTransports()
	serving, err := server.Connect(t.Context(), serverSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
		},
	})
	host, err := client.Connect(t.Context(), p.Transport(mcpguard.Server{Name: "post", Trust: contract.Trusted}, clientSide),
		&mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close(); _ = serving.Wait() })
	if _, err := host.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return host
}

// told gathers all that a Protector tells its host.
type told struct {
	mu                       sync.Mutex
	asked                    []*guard.Question
	warned, malicious, raise []string
}

func (h *told) options(answer bool) func(*mcpguard.Options) {
	note := func(list *[]string, text string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		*list = append(*list, text)
	}
	return func(o *mcpguard.Options) {
		o.State = nil
		o.Ask = func(_ context.Context, q *guard.Question) (bool, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.asked = append(h.asked, q)
			return answer, nil
		}
		o.OnWarning = func(_ context.Context, c *guard.Call, r guard.Refusal) { note(&h.warned, c.Name+": "+r.String()) }
		o.OnMalicious = func(_ context.Context, c *guard.Call, l label.Label) { note(&h.malicious, c.Name+": "+l.String()) }
		o.OnRaise = func(_ context.Context, _ string, before, after label.Label) {
			note(&h.raise, after.Without(before).Taint().String())
		}
	}
}

// One action that its server asks about twice, in as many rounds, needs one approval; the next action needs its own.
func TestOneRequestPerAction(t *testing.T) {
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		var got []string
		h := &told{}
		host := post(t, protector(t, h.options(true)), protocol, &got)
		call(t, host, "read", map[string]any{"to": "ann"})
		for i, to := range []string{"a@external.example", "b@external.example", "b@external.example"} {
			res := call(t, host, "send", map[string]any{"to": to})
			if text(res) != "sent to "+to+" by Ann" || len(h.asked) != i+1 || len(got) != i+1 {
				for _, q := range h.asked {
					t.Log(q.Method, q.Rule, q.Phase)
				}
				t.Fatalf("%s: %d requests after action %d, which gave %s", protocol, len(h.asked), i+1, text(res))
			}
		}
		if prompt := approval.NewPrompt(h.asked[0]).Text(); !strings.HasPrefix(prompt, `Allow this call of tool "send" (server post)`) || !strings.Contains(prompt, "a@external.example") {
			t.Errorf("%s: the user reads %s", protocol, prompt)
		}
	}
}

// An answer that nobody was asked for, to a call that never went out, opens no way past the approval.
func TestAnswersOpenNothing(t *testing.T) {
	var got []string
	h := &told{}
	host := post(t, protector(t, h.options(false)), "2026-07-28", &got)
	call(t, host, "read", map[string]any{"to": "ann"})
	res := call(t, host, "send", map[string]any{"to": "a@external.example"})
	again, err := host.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "send", Arguments: map[string]any{"to": "a@external.example"}, RequestState: "x",
		InputResponses: mcp.InputResponseMap{"weir-ask": &mcp.ElicitResult{Action: "accept"}},
	})
	if err != nil || !res.IsError || !again.IsError || len(h.asked) != 2 || len(got) > 0 {
		t.Errorf("%d requests, %d calls: %+v, %v", len(h.asked), len(got), again, err)
	}
}

func TestUserMessages(t *testing.T) {
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		var got []string
		h := &told{}
		host := post(t, protector(t, h.options(true)), protocol, &got)
		call(t, host, "read", map[string]any{"to": "ann"})
		ctx := mcpguard.WithUserMessage(mcpguard.WithUserMessage(t.Context(), "Write to bob@external.example"), "please")
		if _, err := host.CallTool(ctx, &mcp.CallToolParams{Name: "send", Arguments: map[string]any{"to": "bob@external.example"}}); err != nil {
			t.Fatal(err)
		}
		if len(h.asked) == 1 && !strings.Contains(h.asked[0].UserWords, "bob@external.example") {
			t.Errorf("%s: the request has the words %q", protocol, h.asked[0].UserWords)
		}
		if len(got) != 1 || strings.Contains(got[0], "please") || strings.Contains(got[0], "dev.weir") {
			t.Errorf("%s: the server got %q", protocol, got)
		}
	}
}

func TestHostsAreTold(t *testing.T) {
	h := &told{}
	var got []string
	host := post(t, protector(t, h.options(false)), "2025-11-25", &got)
	call(t, host, "read", map[string]any{"to": "ann"})
	if len(h.warned) != 0 || len(h.raise) != 1 || !strings.Contains(h.raise[0], "untrusted private") {
		t.Errorf("told of %q, raised %q", h.warned, h.raise)
	}
	if res := call(t, host, "send", map[string]any{"to": "x@external.example"}); !res.IsError {
		t.Error("a declined call is made")
	}
	if res := call(t, host, "read", map[string]any{"to": "evil"}); !res.IsError {
		t.Error("a malicious result is shown")
	}
	if len(h.malicious) != 1 || !strings.Contains(h.malicious[0], "override") || !slices.ContainsFunc(h.warned, func(w string) bool { return strings.HasPrefix(w, "send: ask (rule ") }) ||
		!slices.ContainsFunc(h.warned, func(w string) bool { return strings.HasPrefix(w, "read: ask (rule ask-before-a-malicious-result)") }) {
		t.Errorf("told of %q and %q", h.warned, h.malicious)
	}
}
