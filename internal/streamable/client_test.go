package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/streamable"
)

var revisions = []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// connect connects a client of the official SDK.
func connect(t *testing.T, url, version string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting with %s: %v", version, err)
	}
	if got := s.InitializeResult().ProtocolVersion; got != version {
		t.Errorf("negotiated %s, want %s", got, version)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func text(r *mcp.CallToolResult) string {
	if len(r.Content) == 1 {
		if c, ok := r.Content[0].(*mcp.TextContent); ok {
			return c.Text
		}
	}
	return fmt.Sprintf("%+v", r)
}

func callTool(t *testing.T, s *mcp.ClientSession, name string, args any) string {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("calling %s: %v", name, err)
	}
	return text(r)
}

func TestClients(t *testing.T) {
	for _, version := range revisions {
		t.Run(version, func(t *testing.T) {
			y := newToy()
			url, _ := start(t, y, streamable.Options{})
			changed := make(chan string, 10)
			progress := make(chan float64, 10)
			s := connect(t, url, version, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- "yes" },
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					progress <- r.Params.Progress
				},
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"ok": true}}, nil
				},
			})
			list, err := s.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != 2 {
				t.Fatalf("tools/list: %v, %v", list, err)
			}
			if got := callTool(t, s, "echo", map[string]any{"größe": "1 €"}); got != `{"größe":"1 €"}` {
				t.Errorf("echo returned %s", got)
			}

			params := &mcp.CallToolParams{Name: "progress"}
			params.SetProgressToken("p")
			if _, err := s.CallTool(t.Context(), params); err != nil {
				t.Errorf("progress: %v", err)
			}
			for want := range 3 {
				if got := <-progress; got != float64(want+1) {
					t.Errorf("progress %v, want %d", got, want+1)
				}
			}

			if version < "2026-07-28" {
				if got := callTool(t, s, "ask", nil); !strings.Contains(got, `"ok":true`) {
					t.Errorf("ask returned %s", got)
				}
				callTool(t, s, "change", nil)
			} else {
				close(y.changed) // goes to the subscription
			}
			select {
			case <-changed:
			case <-time.After(patience):
				t.Error("no list_changed")
			}
			if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "nonesuch"}); err == nil ||
				!strings.Contains(err.Error(), "no such tool") {
				t.Errorf("calling a tool that does not exist: %v", err)
			}
		})
	}
}

func TestClientCancels(t *testing.T) {
	for _, version := range revisions {
		t.Run(version, func(t *testing.T) {
			y := newToy()
			url, _ := start(t, y, streamable.Options{})
			s := connect(t, url, version, nil)
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() {
				_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
				result <- err
			}()
			eventually(t, "call runs", func() bool { return y.get("wait") == 1 })
			cancel()
			if err := <-result; !errors.Is(err, context.Canceled) {
				t.Errorf("call returned %v", err)
			}
			eventually(t, "call is cancelled", func() bool { return y.get("wait") == 0 })
			if got := callTool(t, s, "echo", 1); got != "1" {
				t.Errorf("echo after a cancelled call returned %s", got)
			}
		})
	}
}

// Calls and questions of one client run at the same time, and each gets its own answer.
func TestClientConcurrency(t *testing.T) {
	for _, version := range revisions {
		t.Run(version, func(t *testing.T) {
			y := newToy()
			url, _ := start(t, y, streamable.Options{})
			s := connect(t, url, version, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "decline"}, nil
				},
			})
			errs := make(chan error)
			const n = 40
			for i := range n {
				go func() {
					name, want := "echo", fmt.Sprint(i)
					if i%2 == 0 && version < "2026-07-28" {
						name, want = "ask", `{"action":"decline"}`
					}
					r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: i})
					if err == nil && text(r) != want {
						err = fmt.Errorf("%s %d returned %s", name, i, text(r))
					}
					errs <- err
				}()
			}
			for range n {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A client whose session was deleted learns so.
func TestClientSessionMissing(t *testing.T) {
	y := newToy()
	url, _ := start(t, y, streamable.Options{})
	s := connect(t, url, "2025-11-25", nil)
	if resp, _ := (call{method: "DELETE", session: s.ID()}).do(t, url); resp.StatusCode != 204 {
		t.Fatalf("DELETE: %s", resp.Status)
	}
	eventually(t, "session ends", func() bool { return y.get("conn") == 0 })
	_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
	if !errors.Is(err, mcp.ErrSessionMissing) {
		t.Errorf("a call in a deleted session: %v", err)
	}
}

func TestClientLargeMessages(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			url, _ := start(t, newToy(), streamable.Options{})
			s := connect(t, url, version, nil)
			big := strings.Repeat("x", 2<<20)
			if got := callTool(t, s, "echo", big); got != `"`+big+`"` {
				t.Errorf("echo of %d bytes returned %d", len(big), len(got))
			}
		})
	}
}
