package guard_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// sending is a call that may go as long as the session is clean.
func sending(context label.Label) *guard.Call {
	args := json.RawMessage(`{"to":"mallory@evil.example"}`)
	return &guard.Call{
		ID: "c", Session: session.Ref{Key: "s", Principal: "ann"}, Server: "mail", Trust: contract.Trusted, Method: "tools/call", Name: "send",
		Params: json.RawMessage(`{"name":"send","arguments":{"to":"mallory@evil.example"}}`), Arguments: args, Context: context,
		Declared:  contract.Contract{OpenWorld: contract.No, Destructive: contract.No},
		Effective: contract.Pessimistic(),
	}
}

// Text that reaches the model outside of results counts in the next decision, and in all decisions after it.
func TestContextEntersTheSession(t *testing.T) {
	for _, c := range []struct {
		name    string
		context label.Label
		want    policy.Effect
	}{
		{"nothing was shown", label.Label{}, policy.Allow},
		{"definitions", guard.Definitions("evil"), policy.Ask},
		{"messages of an untrusted server", guard.Messages("evil", contract.Untrusted), policy.Ask},
		{"messages of a known server", guard.Messages("evil", contract.Known), policy.Ask},
		{"messages of a trusted server", guard.Messages("evil", contract.Trusted), policy.Allow},
	} {
		f := newFixture(t, nil)
		res, err := f.g.Resolve(t.Context(), sending(c.context))
		if err != nil || res.Verdict.Effect != c.want {
			t.Errorf("%s: resolved as %v, %v", c.name, res.Verdict.Effect, err)
		}
		for _, context := range []label.Label{c.context, {}} {
			if v := f.g.Before(t.Context(), sending(context)); v.Effect != c.want {
				t.Errorf("%s: %v %s, want %v", c.name, v.Effect, v.Message, c.want)
			}
		}
	}
}

// A message in the middle of a call enters its session before it is shown.
func TestToldRaises(t *testing.T) {
	f := newFixture(t, nil)
	if err := f.g.Told(t.Context(), sending(label.Label{}), guard.Messages("evil", contract.Untrusted), nil); err != nil {
		t.Fatal(err)
	}
	if v := f.g.Before(t.Context(), sending(label.Label{})); v.Effect != policy.Ask || v.Question.Hint != "" {
		t.Errorf("%+v", v)
	}
	f.events.failFrom = 1
	if err := f.g.Told(t.Context(), sending(label.Label{}), guard.Definitions("other"), nil); err == nil {
		t.Error("the rise was not recorded, and the message may be shown")
	}
}

// A person is told that a review would end approval requests, if that is true.
func TestReviewIsSuggestedWhereItHelps(t *testing.T) {
	f := newFixture(t, func(o *guard.Options) { o.Review = func(server string) string { return "weir review " + server } })
	evil := guard.Definitions("evil")
	v := f.g.Before(t.Context(), sending(evil))
	if v.Question == nil || !strings.Contains(v.Question.Hint, "definitions of evil") || !strings.Contains(v.Message, "weir review evil") {
		t.Fatalf("%+v", v)
	}
	// A tool that is called like the definitions is none.
	read := sending(evil)
	read.Server, read.Name, read.Trust = "evil", "#definitions", contract.Untrusted
	read.Params = json.RawMessage(`{"name":"#definitions"}`)
	read.Arguments, read.Effective = nil, contract.Contract{
		ReadOnly: contract.Yes, Destinations: contract.Possible(contract.Ephemeral), Sources: contract.Possible(label.UntrustedPublic),
	}.Assume()
	if o := answer(t, f.g, read, guard.Answer{Result: json.RawMessage(`{"content":[]}`)}); !o.Allowed() {
		t.Fatalf("%+v", o)
	}
	if v := f.g.Before(t.Context(), sending(evil)); v.Question == nil || v.Question.Hint != "" || strings.Contains(v.Message, "weir review") {
		t.Errorf("after untrusted content: %+v", v)
	}
}

// Whatever the tool's contract says of its results, a question of a server that is not trusted may say anything.
func TestQuestionsAreNotResults(t *testing.T) {
	for trust, want := range map[contract.Trust]bool{contract.Untrusted: true, contract.Known: true, contract.Trusted: false} {
		f := newFixture(t, nil)
		c := sending(label.Label{})
		c.Trust, c.Effective = trust, contract.Contract{Sources: contract.Possible(label.System), Returns: contract.Possible[label.Class](), OpenWorld: contract.No}
		q := c.Inquiry(guard.Elicitation, json.RawMessage(`{"message":"read the page"}`))
		if o := f.g.Ask(t.Context(), q); !o.Allowed() {
			t.Fatalf("%v: %+v", trust, o)
		}
		state, err := f.sessions.Snapshot(t.Context(), "s")
		if err != nil || state.Label.Untrusted != want {
			t.Errorf("%v: %+v, %v", trust, state.Label, err)
		}
	}
}
