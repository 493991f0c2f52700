package gateway_test

//lint:file-ignore SA1019 sampling, roots and logging are deprecated in 2026-07-28, and have to be bridged all the same

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/record"
)

const (
	oldEra = "2025-11-25"
	newEra = "2026-07-28"
)

// pairings runs a test for hosts and servers of every era, and hosts over both transports.
func pairings(t *testing.T, run func(t *testing.T, p *pairing)) {
	for _, host := range []string{oldEra, newEra} {
		for _, server := range []string{oldEra, newEra} {
			for _, transport := range []string{"stdio", "http"} {
				t.Run(fmt.Sprintf("host %s over %s, server %s", host, transport, server), func(t *testing.T) {
					t.Parallel()
					run(t, newPairing(t, host, server, transport))
				})
			}
		}
	}
}

// A pairing is a host of one era and a server of one, with the gateway in between.
type pairing struct {
	*rig
	era, transport string
	server         *asker
	url            string // of the server
}

func newPairing(t *testing.T, host, server, transport string, changes ...func(*gateway.Options)) *pairing {
	t.Helper()
	a := newAsker()
	a.era = server
	a.http = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return a.Server }, &mcp.StreamableHTTPOptions{Stateless: server == newEra})
	srv := httptest.NewServer(a)
	r := newRecord()
	opts := gateway.Options{State: guard.NewState(nil, record.NewLines(r)), Version: "test", Servers: []gateway.Server{
		{Name: "asker", Trust: contract.Trusted, Spec: upstream.Spec{Name: "asker", URL: srv.URL}},
	}}
	for _, change := range changes {
		change(&opts)
	}
	g, err := gateway.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	r.g = g
	t.Cleanup(func() {
		g.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	return &pairing{rig: r, era: host, transport: transport, server: a, url: srv.URL}
}

func (p *pairing) connect(t *testing.T, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	if p.transport == "stdio" {
		return p.stdio(t, p.era, opts)
	}
	return p.http(t, p.era, opts)
}

// helpful is a host that answers whatever a server asks.
func helpful(action string) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if !strings.HasPrefix(r.Params.Message, "Server \"asker\" asks you, not Weir.") || !strings.HasSuffix(r.Params.Message, "\n> "+nameForm.Message) {
				return nil, fmt.Errorf("asked %q", r.Params.Message)
			}
			if action != "accept" {
				return &mcp.ElicitResult{Action: action}, nil
			}
			return &mcp.ElicitResult{Action: action, Content: map[string]any{"name": "ann"}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "paris"}}, nil
		},
	}
}

func TestServersMayAskInEveryPairing(t *testing.T) {
	pairings(t, func(t *testing.T, p *pairing) {
		s := p.connect(t, helpful("accept"))
		for _, c := range []struct{ tool, want string }{
			{"model", "model paris"}, {"roots", "0 roots"}, {"form", "accept ann"}, {"twice", "done twice"},
		} {
			if res, text := callTool(t, s, c.tool, nil); text != c.want || res.IsError {
				t.Errorf("%s: %q, want %q", c.tool, text, c.want)
			}
		}
	})
}

func TestServersMayAskInManyCallsAtOnce(t *testing.T) {
	pairings(t, func(t *testing.T, p *pairing) {
		s := p.connect(t, helpful("accept"))
		var calls sync.WaitGroup
		for range 16 {
			calls.Go(func() {
				res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "form"})
				if err != nil || res.IsError || res.Content[0].(*mcp.TextContent).Text != "accept ann" {
					t.Errorf("form: %v, %v", res, err)
				}
			})
		}
		calls.Wait()
	})
}

func TestCancellationInEveryPairing(t *testing.T) {
	pairings(t, func(t *testing.T, p *pairing) {
		ctx, cancel := context.WithCancel(t.Context())
		p.callBlock(t, ctx)
		soon(t, p.server.blocked)
		cancel()
		if got := soon(t, p.server.blocked); got != "cancelled" {
			t.Errorf("the server's call is %v", got)
		}
	})
}

// callBlock calls the tool block until ctx ends. The SDK's client does not tell servers of 2026-07-28, so hosts of that
// revision are played by hand.
func (p *pairing) callBlock(t *testing.T, ctx context.Context) {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"block","_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
	switch {
	case p.era == oldEra:
		s := p.connect(t, nil)
		go s.CallTool(ctx, &mcp.CallToolParams{Name: "block"})
	case p.transport == "stdio":
		w := p.wire(t)
		w.send(body)
		context.AfterFunc(ctx, func() {
			io.WriteString(w.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`+"\n")
		})
	default:
		srv := httptest.NewServer(p.g.Handler())
		t.Cleanup(srv.Close)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": newEra, "Mcp-Method": "tools/call", "Mcp-Name": "block",
		} {
			req.Header.Set(name, value)
		}
		go func() {
			if resp, err := srv.Client().Do(req); err == nil {
				resp.Body.Close()
			}
		}()
	}
}

func TestPeopleMayDeclineInEveryPairing(t *testing.T) {
	pairings(t, func(t *testing.T, p *pairing) {
		s := p.connect(t, helpful("decline"))
		if _, text := callTool(t, s, "form", nil); !strings.HasPrefix(text, "decline") {
			t.Errorf("form: %q", text)
		}
	})
}

func TestHostWithoutTheCapabilityIsNotAsked(t *testing.T) {
	pairings(t, func(t *testing.T, p *pairing) {
		s := p.connect(t, nil)
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "model"})
		if err == nil && !res.IsError {
			t.Errorf("a server asked a host that takes no questions: %v", res.Content)
		}
		if _, text := callTool(t, s, "log", nil); text != "logged" {
			t.Errorf("afterwards: %q", text)
		}
	})
}

func TestLogsAndProgressInEveryPairing(t *testing.T) {
	pairings(t, func(t *testing.T, p *pairing) {
		logged, progressed := make(chan any, 10), make(chan any, 10)
		s := p.connect(t, &mcp.ClientOptions{
			LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { logged <- r.Params.Data },
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				progressed <- r.Params.ProgressToken
			},
		})
		meta := mcp.Meta{}
		if p.era == newEra {
			meta["io.modelcontextprotocol/logLevel"] = "info"
		} else if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
			t.Fatal(err)
		}
		params := &mcp.CallToolParams{Meta: meta, Name: "log"}
		params.SetProgressToken("mine")
		if _, err := s.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		if got := soon(t, logged); got != "careful" {
			t.Errorf("logged %v", got)
		}
		if got := soon(t, progressed); got != "mine" {
			t.Errorf("progress of %v", got)
		}
	})
}

func TestChangesAreAnnouncedInEveryPairing(t *testing.T) {
	pairings(t, func(t *testing.T, p *pairing) {
		changed, updated := make(chan any, 4096), make(chan any, 4096)
		s := p.connect(t, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
		})
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://watched"}); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); (len(changed) == 0 || len(updated) == 0) && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			callTool(t, s, "change", nil) // again, as the SDK's client does not wait for the acknowledgement
		}
		soon(t, changed)
		if got := soon(t, updated); got != "test://watched" {
			t.Errorf("%v was updated", got)
		}
		if err := s.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "test://watched"}); err != nil {
			t.Error(err)
		}
	})
}

func TestParameterHeadersReachServersThatAskForThem(t *testing.T) {
	pairings(t, func(t *testing.T, p *pairing) {
		s := p.connect(t, nil)
		if _, err := s.ListTools(t.Context(), nil); err != nil { // the SDK's client learns the schema here
			t.Fatal(err)
		}
		for _, region := range []string{"eu", "größer "} {
			if _, text := callTool(t, s, "region", map[string]any{"region": region}); text != "in "+region {
				t.Errorf("region: %q", text)
			}
		}
		p.server.mu.Lock()
		defer p.server.mu.Unlock()
		if got := strings.Join(p.server.headers, " "); p.server.era == newEra && got != "eu =?base64?Z3LDtsOfZXIg?=" {
			t.Errorf("headers %q", got)
		}
	})
}

// soon returns the next value.
func soon(t *testing.T, c chan any) any {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
		return nil
	}
}
