package gateway_test

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

func mustLoad(t *testing.T, rules string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("p.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A guarded host answers servers as a helpful one does, and Weir's own questions with an action. It keeps count.
type guardedHost struct {
	action    string
	approvals []string // the questions of Weir
	forms     int      // that a server had filled in
}

func (h *guardedHost) options() *mcp.ClientOptions {
	o := helpful("accept")
	fill := o.ElicitationHandler
	o.ElicitationHandler = func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		if strings.Contains(r.Params.Message, "Why you are asked") {
			h.approvals = append(h.approvals, r.Params.Message)
			return &mcp.ElicitResult{Action: h.action, Content: filledIn}, nil
		}
		h.forms++
		return fill(ctx, r)
	}
	return o
}

// answered calls a tool and returns the result; an error of any kind is "refused".
func answered(t *testing.T, s *mcp.ClientSession, tool string) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
	if err != nil || res.IsError {
		return "refused"
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// TestWhatIsTypedMakesTheSessionPrivate lets a person fill in a form, and then has the model write for the same server: the
// first goes through and raises the session, so the second is asked about.
func TestWhatIsTypedMakesTheSessionPrivate(t *testing.T) {
	for action, want := range map[string]string{"accept": "model paris", "decline": "refused"} {
		t.Run(action, func(t *testing.T) {
			pairings(t, func(t *testing.T, p *pairing) {
				h := &guardedHost{action: action}
				s := p.connect(t, h.options())
				if got := answered(t, s, "model"); got != "model paris" || len(h.approvals) != 0 {
					t.Errorf("before: %s, asked %q", got, h.approvals)
				}
				if got := answered(t, s, "form"); got != "accept ann" || len(h.approvals) != 0 {
					t.Errorf("form: %s, asked %q", got, h.approvals)
				}
				if got := answered(t, s, "model"); got != want || len(h.approvals) != 1 {
					t.Errorf("model: %s, want %s; asked %q", got, want, h.approvals)
				}
				for _, shown := range []string{"Let server asker have ", "paris", "mcp://asker/elicitation/create"} {
					if !strings.Contains(strings.Join(h.approvals, ""), shown) {
						t.Errorf("the question does not show %q: %q", shown, h.approvals)
					}
				}
				if !p.raised(t, "elicitation/create") || p.raised(t, "roots/list") {
					t.Error("what was typed has to raise the session, and nothing else of the host's")
				}
			})
		})
	}
}

// raised reports whether an answer to a question with this method made the session private.
func (p *pairing) raised(t *testing.T, method string) bool {
	for _, e := range p.recorded(t, record.Label) {
		if e.Method == method && e.Label.Private {
			return true
		}
	}
	return false
}

func withRule(t *testing.T, when, condition, effect string) func(*gateway.Options) {
	p := mustLoad(t, "version: 1\nrules:\n- {name: r, when: "+when+`, if: "`+condition+`", effect: `+effect+", message: why}\n")
	return func(o *gateway.Options) { o.Policy = p }
}

// TestRulesDecideOnQuestionsAndAnswers has each direction of each kind blocked, and asked about, in every pairing.
func TestRulesDecideOnQuestionsAndAnswers(t *testing.T) {
	for _, c := range []struct {
		name, when, condition, effect string
		action                        string // of the person whom Weir asks
		form, model, roots            string // the results of the server's tools
		forms, approvals              int
	}{
		{"no forms", "result", "call.method == 'elicitation/create'", "block", "", "refused", "model paris", "0 roots", 0, 0},
		{"no such form", "result", "has(call.arguments.message) && call.arguments.message == 'your name?'", "block", "", "refused", "model paris", "0 roots", 0, 0},
		{"no typed answers", "call", "call.method == 'elicitation/create'", "block", "", "refused", "model paris", "0 roots", 1, 0},
		{"nobody called ann", "call", "has(call.arguments.name) && call.arguments.name == 'ann'", "block", "", "refused", "model paris", "0 roots", 1, 0},
		{"no questions to models", "result", "call.method == 'sampling/createMessage'", "block", "", "accept ann", "refused", "0 roots", 1, 0},
		{"no answers of models", "call", "call.method == 'sampling/createMessage'", "block", "", "accept ann", "refused", "0 roots", 1, 0},
		{"no questions for folders", "result", "call.method == 'roots/list'", "block", "", "accept ann", "model paris", "refused", 1, 0},
		{"no folders", "call", "call.method == 'roots/list'", "block", "", "accept ann", "model paris", "refused", 1, 0},
		{"a form is asked about", "result", "call.method == 'elicitation/create'", "ask", "accept", "accept ann", "model paris", "0 roots", 1, 1},
		{"a form is declined", "result", "call.method == 'elicitation/create'", "ask", "decline", "refused", "model paris", "0 roots", 0, 1},
		{"an answer is asked about", "call", "call.method == 'roots/list'", "ask", "accept", "accept ann", "model paris", "0 roots", 1, 1},
		{"an answer is declined", "call", "call.method == 'roots/list'", "ask", "decline", "accept ann", "model paris", "refused", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, host := range []string{oldEra, newEra} {
				for _, server := range []string{oldEra, newEra} {
					t.Run(host+" "+server, func(t *testing.T) {
						t.Parallel()
						p := newPairing(t, host, server, "stdio", withRule(t, c.when, c.condition, c.effect))
						h := &guardedHost{action: c.action}
						s := p.connect(t, h.options())
						for _, tool := range []struct{ name, want string }{{"form", c.form}, {"model", c.model}, {"roots", c.roots}} {
							if got := answered(t, s, tool.name); got != tool.want {
								t.Errorf("%s: %s, want %s", tool.name, got, tool.want)
							}
						}
						if h.forms != c.forms || len(h.approvals) != c.approvals {
							t.Errorf("%d forms and %d approvals, want %d and %d", h.forms, len(h.approvals), c.forms, c.approvals)
						}
					})
				}
			}
		})
	}
}

// TestOnlyServersAsk has a host send messages that only servers send: a policy may take these methods for proof of that.
func TestOnlyServersAsk(t *testing.T) {
	p := newPairing(t, newEra, newEra, "stdio")
	w := p.wire(t)
	for _, method := range []string{"elicitation/create", "sampling/createMessage", "roots/list"} {
		answer := w.ask(`{"jsonrpc":"2.0","id":"` + method + `","method":"` + method + `","params":{"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		if !strings.Contains(answer, "-32601") {
			t.Errorf("%s: %s", method, answer)
		}
	}
}

// TestRefusedQuestionsHoldNothing has more questions refused than calls can be held open: each refusal ends its call.
func TestRefusedQuestionsHoldNothing(t *testing.T) {
	p := newPairing(t, newEra, oldEra, "stdio", withRule(t, "result", "call.method == 'elicitation/create'", "block"))
	r := &retry{wire: p.wire(t)}
	for range 40 {
		if answer := r.call("form", ""); !strings.Contains(answer, "blocked by weir: why") {
			t.Fatal(answer)
		}
	}
}
