package interceptors_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/interceptor"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/streamable"
)

// The messages of the extension as an invoker on the SDK has them.
type (
	listParams struct {
		mcp.ParamsBase
		Event string `json:"event,omitempty"`
	}
	listResult struct {
		mcp.ResultBase
		Interceptors []interceptor.Descriptor `json:"interceptors"`
	}
	invokeParams struct {
		mcp.ParamsBase
		Name    string            `json:"name"`
		Event   string            `json:"event"`
		Phase   interceptor.Phase `json:"phase"`
		Payload json.RawMessage   `json:"payload"`
		Config  map[string]string `json:"config,omitempty"`
	}
	invokeResult struct {
		mcp.ResultBase
		interceptor.Result
	}
)

// TestSDK has the Go SDK as invoker, on each transport.
func TestSDK(t *testing.T) {
	d := open(t, inMemory())
	t.Run("stdio", func(t *testing.T) {
		in, toWeir := io.Pipe()
		fromWeir, out := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- d.by.Serve(t.Context(), rpc.NewStream(in, out, nil), agentsession.LocalPrincipal) }()
		invokeAll(t, &mcp.IOTransport{Reader: fromWeir, Writer: toWeir})
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Run("HTTP", func(t *testing.T) {
		h := streamable.New(streamable.Options{Serve: func(ctx context.Context, _ streamable.Info, conn rpc.Conn) error {
			return d.by.Serve(ctx, conn, agentsession.LocalPrincipal)
		}})
		server := httptest.NewServer(h)
		defer server.Close()
		defer h.Close()
		invokeAll(t, &mcp.StreamableClientTransport{Endpoint: server.URL})
	})
}

// invokeAll lists the interceptors at the other end of a transport, and invokes them.
func invokeAll(t *testing.T, transport mcp.Transport) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "invoker", Version: "1"}, nil)
	if err := errors.Join(
		mcp.AddSendingCustomMethod[*listParams, *listResult](client, interceptor.MethodList),
		mcp.AddSendingCustomMethod[*invokeParams, *invokeResult](client, interceptor.MethodInvoke),
	); err != nil {
		t.Fatal(err)
	}
	conn, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	listed, err := mcp.CallCustomMethod[*listParams, *listResult](t.Context(), conn, interceptor.MethodList, &listParams{Event: "resources/read"})
	if err != nil || len(listed.Interceptors) != 4 {
		t.Fatalf("%v are listed: %v", listed, err)
	}
	invoke := func(name, server string, phase interceptor.Phase, payload string) (*invokeResult, error) {
		return mcp.CallCustomMethod[*invokeParams, *invokeResult](t.Context(), conn, interceptor.MethodInvoke, &invokeParams{
			Name: name, Event: "tools/call", Phase: phase, Payload: json.RawMessage(payload), Config: map[string]string{"server": server},
		})
	}
	for _, c := range []struct {
		name, server string
		phase        interceptor.Phase
		payload      string
		valid        bool
	}{
		{"weir-call", "filesystem", request, readSecret, true},
		{"weir-result", "filesystem", response, secretText, true},
		{"weir-call", "sqlite", request, sendSecret, false},
	} {
		got, err := invoke(c.name, c.server, c.phase, c.payload)
		if err != nil || got.Valid == nil || *got.Valid != c.valid {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
	_, err = invoke("weir-other", "sqlite", request, sendSecret)
	var failed *jsonrpc.Error
	if !errors.As(err, &failed) || failed.Code != interceptor.CodeParams {
		t.Errorf("an unknown interceptor: %v", err)
	}
}
