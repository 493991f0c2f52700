package gateway_test

//lint:file-ignore SA1019 logging is deprecated in 2026-07-28, and served all the same

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
)

// A listener is a host that shows log messages and progress.
type listener struct {
	mu     sync.Mutex
	logs   []string
	steps  []float64
	waited chan struct{} // closed when it is told of a wait
}

func (l *listener) options(answer string) *mcp.ClientOptions {
	l.waited = make(chan struct{})
	return &mcp.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.logs = append(l.logs, fmt.Sprintf("%s %s %v", r.Params.Level, r.Params.Logger, r.Params.Data))
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if strings.Contains(r.Params.Message, "waiting for approval: weir approve ") {
				if len(l.steps) == 0 {
					close(l.waited)
				}
				l.steps = append(l.steps, r.Params.Progress)
			}
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if v := r.Session.InitializeResult().ProtocolVersion; v >= "2025-06-18" && v < newEra { // others are asked after the call
				select {
				case <-l.waited:
				case <-time.After(time.Minute):
				}
			}
			return &mcp.ElicitResult{Action: answer, Content: filledIn}, nil
		},
	}
}

// logged waits until something was logged.
func (l *listener) logged(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		all := strings.Join(l.logs, "\n")
		l.mu.Unlock()
		if strings.Contains(all, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not logged: %q in %q", want, all)
		}
	}
}

func wantLogs(t *testing.T, s *mcp.ClientSession, params *mcp.CallToolParams) {
	t.Helper()
	if s.InitializeResult().ProtocolVersion >= newEra {
		params.Meta = mcp.Meta{"io.modelcontextprotocol/logLevel": "notice"}
	} else if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "notice"}); err != nil {
		t.Fatal(err)
	}
	params.SetProgressToken("mine")
}

// TestAHostIsToldThatACallWaits looks at the log and the progress of a call that a person is asked about.
func TestAHostIsToldThatACallWaits(t *testing.T) {
	everyWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession) {
		r := newRig(t, nil)
		var l listener
		s := connect(r, l.options("accept"))
		if s.InitializeResult().Capabilities.Logging == nil {
			t.Error("no logging is offered")
		}
		callTool(t, s, "read_file", map[string]any{"path": "salaries.csv"})
		params := &mcp.CallToolParams{Name: "send_email", Arguments: mailTo}
		wantLogs(t, s, params)
		if _, err := s.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		l.logged(t, `notice weir weir: a person is asked about "send_email" of server mail; weir approvals shows it`)
		select {
		case <-l.waited:
		default:
			if s.InitializeResult().ProtocolVersion < newEra && s.InitializeResult().ProtocolVersion >= "2025-06-18" {
				t.Error("no progress")
			}
		}
	})
}

// TestAHostIsToldOfMaliciousContent has an operator say of a tool that its results are malicious.
func TestAHostIsToldOfMaliciousContent(t *testing.T) {
	everyWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession) {
		for effect, want := range map[string]string{"allow": "is in the agent's context now", "block": "was kept from the agent"} {
			r := newRig(t, func(o *gateway.Options) {
				o.Servers[0].Overlay = maliciousReads(t)
				o.Policy = onMalicious(t, effect)
			})
			var l listener
			s := connect(r, l.options("decline"))
			params := &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"path": "notes.md"}}
			wantLogs(t, s, params)
			for range 2 { // the second one changes no goroutine
				if _, err := s.CallTool(t.Context(), params); err != nil {
					t.Fatal(err)
				}
			}
			l.logged(t, "warning weir weir: malicious content "+want+`; it came with "read_file" of server files`)
		}
	})
}

// maliciousReads is an overlay by which whatever read_file returns is malicious: in plain text nothing can be read at the path.
func maliciousReads(t *testing.T) *overlay.Overlay {
	t.Helper()
	return mustOverlay(t, "files", `
version: 1
overlays:
  - name: files
    match: [{server: files}]
    tools:
      read_file:
        results: [{path: $.verdict, label: {malicious: true}}]
`)
}

// mustOverlay returns the overlay of a server in a file.
func mustOverlay(t *testing.T, server, src string) *overlay.Overlay {
	t.Helper()
	set, err := overlay.Load("o.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return set.For(overlay.Server{Name: server})
}

func onMalicious(t *testing.T, effect string) *policy.Policy {
	t.Helper()
	if effect == "allow" {
		return mustLoad(t, "version: 1\nrules: []\n")
	}
	return mustLoad(t, `version: 1
rules:
  - {name: malicious, when: result, if: response.annotations.maliciousActivityHint, effect: `+effect+`, message: malicious}
`)
}
