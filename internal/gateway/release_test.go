package gateway

import (
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/gateway/hostconn"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/record"
)

var released = flag.Int("released", 40, "sessions that TestEndedSessionsAreReleased opens and ends")

// post sends a message over HTTP in the older revisions.
func post(t *testing.T, url, session, body string) *http.Response {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodDelete
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		t.Fatalf("%.60s: %s", body, resp.Status)
	}
	return resp
}

// Nothing of a session outlives its end: no timer, goroutine or map holds its connections to servers.
func TestEndedSessionsAreReleased(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "look"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	up := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer up.Close()
	g, err := New(Options{State: guard.NewState(nil, record.Discard()), Servers: []Server{
		{Name: "s", Trust: contract.Trusted, Spec: upstream.Spec{Name: "s", URL: up.URL}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	down := httptest.NewServer(g.Handler())
	defer down.Close()

	var sets []weak.Pointer[backend.Set]
	var fronts []weak.Pointer[hostconn.Conn]
	for range *released {
		opened := post(t, down.URL, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`)
		id := opened.Header.Get("Mcp-Session-Id")
		post(t, down.URL, id, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"look","arguments":{}}}`)
		for _, set := range g.servers.Sets() {
			sets = append(sets, weak.Make(set))
			if owner, ok := set.Owner().(*hostconn.Conn); ok {
				fronts = append(fronts, weak.Make(owner))
			}
		}
		post(t, down.URL, id, "")
	}
	left := func() (n int) {
		runtime.GC()
		for _, p := range sets {
			if p.Value() != nil {
				n++
			}
		}
		for _, p := range fronts {
			if p.Value() != nil {
				n++
			}
		}
		return n
	}
	http.DefaultClient.CloseIdleConnections()
	n := left()
	for range 2400 { // DELETE does not wait for the end
		if n == 0 {
			break
		}
		time.Sleep(25 * time.Millisecond)
		n = left()
	}
	if len(sets) < *released || n > 0 {
		t.Errorf("of %d sets of connections and %d hosts, %d are still held", len(sets), len(fronts), n)
	}
}
