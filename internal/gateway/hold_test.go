package gateway_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/approve"
)

// TestHold has hosts that cannot ask wait for a person elsewhere, as far as they hear of that as progress. Whatever comes, the call goes once
// at most, and only after a yes.
func TestHold(t *testing.T) {
	const long = time.Hour
	for _, c := range []struct {
		name  string
		rule  gateway.HostAnswers
		said  approve.Answer // elsewhere, while the host waits; "" for none
		token bool
		sent  int
		open  int
	}{
		{"a yes", gateway.HostAnswers{Hold: long}, approve.Accepted, true, 1, 0},
		{"a yes, and hosts do not count", gateway.HostAnswers{Hold: long, None: true}, approve.Accepted, true, 1, 0},
		{"a no", gateway.HostAnswers{Hold: long}, approve.Declined, true, 0, 0},
		{"the end of the session", gateway.HostAnswers{Hold: long}, approve.Ended, true, 0, 0},
		{"nobody", gateway.HostAnswers{Hold: time.Millisecond}, "", true, 0, 1},
		{"no progress", gateway.HostAnswers{Hold: long}, "", false, 0, 1},
		{"no hold", gateway.HostAnswers{}, "", true, 0, 1},
	} {
		for _, protocol := range []string{"2025-06-18", "2026-07-28"} {
			t.Run(c.name+"/"+protocol, func(t *testing.T) {
				r, book := elsewhere(t, func(o *gateway.Options) { o.HostAnswers = c.rule })
				var once sync.Once
				s := r.stdio(t, protocol, &mcp.ClientOptions{
					ProgressNotificationHandler: func(_ context.Context, p *mcp.ProgressNotificationClientRequest) {
						if !strings.Contains(p.Params.Message, "weir approve ") {
							t.Errorf("progress: %q", p.Params.Message)
						}
						if c.said != "" {
							once.Do(func() { answerAll(t, book, c.said) })
						}
					},
				})
				callTool(t, s, "read_file", map[string]any{"path": "salaries.csv"})
				params := &mcp.CallToolParams{Name: "send_email", Arguments: mailTo}
				if c.token {
					params.SetProgressToken("p")
				}
				result, err := s.CallTool(t.Context(), params)
				if n := r.mails(t); err != nil || n != c.sent || result.IsError != (c.sent == 0) {
					t.Fatalf("%d mails, want %d: %+v, %v", n, c.sent, result, err)
				}
				if c.open == 1 && !strings.Contains(textOf(result), "Have the user run weir approve ") {
					t.Errorf("the refusal: %s", textOf(result))
				}
				if n := answerAll(t, book, approve.Accepted); n != c.open {
					t.Fatalf("%d requests are open, want %d", n, c.open)
				}
				if c.said == approve.Ended {
					return
				}
				if callTool(t, s, "send_email", mailTo); r.mails(t) != c.sent+c.open {
					t.Errorf("made again: %d mails", r.mails(t))
				}
			})
		}
	}
}
