package gateway_test

//lint:file-ignore SA1019 sampling, roots and logging are deprecated in 2026-07-28, and have to be bridged all the same

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An asker is a server whose tools want to know something of their host.
type asker struct {
	*mcp.Server
	era     string
	http    http.Handler
	mu      sync.Mutex
	headers []string      // Mcp-Param-Region of every POST
	blocked chan any      // the ends of calls of the tool block
	over    chan struct{} // closed when the client of such a call has hung up, of which the SDK does not tell the tool
}

const regionSchema = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`

func newAsker() *asker {
	nothing := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	a := &asker{blocked: make(chan any, 4), over: make(chan struct{}), Server: mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, &mcp.ServerOptions{
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
	if a.era == newEra && bytes.Contains(body, []byte(`"name":"block"`)) {
		// The SDK's server does not cancel requests of clients that hung up, so this is seen where it happens.
		context.AfterFunc(r.Context(), func() {
			a.blocked <- "cancelled"
			close(a.over)
		})
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
	select {
	case <-ctx.Done():
		a.blocked <- "cancelled"
	case <-a.over:
	case <-time.After(time.Minute):
		a.blocked <- "not cancelled"
	}
	return said("over")
}
