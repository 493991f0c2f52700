package guard_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		name, method, answer string
		arguments            string // "" for none
		typed                bool   // it makes the session private
	}{
		{"a form", guard.Elicitation, `{"action":"accept","content":{"name":"ann"}}`, `{"name":"ann"}`, true},
		{"a form and metadata", guard.Elicitation, `{"_meta":{"x":1},"action":"accept","content":{"name":"ann"}}`, `{"name":"ann"}`, true},
		{"an empty form", guard.Elicitation, `{"action":"accept","content":{}}`, ``, false},
		{"no content", guard.Elicitation, `{"action":"decline"}`, ``, false},
		{"null", guard.Elicitation, `{"action":"cancel","content":null}`, ``, false},
		{"content that is no object", guard.Elicitation, `{"action":"accept","content":"ann"}`, `{"action":"accept","content":"ann"}`, true},
		{"more than the specification knows", guard.Elicitation, `{"action":"accept","note":"ann"}`, `{"action":"accept","note":"ann"}`, true},
		{"an action that is none", guard.Elicitation, `{"action":"ann"}`, `{"action":"ann"}`, true},
		{"no object", guard.Elicitation, `"ann"`, `"ann"`, true},
		{"a model", guard.Sampling, `{"role":"assistant","content":{}}`, `{"role":"assistant","content":{}}`, false},
		{"a model that acts as a form", guard.Sampling, `{"action":"accept"}`, `{"action":"accept"}`, false},
		{"folders", guard.Roots, `{"roots":[]}`, `{"roots":[]}`, false},
	} {
		f := newFixture(t, nil)
		reply := call("ask", fetchPage, `{}`).Inquiry(c.method, nil).Reply(raw(c.answer))
		if string(reply.Arguments) != c.arguments {
			t.Errorf("%s: arguments %s, want %s", c.name, reply.Arguments, c.arguments)
		}
		v := f.g.Before(t.Context(), reply)
		if !v.Allowed() || string(v.Params) != c.answer {
			t.Errorf("%s: %+v", c.name, v)
		}
		l := f.label(t)
		if l.Private != c.typed || l.Sources.Has(label.UserSource) != c.typed {
			t.Errorf("%s: the session is %+v", c.name, l)
		}
	}
}

// A template describes calls of its tool, and neither the questions that its server asks meanwhile nor their answers.
func TestDisplayIsOfTheCall(t *testing.T) {
	p, err := policy.Load("p.yaml", []byte("version: 1\ndefault: ask\nrules: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *guard.Options) { o.Policy = p })
	c := call("tool", readSalaries, `{"name":"tool","arguments":{}}`)
	c.Display = "read all"
	answer := c.Inquiry(guard.Elicitation, nil).Reply(raw(`{"action":"accept","content":{"name":"ann"}}`))
	for name, test := range map[string]struct {
		call *guard.Call
		want string
	}{"call": {c, "read all"}, "answer": {answer, ""}} {
		v := f.g.Before(t.Context(), test.call)
		if v.Question == nil || v.Question.Display != test.want {
			t.Errorf("%s: %+v", name, v.Question)
		}
	}
}

func TestReplyMethod(t *testing.T) {
	for answer, want := range map[string]string{
		`{"action":"accept"}`:                           guard.Elicitation,
		`{"content":{"a":1},"action":"accept"}`:         guard.Elicitation,
		`{"action":"accept","_meta":{}}`:                guard.Elicitation,
		`{"roots":[],"_meta":{}}`:                       guard.Roots,
		`{"role":"assistant","content":{},"model":"m"}`: guard.Sampling,
		`{"action":"accept","role":"assistant"}`:        guard.Sampling,
		`{"action":"accept","content":{},"roots":[]}`:   guard.Sampling,
		`{"action content":1}`:                          guard.Sampling,
		`{"content":{}}`:                                guard.Sampling,
		`{}`:                                            guard.Sampling,
		`[]`:                                            guard.Sampling,
		`"accept"`:                                      guard.Sampling,
	} {
		if got := guard.ReplyMethod(raw(answer)); got != want {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
	}
}

func TestQuestionsOfServers(t *testing.T) {
	for _, c := range []struct {
		name, method, params string
		declared             contract.Contract
		untrusted, private   bool
	}{
		{"of a stranger", guard.Sampling, `{"messages":[]}`, fetchPage, true, false},
		{"of an internal tool", guard.Elicitation, `{"message":"who?"}`, readSalaries, false, true},
		{"without a word", guard.Roots, ``, fetchPage, false, false},
		{"with nothing but metadata", guard.Roots, `{"_meta":{"progressToken":1}}`, fetchPage, false, false},
	} {
		f := newFixture(t, nil)
		inquiry := call("ask", c.declared, `{}`).Inquiry(c.method, raw(c.params))
		f.g.Ask(t.Context(), inquiry)
		if l := f.label(t); l.Untrusted != c.untrusted || l.Private != c.private {
			t.Errorf("%s: the session is %+v", c.name, l)
		}
		i := slices.IndexFunc(f.events.all, func(e *record.Event) bool { return e.Kind == record.Decision })
		if e := f.events.all[max(i, 0)]; i < 0 || e.Method != c.method || e.Phase != "result" || e.Call != "call-ask" {
			t.Errorf("%s: recorded %+v", c.name, e)
		}
	}
}

// TestAnsweringIsNotReading holds the contract of an answer: whatever the tool says of itself, an answer gives it something.
func TestAnsweringIsNotReading(t *testing.T) {
	f := newFixture(t, nil)
	f.run(t, call("read_file", readSalaries, `{}`), okResult)
	ask := call("ask", fetchPage, `{}`)
	if v := f.g.Before(t.Context(), ask); !v.Allowed() {
		t.Fatalf("the call itself only reads: %+v", v)
	}
	v := f.g.Before(t.Context(), ask.Inquiry(guard.Sampling, nil).Reply(raw(`{"content":{}}`)))
	if v.Effect != policy.Ask || v.Rule != "ask-before-private-data-leaves" {
		t.Errorf("%+v", v)
	}
	if !v.Question.Asks("tools/call", raw(`{}`)) || v.Question.Asks(guard.Sampling, raw(`{"content":{}}`)) {
		t.Error("the question comes up in the middle of the call")
	}
}

func TestOnlyServersAsk(t *testing.T) {
	f := newFixture(t, nil)
	for _, method := range []string{guard.Elicitation, guard.Sampling, guard.Roots} {
		c := call("x", contract.Contract{}, `{}`)
		c.Method = method
		if v := f.g.Before(t.Context(), c); v.Effect != policy.Block || v.Rule != guard.RuleInternal {
			t.Errorf("%s: %+v", method, v)
		}
	}
}

// TestFurtherRounds has policy ask about a call that went out before. It goes on unasked once, if that is remembered, it is
// the same call, and the same policy.
func TestFurtherRounds(t *testing.T) {
	begin := func(t *testing.T) (*fixture, *guard.Call) {
		f := newFixture(t, nil)
		send := call("send", sendMail, `{"arguments":{"to":"a"}}`)
		v := f.g.Before(t.Context(), send)
		if !v.Allowed() {
			t.Fatalf("%+v", v)
		}
		f.accepted[v.Admission.Onward()] = true
		f.run(t, call("fetch", fetchPage, `{}`), okResult) // now policy asks
		further := call("send", sendMail, `{"requestState":"s","inputResponses":{},"arguments":{"to":"a"}}`)
		further.Further = true
		return f, further
	}
	f, c := begin(t)
	for _, want := range []policy.Effect{policy.Allow, policy.Ask} {
		if v := f.g.Before(t.Context(), c); v.Effect != want {
			t.Errorf("%+v, want %v", v, want)
		}
	}
	for name, change := range map[string]func(*fixture, *guard.Call){
		"not said to go on": func(_ *fixture, c *guard.Call) { c.Further = false },
		"other arguments":   func(_ *fixture, c *guard.Call) { c.Params = raw(`{"arguments":{"to":"b"}}`) },
		"another session":   func(_ *fixture, c *guard.Call) { c.Session.Key, c.Session.Parent = "t", "s" },
		"another tool":      func(_ *fixture, c *guard.Call) { c.Name = "post" },
		"another way there": func(_ *fixture, c *guard.Call) { c.Reached = "other" },
		"another policy": func(f *fixture, _ *guard.Call) {
			f.g.Swap(mustLoad(t, string(policy.DefaultSource())+"# changed\n"), policy.Enforce)
		},
	} {
		f, c := begin(t)
		change(f, c)
		if v := f.g.Before(t.Context(), c); v.Effect != policy.Ask {
			t.Errorf("%s: %+v", name, v)
		}
	}
	f, c = begin(t)
	first := f.g.Before(t.Context(), c)
	f.g.Swap(mustLoad(t, blocksAll), policy.Enforce)
	f.accepted[first.Admission.Onward()] = true
	if v := f.g.Before(t.Context(), c); v.Effect != policy.Block {
		t.Errorf("a block counts in every round: %+v", v)
	}
}

// TestAnswersThatNobodyAskedFor holds that the approval of a call does not cover answers to questions that no server
// asked: of a first round they are arguments.
func TestAnswersThatNobodyAskedFor(t *testing.T) {
	f := newFixture(t, nil)
	f.run(t, call("fetch", fetchPage, `{}`), okResult)
	send := call("send", sendMail, `{"arguments":{"to":"a"}}`)
	v := f.g.Before(t.Context(), send)
	if v.Effect != policy.Ask {
		t.Fatalf("%+v", v)
	}
	f.accepted[v.Question.Binding] = true
	f.accepted[v.Admission.Onward()] = true
	for _, more := range []string{`"inputResponses":{"s3kr1t":{"action":"decline"}}`, `"inputResponses":{}`, `"requestState":"s3kr1t"`} {
		c := call("send", sendMail, `{"arguments":{"to":"a"},`+more+`}`)
		if v := f.g.Before(t.Context(), c); v.Effect != policy.Ask {
			t.Errorf("%s: %+v", more, v)
		}
	}
	if v := f.g.Before(t.Context(), send); !v.Allowed() {
		t.Errorf("the call that was accepted: %+v", v)
	}
}

// TestFurtherRoundsAreNobodysYes has a rule that asks once for a destination, and a round that goes on unasked: no later call
// may be covered by it.
func TestFurtherRoundsAreNobodysYes(t *testing.T) {
	f := newFixture(t, func(o *guard.Options) {
		o.Policy = mustLoad(t, `version: 1
rules:
  - {name: once, when: call, if: "session.untrusted && tool.name == 'send'", effect: ask, once: destination, message: sure?}
`)
	})
	further := call("send", sendMail, `{"arguments":{"to":"a"}}`)
	further.Further = true
	first := f.g.Before(t.Context(), further)
	f.run(t, call("fetch", fetchPage, `{}`), okResult)
	f.accepted[first.Admission.Onward()] = true
	if v := f.g.Before(t.Context(), further); !v.Allowed() {
		t.Fatalf("the round does not go on: %+v", v)
	}
	if v := f.g.Before(t.Context(), call("send", sendMail, `{"arguments":{"to":"a"}}`)); v.Effect != policy.Ask {
		t.Errorf("the next call was not asked about: %+v", v)
	}
}

// FuzzReply wants every answer to a form that says more than what a person did with it to count as typed.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"action":"accept","content":{"a":1}}`))
	f.Add([]byte(`{"roots":[]}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if rawjson.Check(answer) != nil || guard.ReplyMethod(answer) == "" {
			return
		}
		if call("ask", fetchPage, `{}`).Inquiry(guard.Elicitation, nil).Reply(answer).Arguments != nil {
			return
		}
		var members map[string]any
		if json.Unmarshal(answer, &members) != nil {
			t.Fatalf("%s does not count", answer)
		}
		content, _ := members["content"].(map[string]any)
		if len(content) > 0 || members["content"] != nil && content == nil {
			t.Fatalf("the content of %s does not count", answer)
		}
		for _, known := range []string{"action", "content", "_meta"} {
			delete(members, known)
		}
		if len(members) > 0 {
			t.Fatalf("%v of %s does not count", members, answer)
		}
	})
}

// FuzzRounds holds that no question and no answer in a document goes unseen, by what encoding/json sees.
func FuzzRounds(f *testing.F) {
	f.Add([]byte(`{"inputRequests":{"a":{"method":"roots/list"},"b":{}},"inputResponses":{"a":{"roots":[]},"":{"action":"accept"}}}`))
	f.Add([]byte(`{"inputRequests":[{}],"inputResponses":null}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if rawjson.Check(doc) != nil || rawjson.Kind(doc) != '{' {
			return
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(doc, &all); err != nil {
			return // deeper than encoding/json goes
		}
		count := func(doc json.RawMessage) int {
			var members map[string]json.RawMessage
			_ = json.Unmarshal(doc, &members) // of anything but an object there are none
			return len(members)
		}
		requests, responses := guard.InputRequests(doc), guard.InputResponses(doc)
		if len(requests) != count(all["inputRequests"]) || len(responses) != count(all["inputResponses"]) {
			t.Fatalf("%d questions and %d answers in %s", len(requests), len(responses), doc)
		}
		for _, r := range responses {
			if r.Answer == nil || !guard.IsInquiry(r.Method) {
				t.Fatalf("%+v in %s", r, doc)
			}
		}
	})
}
