package gateway_test

//lint:file-ignore SA1019 sampling, roots and logging are deprecated in 2026-07-28, and have to be bridged all the same

import (
	"bytes"
	"context"
	"encoding/json"
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
}

func newPairing(t *testing.T, host, server, transport string, changes ...func(*gateway.Options)) *pairing {
	t.Helper()
	a := newAsker()
	a.era = server
	a.http = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return a.Server }, &mcp.StreamableHTTPOptions{Stateless: server == newEra})
	srv := httptest.NewServer(a)
	r := newRecord()
	opts := gateway.Options{Record: record.NewLines(r), Version: "test", Servers: []gateway.Server{
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
	return &pairing{rig: r, era: host, transport: transport, server: a}
}

func (p *pairing) connect(t *testing.T, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	if p.transport == "stdio" {
		return p.stdio(t, p.era, opts)
	}
	return p.http(t, p.era, opts)
}

// An asker is a server whose tools want to know something of their host.
type asker struct {
	*mcp.Server
	era     string
	http    http.Handler
	mu      sync.Mutex
	headers []string // Mcp-Param-Region of every POST
	blocked chan any // what the tool block is doing
}

const regionSchema = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`

func newAsker() *asker {
	nothing := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	a := &asker{blocked: make(chan any, 2), Server: mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   nothing,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})}
	read := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(a.Server, &mcp.Tool{Name: "form", Annotations: read}, a.form)
	mcp.AddTool(a.Server, &mcp.Tool{Name: "model", Annotations: read}, a.model)
	mcp.AddTool(a.Server, &mcp.Tool{Name: "roots", Annotations: read}, a.roots)
	mcp.AddTool(a.Server, &mcp.Tool{Name: "twice", Annotations: read}, a.twice)
	mcp.AddTool(a.Server, &mcp.Tool{Name: "log", Annotations: read}, a.log)
	mcp.AddTool(a.Server, &mcp.Tool{Name: "region", Annotations: read, InputSchema: json.RawMessage(regionSchema)}, a.region)
	mcp.AddTool(a.Server, &mcp.Tool{Name: "change", Annotations: read}, a.change)
	mcp.AddTool(a.Server, &mcp.Tool{Name: "block", Annotations: read}, a.block)
	a.AddResource(&mcp.Resource{URI: "test://watched", Name: "watched"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test://watched", Text: "x"}}}, nil
	})
	return a
}

// ServeHTTP serves one era only.
func (a *asker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if v := r.Header.Get("Mcp-Param-Region"); v != "" {
		a.mu.Lock()
		a.headers = append(a.headers, v)
		a.mu.Unlock()
	}
	if a.era == newEra && bytes.Contains(body, []byte(`"method":"initialize"`)) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no handshake"}}`)
		return
	}
	a.http.ServeHTTP(w, r)
}

func isModern(req *mcp.CallToolRequest) bool {
	return req.Session.InitializeParams().ProtocolVersion >= newEra
}

func said(format string, args ...any) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil, nil
}

var nameForm = &mcp.ElicitParams{Message: "your name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}

func (a *asker) form(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	if isModern(req) {
		if r, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult); ok {
			if req.Params.RequestState != "s1" {
				return said("state is %q", req.Params.RequestState)
			}
			return said("%s %v", r.Action, r.Content["name"])
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": nameForm}, RequestState: "s1"}, nil, nil
	}
	r, err := req.Session.Elicit(ctx, nameForm)
	if err != nil {
		return nil, nil, err
	}
	return said("%s %v", r.Action, r.Content["name"])
}

var sampling = &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "capital?"}}}}

func (a *asker) model(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	if isModern(req) {
		if r, ok := req.Params.InputResponses["q"].(*mcp.CreateMessageWithToolsResult); ok {
			return said("model %s", r.Content[0].(*mcp.TextContent).Text)
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": sampling}}, nil, nil
	}
	r, err := req.Session.CreateMessage(ctx, sampling)
	if err != nil {
		return nil, nil, err
	}
	return said("model %s", r.Content.(*mcp.TextContent).Text)
}

func (a *asker) roots(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	if isModern(req) {
		if r, ok := req.Params.InputResponses["r"].(*mcp.ListRootsResult); ok {
			return said("%d roots", len(r.Roots))
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"r": &mcp.ListRootsParams{}}}, nil, nil
	}
	r, err := req.Session.ListRoots(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	return said("%d roots", len(r.Roots))
}

func (a *asker) twice(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	if isModern(req) {
		switch req.Params.RequestState {
		case "":
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": nameForm}, RequestState: "1"}, nil, nil
		case "1":
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"b": nameForm}, RequestState: "2"}, nil, nil
		}
		return said("done twice")
	}
	for range 2 {
		if _, err := req.Session.Elicit(ctx, nameForm); err != nil {
			return nil, nil, err
		}
	}
	return said("done twice")
}

func (a *asker) log(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "careful"})
	req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1})
	return said("logged")
}

func (a *asker) region(_ context.Context, _ *mcp.CallToolRequest, in struct {
	Region string `json:"region"`
}) (*mcp.CallToolResult, any, error) {
	return said("in %s", in.Region)
}

func (a *asker) change(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	mcp.AddTool(a.Server, &mcp.Tool{Name: "added"}, a.change)
	a.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "test://watched"})
	return said("changed")
}

func (a *asker) block(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	a.blocked <- "began"
	<-ctx.Done()
	a.blocked <- "cancelled"
	return nil, nil, ctx.Err()
}

// helpful is a host that answers whatever a server asks.
func helpful(action string) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if r.Params.Message != nameForm.Message {
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
		for tool, want := range map[string]string{
			"form": "accept ann", "model": "model paris", "roots": "0 roots", "twice": "done twice",
		} {
			if res, text := callTool(t, s, tool, nil); text != want || res.IsError {
				t.Errorf("%s: %q, want %q", tool, text, want)
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
		s := p.connect(t, helpful("accept"))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan any, 1)
		go func() {
			_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "block"})
			ended <- err
		}()
		soon(t, p.server.blocked)
		cancel()
		if got := soon(t, p.server.blocked); got != "cancelled" {
			t.Errorf("the server's call is %v", got)
		}
		if err := soon(t, ended); err == nil {
			t.Error("the host's call succeeded")
		}
	})
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
		changed, updated := make(chan any, 10), make(chan any, 10)
		s := p.connect(t, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
		})
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://watched"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // the SDK's client does not wait for the acknowledgement
		callTool(t, s, "change", nil)
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

// soon returns what comes.
func soon(t *testing.T, c chan any) any {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(5 * time.Second):
		t.Fatal("nothing came")
		return nil
	}
}
