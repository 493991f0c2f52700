package gateway_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/demo/servers"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// elsewhere makes a rig whose questions another process can answer, and the book of that process.
func elsewhere(t *testing.T, change ...func(*gateway.Options)) (*rig, *approve.Book) {
	st := store.NewMemory(nil)
	r := newRig(t, func(o *gateway.Options) {
		o.Approvals = st
		for _, f := range change {
			f(o)
		}
	})
	return r, approve.NewBook(approve.Options{Record: record.Discard(), Store: st})
}

// answerAll answers every open question, and returns how many there were. The end of a session answers those that are left.
func answerAll(t *testing.T, book *approve.Book, a approve.Answer) int {
	t.Helper()
	open, err := book.List(t.Context(), agentsession.LocalPrincipal)
	if err != nil {
		t.Error(err)
	}
	for _, p := range open {
		if err := book.Answer(t.Context(), approve.Reply{ID: p.ID, Principal: agentsession.LocalPrincipal, Answer: a, Via: "test"}); err != nil && a != approve.Ended {
			t.Error(err)
		}
	}
	return len(open)
}

func (r *rig) mails(t *testing.T) int {
	t.Helper()
	out, err := servers.ReadOutbox(r.data["mail"])
	if err != nil {
		t.Fatal(err)
	}
	return len(out)
}

// TestTheFirstAnswerCounts has a question answered elsewhere while the host's dialog is open.
func TestTheFirstAnswerCounts(t *testing.T) {
	everyWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession) {
		for _, c := range []struct {
			first approve.Answer
			host  string // the answer of the person at the host then; "" while they say nothing, as far as the host asks at all
			sent  int
		}{
			{approve.Accepted, "accept", 1}, {approve.Declined, "accept", 0}, {approve.Declined, "decline", 0},
			{approve.Ended, "accept", 0}, {approve.Accepted, "", 1}, {approve.Declined, "", 0},
		} {
			r, book := elsewhere(t)
			s := connect(r, &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				if n := answerAll(t, book, c.first); n != 1 {
					t.Errorf("%d questions", n)
				}
				if c.host != "" {
					return &mcp.ElicitResult{Action: c.host, Content: filledIn}, nil
				}
				select {
				case <-ctx.Done():
				case <-time.After(200 * time.Millisecond): // a host of 2026-07-28 is not told
				}
				return &mcp.ElicitResult{Action: "accept", Content: filledIn}, nil
			}})
			callTool(t, s, "read_file", map[string]any{"path": "salaries.csv"})
			// The SDK's client may give up on a refused retry with an error; the message that was sent counts.
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "send_email", Arguments: mailTo})
			if n := r.mails(t); n != c.sent {
				t.Errorf("%s elsewhere, then %q: %d mails, want %d; error %v", c.first, c.host, n, c.sent, err)
			}
		}
	})
}

// TestAnswersOfHostsThatDoNotCount has hosts answer an approval request in ways that are no person's, or no person's who may: nothing is sent,
// and the request stays open, unless a person said no.
func TestAnswersOfHostsThatDoNotCount(t *testing.T) {
	for _, c := range []struct {
		name    string
		rule    gateway.HostAnswers
		action  string
		content map[string]any
		asked   bool // the host is
		sent    int
		open    int
	}{
		{"a yes", gateway.HostAnswers{}, "accept", filledIn, true, 1, 0},
		{"a yes in time", gateway.HostAnswers{Pace: time.Nanosecond}, "accept", filledIn, true, 1, 0},
		{"a yes at once", gateway.HostAnswers{Pace: time.Hour}, "accept", filledIn, true, 0, 1},
		{"a no at once", gateway.HostAnswers{Pace: time.Hour}, "decline", nil, true, 0, 1},
		{"a host that dismisses all at once", gateway.HostAnswers{Pace: time.Hour}, "cancel", nil, true, 0, 1},
		{"hosts do not count", gateway.HostAnswers{None: true}, "accept", filledIn, false, 0, 1},
		{"a form without a choice", gateway.HostAnswers{}, "accept", nil, true, 0, 1},
		{"a form with another choice", gateway.HostAnswers{}, "accept", map[string]any{"allow": "once"}, true, 0, 1},
		{"a form that says no", gateway.HostAnswers{}, "accept", map[string]any{"approve": false}, true, 0, 0},
		{"a no", gateway.HostAnswers{}, "decline", nil, true, 0, 0},
	} {
		for _, protocol := range []string{"2025-06-18", "2026-07-28"} {
			t.Run(c.name+"/"+protocol, func(t *testing.T) {
				r, book := elsewhere(t, func(o *gateway.Options) { o.HostAnswers = c.rule })
				asked := false
				s := r.stdio(t, protocol, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked = true
					return &mcp.ElicitResult{Action: c.action, Content: c.content}, nil
				}})
				callTool(t, s, "read_file", map[string]any{"path": "salaries.csv"})
				// The SDK's client may give up on a refused retry with an error; what counts is what was sent.
				_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "send_email", Arguments: mailTo})
				if n := r.mails(t); n != c.sent || asked != c.asked {
					t.Errorf("%d mails, want %d; asked: %t; %v", n, c.sent, asked, err)
				}
				if n := answerAll(t, book, approve.Accepted); n != c.open {
					t.Fatalf("%d requests are open, want %d", n, c.open)
				}
				if c.open == 1 {
					if callTool(t, s, "send_email", mailTo); r.mails(t) != 1 {
						t.Error("a request that was accepted elsewhere does not let the call through")
					}
				}
			})
		}
	}
}

// TestHastyHosts has a host accept a form at once, and the same call again later. The request has waited by then, and the host is still nobody.
func TestHastyHosts(t *testing.T) {
	for _, protocol := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			const pace = 3 * time.Second
			r, book := elsewhere(t, func(o *gateway.Options) { o.HostAnswers.Pace = pace })
			var asked []string
			s := r.stdio(t, protocol, person("accept", &asked))
			callTool(t, s, "read_file", map[string]any{"path": "salaries.csv"})
			// The SDK's client may give up on a refused retry with an error; the message that was sent counts.
			_, _ = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "send_email", Arguments: mailTo})
			time.Sleep(pace)
			_, _ = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "send_email", Arguments: mailTo})
			if n := r.mails(t); n != 0 || len(asked) != 1 {
				t.Errorf("%d mails after %d requests", n, len(asked))
			}
			if n := answerAll(t, book, approve.Accepted); n != 1 {
				t.Errorf("%d requests are open", n)
			}
		})
	}
}

// TestAnAnswerAfterTheCall accepts the question of a host that cannot ask, and has the call made again, changed and unchanged.
func TestAnAnswerAfterTheCall(t *testing.T) {
	r, book := elsewhere(t)
	s := r.stdio(t, "2025-11-25", nil)
	callTool(t, s, "read_file", map[string]any{"path": "salaries.csv"})
	if _, text := callTool(t, s, "send_email", mailTo); !strings.Contains(text, "the request waits in Weir") {
		t.Error(text)
	}
	if n := answerAll(t, book, approve.Accepted); n != 1 {
		t.Fatalf("%d questions", n)
	}
	swapped := maps.Clone(mailTo)
	swapped["to"] = "mallory@evil.example"
	callTool(t, s, "send_email", swapped)
	if n := r.mails(t); n != 0 {
		t.Errorf("%d mails left with other arguments", n)
	}
	callTool(t, s, "send_email", mailTo)
	callTool(t, s, "send_email", mailTo)
	if n := r.mails(t); n != 1 {
		t.Errorf("%d mails for one acceptance", n)
	}
	if n := answerAll(t, book, approve.Ended); n != 2 {
		t.Errorf("%d questions at the end", n)
	}
	time.Sleep(600 * time.Millisecond) // the answer in another process counts within half a second
	if res, text := callTool(t, s, "read_file", map[string]any{"path": "notes.md"}); !res.IsError || !strings.Contains(text, "ended this agent session") {
		t.Errorf("after the end: %s", text)
	}
}
