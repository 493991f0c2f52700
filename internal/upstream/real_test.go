//go:build unix

package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// servers of the official SDK, by what they speak.
func servers() map[string]func(t *testing.T) upstream.Spec {
	return map[string]func(t *testing.T) upstream.Spec{
		"stdio":        func(t *testing.T) upstream.Spec { return child(t, "sdk") },
		"stdio legacy": func(t *testing.T) upstream.Spec { return child(t, "sdk-legacy") },
		"stdio modern": func(t *testing.T) upstream.Spec { return child(t, "sdk-modern") },
		"http legacy":  func(t *testing.T) upstream.Spec { return sdkHTTP(t, false) },
		"http modern":  func(t *testing.T) upstream.Spec { return sdkHTTP(t, true) },
		"sse":          sdkSSE,
	}
}

func TestNegotiation(t *testing.T) {
	for _, test := range []struct{ server, hello, want string }{
		{"stdio", "", "2026-07-28"},
		{"stdio", "2026-07-28", "2026-07-28"},
		{"stdio", "2027-01-01", "2026-07-28"},
		{"stdio", "2025-11-25", "2025-11-25"},
		{"stdio", "2024-11-05", "2024-11-05"},
		{"stdio legacy", "", "2025-11-25"},
		{"stdio legacy", "2025-06-18", "2025-06-18"},
		{"stdio modern", "", "2026-07-28"},
		{"http legacy", "", "2025-11-25"},
		{"http legacy", "2025-03-26", "2025-03-26"},
		{"http modern", "", "2026-07-28"},
		{"http modern", "2025-06-18", "2025-06-18"}, // without a session
		{"sse", "", "2025-11-25"},
		{"sse", "2024-11-05", "2024-11-05"},
	} {
		t.Run(test.server+" "+test.hello, func(t *testing.T) {
			w := new(watcher)
			conn := dial(t, servers()[test.server](t), test.hello, w)
			if conn.Protocol() != test.want || conn.Modern() != (test.want >= "2026") {
				t.Errorf("speaks %s, modern %t; want %s", conn.Protocol(), conn.Modern(), test.want)
			}
			if !strings.Contains(string(conn.Welcome()), `"tools"`) {
				t.Errorf("welcome is %s", conn.Welcome())
			}
			if tools := call(t, conn, "tools/list", ""); !strings.Contains(tools, `"greet"`) {
				t.Errorf("tools are %s", tools)
			}
			if result := call(t, conn, "tools/call", `{"name":"greet","arguments":{}}`); !strings.Contains(result, "hello") {
				t.Errorf("result is %s", result)
			}
			m, err := conn.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"none","arguments":{}}`))
			if err != nil || m.Failure() == nil || m.Failure().Code != rpc.InvalidParams {
				t.Errorf("unknown tool: %v, %v", m, err)
			}
			// Servers of the older revisions refuse it with a bare HTTP status.
			if m, err = conn.Call(t.Context(), "no/such", nil); err == nil && m.Failure() == nil || conn.Err() != nil {
				t.Errorf("unknown method: %v, %v; connection: %v", m, err, conn.Err())
			}
			if defects := w.reasons(); len(defects) > 0 {
				t.Errorf("defects %q", defects)
			}
		})
	}
}

// A host's own members that belong to another revision do not reach the server.
func TestForeignMeta(t *testing.T) {
	meta := `{"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"}}}`
	for server, other := range map[string]string{"http legacy": "2026-07-28", "stdio": "2025-11-25"} {
		t.Run(server, func(t *testing.T) {
			conn := dial(t, servers()[server](t), "", new(watcher))
			if tools := call(t, conn, "tools/list", fmt.Sprintf(meta, other)); !strings.Contains(tools, `"greet"`) {
				t.Errorf("tools are %s", tools)
			}
		})
	}
}

// When a caller gives up, the server hears of it, and the connection lives on.
func TestCancel(t *testing.T) {
	for name, server := range servers() {
		t.Run(name, func(t *testing.T) {
			w := new(watcher)
			conn := dial(t, server(t), "", w)
			waited := func(times string) {
				t.Helper()
				eventually(t, times, func() bool {
					return strings.Contains(call(t, conn, "tools/call", `{"name":"waited","arguments":{}}`), times)
				})
			}
			ctx, cancel := context.WithCancel(t.Context())
			given := make(chan error, 1)
			go func() {
				_, err := conn.Call(ctx, "tools/call", json.RawMessage(`{"name":"wait","arguments":{}}`))
				given <- err
			}()
			waited("began 1, ended 0")
			cancel()
			if err := <-given; err != context.Canceled {
				t.Fatalf("got %v", err)
			}
			waited("began 1, ended 1")
			if defects := w.reasons(); len(defects) > 0 {
				t.Errorf("defects %q", defects)
			}
		})
	}
}

// Servers of the older revisions ask, and notify, by themselves: over HTTP on the standing stream.
func TestServerSpeaks(t *testing.T) {
	for _, name := range []string{"stdio legacy", "http legacy", "sse"} {
		t.Run(name, func(t *testing.T) {
			w := &watcher{answer: func(_ context.Context, m *rpc.Message) *rpc.Message {
				return rpc.Reply(nil, json.RawMessage(`{"roots":[{"uri":"file:///a"}]}`))
			}}
			conn := dial(t, servers()[name](t), "2025-11-25", w)
			if got := call(t, conn, "tools/call", `{"name":"ask","arguments":{}}`); !strings.Contains(got, "file:///a") {
				t.Errorf("the server got %s", got)
			}
			// The standing stream may take a moment to open, and misses what came before.
			eventually(t, "the changed list", func() bool {
				call(t, conn, "tools/call", `{"name":"change","arguments":{}}`)
				return w.has("notifications/tools/list_changed")
			})
		})
	}
}

// In 2026-07-28 notifications come in the course of a call that lasts.
func TestSubscription(t *testing.T) {
	for _, name := range []string{"stdio", "http modern"} {
		t.Run(name, func(t *testing.T) {
			w := new(watcher)
			conn := dial(t, servers()[name](t), "", w)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := conn.Call(ctx, "subscriptions/listen", json.RawMessage(`{"notifications":{"toolsListChanged":true}}`))
				ended <- err
			}()
			eventually(t, "the changed list", func() bool {
				call(t, conn, "tools/call", `{"name":"change","arguments":{}}`)
				return w.has("notifications/tools/list_changed")
			})
			cancel()
			if err := <-ended; err != context.Canceled {
				t.Errorf("got %v", err)
			}
		})
	}
}
