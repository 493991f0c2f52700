package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

const hideAndAsk = hideAll + "- {name: ask, when: call, effect: ask, if: call.egress && !call.plainRead, message: it sends}\n"

// A plan is approved once, and its calls then go unasked, as often as it says and no others: also in another process.
func TestAPlanIsApprovedOnce(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		st := store.NewMemory(nil)
		h := newLeakyHost(t, modern, func(o *gateway.Options) {
			p, err := policy.Load("p.yaml", []byte(hideAndAsk))
			if err != nil {
				t.Fatal(err)
			}
			o.Policy, o.Approvals = p, st
		})
		book := approve.NewBook(approve.Options{Record: record.Discard(), Store: st})
		h.says(leak{nil, `"result":{"content":[{"type":"text","text":"{\"n\":7}"}]}`})
		plan := `{"goal":"tell them","steps":[{"id":"in","tool":"inbox","arguments":{}},{"id":"out","tool":"post","arguments":{"text":"seven"},` +
			`"repeat":2},{"id":"sum","tool":"post","arguments":{"text":"sum","account":{"from":"in","type":"number"}}}]}`
		if answer := string(h.call("weir_plan", plan)); !strings.Contains(answer, "weir approve") {
			t.Fatalf("nobody is asked: %s", answer)
		}
		open, err := book.List(t.Context(), "local")
		if err != nil || len(open) != 1 {
			t.Fatalf("%d requests, %v", len(open), err)
		}
		text := open[0].Prompt.Text()
		for _, want := range []string{
			"Allow the calls of this plan, 3 steps?\nIt may be impossible to undo; its data may become public.",
			`"tell them"`, `"post" of server s, up to 2 times.`, `{"text":"seven"}`, "Not covered by a yes: a placeholder may say where it goes.",
			`in "account", any number from the result of step in`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the request has no %q:\n%s", want, text)
			}
		}
		if n := answerAll(t, book, approve.Accepted); n != 1 {
			t.Fatalf("%d requests", n)
		}
		if answer := string(h.call("weir_plan", plan)); !strings.Contains(answer, `\"approved\":true`) {
			t.Fatalf("not approved: %s", answer)
		}
		h.says(leak{nil, `"result":{"content":[{"type":"text","text":"done"}]}`})
		for i, want := range []bool{true, true, false} {
			answer := string(h.call("post", `{"text":"seven"}`))
			if got := !strings.Contains(answer, "weir approve"); got != want {
				t.Errorf("call %d: %s", i+1, answer)
			}
		}
		if answer := string(h.call("post", `{"text":"eight"}`)); !strings.Contains(answer, "weir approve") {
			t.Errorf("outside of the plan: %s", answer)
		}
	})
}

// Plans that a person could not judge are refused, with the reason, and nobody is asked.
func TestPlansAreRefused(t *testing.T) {
	h := newLeakyHost(t, false, nil)
	step := func(s string) string { return fmt.Sprintf(`{"goal":"g","steps":[%s]}`, s) }
	for plan, want := range map[string]string{
		`{}`:                                    "from 1 to 24 steps",
		`{"steps":[],"x":1}`:                    "not those of the tool's schema",
		step(`{"id":"a","tool":"nobody"}`):      "unknown tool",
		step(`{"id":"a","tool":"weir_reveal"}`): "no part of plans",
		step(`{"id":"a","tool":"post","arguments":{"text":"[[w12345]]"}}`):                        "a handle of a value is no constant",
		step(`{"id":"a","tool":"post","arguments":{"text":{"from":"b","type":"number"}}}`):        "from no earlier step",
		step(`{"id":"a","tool":"post"},{"id":"a","tool":"post"}`):                                 "the same id",
		step(`{"id":"a\n","tool":"post"}`):                                                        "an id has",
		step(`{"id":"a","tool":"post","repeat":99}`):                                              "repeat is from 1 to 32",
		step(`{"id":"a","tool":"post","arguments":{"text":"` + strings.Repeat("x", 6000) + `"}}`): "a person has to read all of it",
	} {
		if answer := string(h.call("weir_plan", plan)); !strings.Contains(answer, want) || !strings.Contains(answer, `"isError":true`) {
			t.Errorf("%.80s: %s, want %s", plan, answer, want)
		}
	}
}

// Each way of asking a person brings the answer to the plan, and declining gives nothing.
func TestAPlanIsAskedAboutAtTheHost(t *testing.T) {
	everyWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession) {
		for action, sent := range map[string]int{"accept": 1, "decline": 0} {
			r := newRig(t, func(o *gateway.Options) {
				p, err := policy.Load("p.yaml", []byte(hideAndAsk))
				if err != nil {
					t.Fatal(err)
				}
				o.Policy = p
			})
			var asked []string
			s := connect(r, person(action, &asked))
			step := map[string]any{"id": "a", "tool": "send_email", "arguments": mailTo}
			got, _ := callTool(t, s, "weir_plan", map[string]any{"goal": "tell the accountant", "steps": []any{step}})
			if len(asked) != 1 && !(len(asked) == 0 && s.InitializeResult().ProtocolVersion < "2025-06-18") {
				t.Fatalf("%s: %d requests, %+v", action, len(asked), got)
			}
			asks := len(asked)
			if action == "decline" || asks == 0 {
				continue
			}
			callTool(t, s, "send_email", mailTo)
			if n := r.mails(t); n != sent || len(asked) != asks {
				t.Errorf("%s: %d mails, want %d; %d requests", action, n, sent, len(asked))
			}
		}
	})
}

// Plans are offered without hidden results where the configuration says so: the agent gets that tool alone, other
// tools stay as they are, and typed values of results that the agent reads fill placeholders.
func TestPlansWithoutHiddenResults(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		for _, offered := range []bool{false, true} {
			h := newLeakyHost(t, modern, func(o *gateway.Options) {
				p, err := policy.Load("p.yaml", []byte("version: 1\nrules:\n- {name: ask, when: call, effect: ask, if: session.untrusted && !call.plainRead}\n"))
				if err != nil {
					t.Fatal(err)
				}
				o.Policy, o.Plans.Offered = p, offered
			})
			list := string(h.request("tools/list", ""))
			if got := strings.Contains(list, `"weir_plan"`); got != offered || strings.Contains(list, "weir_reveal") || strings.Contains(list, `w[0-9]`) {
				t.Errorf("offered %v: %s", offered, list)
			}
			step := `{"goal":"g","check":true,"steps":[{"id":"a","tool":"inbox","arguments":{}},{"id":"b","tool":"post","arguments":{"text":"x"}}]}`
			for range 40 { // more than the bits of looks would allow
				answer := string(h.call("weir_plan", step))
				if got := strings.Contains(answer, `\"effect\":\"ask\"`) && strings.Contains(answer, "nobody was asked"); got != offered {
					t.Fatalf("offered %v: %s", offered, answer)
				}
			}
			if answer := string(h.call("weir_reveal", `{"value":"w12345"}`)); !strings.Contains(answer, "unknown tool") {
				t.Errorf("weir_reveal: %s", answer)
			}
		}
	})
}

// A plan does not count, whoever has approved it, if the call that submits it is blocked.
func TestPlansOfBlockedCalls(t *testing.T) {
	template, err := plan.ParseTemplate("free", json.RawMessage(`{"goal":"g","approved":true,"steps":[{"id":"a","tool":"post","arguments":{"text":"x"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for rule, goes := range map[string]bool{"": true, `- {name: none, when: call, effect: block, if: tool.name == "weir_plan"}`: false} {
		p, err := policy.Load("p.yaml", []byte("version: 1\nrules:\n- {name: warn, when: call, effect: warn, if: tool.name == \"x\"}\n"+rule+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		h := newLeakyHost(t, true, func(o *gateway.Options) {
			o.Policy, o.Plans.Offered, o.Plans.Strict = p, true, true
			o.Plans.Templates = map[string]*plan.Template{"free": template}
		})
		h.says(leak{nil, `"result":{"content":[{"type":"text","text":"done"}]}`})
		if answer := string(h.call("weir_plan", `{"template":"free"}`)); strings.Contains(answer, `\"approved\":true`) != goes {
			t.Errorf("%s: %s", rule, answer)
		}
		if answer := string(h.call("post", `{"text":"x"}`)); strings.Contains(answer, "done") != goes {
			t.Errorf("%s: %s", rule, answer)
		}
	}
}
