package guard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// granted is approvals of which a binding may hold several.
type granted map[string]int

func (g granted) Redeem(_ context.Context, binding string) (bool, error) {
	if g[binding] == 0 {
		return false, nil
	}
	g[binding]--
	return true, nil
}

const (
	planPolicy = "version: 1\nrules:\n- {name: stop, when: call, effect: block, if: tool.name == \"wipe\"}\n" +
		"- {name: ask, when: call, effect: ask, if: session.untrusted && !call.plainRead}\n"
	payOverlay = `version: 1
overlays:
  - name: bank
    title: Bank
    match: [{server: srv}]
    tools:
      pay:
        contract: {readOnly: false, openWorld: true, destinations: [public], outcomes: [irreversible], sources: [system], returns: []}
        arguments: {destination: [to], content: [amount, note]}
`
	rentPage = `{"content":[{"type":"text","text":"{\"rent\":950,\"iban\":\"DE99\",\"deposit\":1900,\"due\":\"2025-11-30\",\"paid\":false}"}]}`
	// payPlan is approved in these tests.
	payPlan = `{"goal":"pay the rent","steps":[{"id":"s1","tool":"page","arguments":{"url":"https://a.example"}},` +
		`{"id":"s2","tool":"pay","arguments":{"to":"ann","amount":{"from":"s1","type":"number"}},"repeat":2},` +
		`{"id":"s3","tool":"pay","arguments":{"to":"bob","amount":5}}]}`
)

// A planRig is a guard with a plan, and its clones share nothing but the approvals.
type planRig struct {
	*fixture
	approvals granted
	bank      *overlay.Overlay
}

func newPlanRig(t testing.TB, approvals granted) *planRig {
	t.Helper()
	p, err := policy.Load("p.yaml", []byte(planPolicy))
	if err != nil {
		t.Fatal(err)
	}
	set, err := overlay.Load("bank.yaml", []byte(payOverlay))
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *guard.Options) { o.Policy, o.Approvals, o.Vault = p, approvals, vault.New(vault.Limits{}) })
	return &planRig{f, approvals, set.For(overlay.Server{Name: "srv"})}
}

func (r *planRig) call(tool, arguments string) *guard.Call {
	declared := fetchPage
	if tool != "page" {
		declared = contract.Contract{}
	}
	c := call(tool, declared, `{"name":"`+tool+`","arguments":`+arguments+`}`)
	if tool == "pay" {
		c.Overlay = r.bank.Tool(tool)
		c.Effective = contract.Overlaid(c.Overlay.Static(), c.Declared, c.Trust)
	}
	return c
}

// decide has the agent submit a plan.
func (r *planRig) decide(t testing.TB, text string) guard.PlanVerdict {
	t.Helper()
	asking, p, calls := r.submitted(t, text)
	admitted := r.g.Before(t.Context(), asking)
	if !admitted.Allowed() {
		t.Fatalf("weir_plan: %v", admitted)
	}
	v, err := r.g.Plans.Commit(t.Context(), admitted.Admission, p, calls, r.keep)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// keep keeps the approvals of steps.
func (r *planRig) keep(_ context.Context, _ session.Ref, steps []guard.PlannedStep) error {
	for i := range steps {
		for _, b := range steps[i].Bindings() {
			r.approvals[b] += steps[i].Calls
		}
	}
	return nil
}

// submitted returns the call of weir_plan with a plan, the plan, and the calls of its steps.
func (r *planRig) submitted(t testing.TB, text string) (asking *guard.Call, p *plan.Plan, calls []*guard.Call) {
	t.Helper()
	p, err := r.g.Plans.Read(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	asking = call("weir_plan", guard.Looking(), `{"name":"weir_plan","arguments":`+text+`}`)
	asking.Server = guard.Own
	for i := range p.Steps {
		calls = append(calls, r.call(p.Steps[i].Tool, string(p.Steps[i].Example())))
	}
	return asking, p, calls
}

// approve has a person approve a plan.
func (r *planRig) approve(t testing.TB, text string) guard.PlanVerdict {
	t.Helper()
	v := r.decide(t, text)
	if v.Question == nil || v.Approved {
		t.Fatalf("not asked: %+v", v)
	}
	r.approvals[v.Question.Binding]++
	if v = r.decide(t, text); !v.Approved {
		t.Fatalf("not approved: %+v", v)
	}
	return v
}

func TestPlans(t *testing.T) {
	r := newPlanRig(t, granted{})
	v := r.decide(t, payPlan)
	for i, want := range []policy.Effect{policy.Allow, policy.Ask, policy.Ask} {
		if v.Steps[i].Effect != want || v.Steps[i].Open != "" {
			t.Errorf("step %d: %v, open %q", i+1, v.Steps[i].Effect, v.Steps[i].Open)
		}
	}
	const read, pay = `{"url":"https://a.example"}`, `{"to":"ann","amount":950}`
	page := func(r *planRig) { r.run(t, r.call("page", read), rentPage) }
	try := func(r *planRig, c *guard.Call) policy.Effect {
		c.Context = label.Join(c.Context, label.Label{Untrusted: true})
		return r.g.Before(t.Context(), c).Effect
	}
	for name, c := range map[string]struct {
		do   func(r *planRig) policy.Effect
		want policy.Effect
	}{
		"as planned":        {func(r *planRig) policy.Effect { page(r); return try(r, r.call("pay", pay)) }, policy.Allow},
		"in another order":  {func(r *planRig) policy.Effect { page(r); return try(r, r.call("pay", `{"amount":950,"to":"ann"}`)) }, policy.Allow},
		"constants alone":   {func(r *planRig) policy.Effect { return try(r, r.call("pay", `{"to":"bob","amount":5}`)) }, policy.Allow},
		"before its result": {func(r *planRig) policy.Effect { return try(r, r.call("pay", pay)) }, policy.Ask},
		"a number of another page": {func(r *planRig) policy.Effect {
			r.run(t, r.call("page", `{"url":"https://b.example"}`), rentPage)
			return try(r, r.call("pay", pay))
		}, policy.Ask},
		"as often as planned": {func(r *planRig) policy.Effect {
			page(r)
			try(r, r.call("pay", pay))
			return try(r, r.call("pay", `{"to":"ann","amount":1900}`))
		}, policy.Allow},
		"too often": {func(r *planRig) policy.Effect {
			page(r)
			try(r, r.call("pay", pay))
			try(r, r.call("pay", pay))
			return try(r, r.call("pay", pay))
		}, policy.Ask},
		"once unasked and once asked": {func(r *planRig) policy.Effect {
			if v := r.g.Before(t.Context(), r.call("pay", `{"to":"bob","amount":5}`)); v.Effect != policy.Allow {
				t.Errorf("unasked: %v", v.Effect)
			}
			return try(r, r.call("pay", `{"to":"bob","amount":5}`))
		}, policy.Ask},
		"another number":   {func(r *planRig) policy.Effect { page(r); return try(r, r.call("pay", `{"to":"ann","amount":951}`)) }, policy.Ask},
		"a text":           {func(r *planRig) policy.Effect { page(r); return try(r, r.call("pay", `{"to":"ann","amount":"DE99"}`)) }, policy.Ask},
		"another receiver": {func(r *planRig) policy.Effect { page(r); return try(r, r.call("pay", `{"to":"eve","amount":950}`)) }, policy.Ask},
		"one argument more": {func(r *planRig) policy.Effect {
			page(r)
			return try(r, r.call("pay", `{"to":"ann","amount":950,"note":""}`))
		}, policy.Ask},
		"one argument less": {func(r *planRig) policy.Effect { page(r); return try(r, r.call("pay", `{"to":"ann"}`)) }, policy.Ask},
		"the plan's words as arguments": {func(r *planRig) policy.Effect {
			page(r)
			return try(r, r.call("pay", `{"to":"ann","amount":{"from":"s1","type":"number"}}`))
		}, policy.Ask},
		"another agent session": {func(r *planRig) policy.Effect {
			c := r.call("pay", `{"to":"bob","amount":5}`)
			c.Session = session.Ref{Key: "other", Principal: "p"}
			return try(r, c)
		}, policy.Ask},
		"another contract": {func(r *planRig) policy.Effect {
			c := r.call("pay", `{"to":"bob","amount":5}`)
			c.Overlay, c.Effective = nil, contract.Pessimistic()
			return try(r, c)
		}, policy.Ask},
		"another definition": {func(r *planRig) policy.Effect {
			c := r.call("pay", `{"to":"bob","amount":5}`)
			c.Schema = json.RawMessage(`{"type":"object"}`)
			return try(r, c)
		}, policy.Ask},
		"outside of the schema": {func(r *planRig) policy.Effect {
			c := r.call("pay", `{"to":"bob","amount":5}`)
			c.Violates = "it has an argument too many"
			return try(r, c)
		}, policy.Ask},
		"another policy": {func(r *planRig) policy.Effect {
			p, err := policy.Load("p.yaml", []byte(planPolicy+"- {name: more, when: call, effect: warn, if: tool.name == \"x\"}\n"))
			if err != nil {
				t.Fatal(err)
			}
			r.g.Swap(p, policy.Enforce)
			return try(r, r.call("pay", `{"to":"bob","amount":5}`))
		}, policy.Ask},
		"a blocked call": {func(r *planRig) policy.Effect { return try(r, r.call("wipe", `{}`)) }, policy.Block},
		"after a restart, constants": {func(r *planRig) policy.Effect {
			return try(newPlanRig(t, r.approvals), r.call("pay", `{"to":"bob","amount":5}`))
		}, policy.Allow},
		"after a restart, a placeholder": {func(r *planRig) policy.Effect {
			page(r)
			return try(newPlanRig(t, r.approvals), r.call("pay", pay))
		}, policy.Ask},
	} {
		r := newPlanRig(t, granted{})
		r.approve(t, payPlan)
		if got := c.do(r); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A step that may go where the author of a result says is not covered, however it is typed; nor is a plan with a
// blocked step asked about.
func TestPlansDoNotSteer(t *testing.T) {
	step := func(arguments string) string {
		return `{"goal":"g","steps":[{"id":"s1","tool":"page","arguments":{}},{"id":"s2","tool":"pay","arguments":` + arguments + `}]}`
	}
	for arguments, open := range map[string]bool{
		`{"to":{"from":"s1","type":"number"}}`:                            true,
		`{"to":{"from":"s1","type":"handle"}}`:                            true,
		`{"to":["ann",{"from":"s1","type":"integer","path":"/iban"}]}`:    true,
		`{"to":{"from":"s1","type":"one_of","options":["ann","bob"]}}`:    false,
		`{"to":"ann","note":{"from":"s1","type":"handle"}}`:               false,
		`{"to":"ann","command":{"from":"s1","type":"handle"}}`:            true, // of which the overlay says nothing
		`{"to":"ann","not":{"from":"s1","type":"handle"}}`:                true,
		`{"to":"ann","amount":{"from":"s1","type":"number","path":"/x"}}`: false,
	} {
		v := newPlanRig(t, granted{}).decide(t, step(arguments))
		if got := v.Steps[1].Open != ""; got != open || open && (v.Question != nil || v.Steps[1].Binding != "") {
			t.Errorf("%s: open %v, %+v", arguments, got, v.Steps[1])
		}
	}
	for _, bad := range []string{
		`{"from":"s1","type":"string"}`, `{"from":"s1","type":"email"}`, `{"from":"s1","type":"url"}`, `{"from":"s1","type":"text"}`,
		`{"from":"s2","type":"number"}`, `"[[w12345]]"`, `{"from":"s1","type":"one_of"}`,
	} {
		if _, err := plan.Parse(json.RawMessage(step(`{"to":"ann","note":` + bad + `}`))); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	v := newPlanRig(t, granted{}).decide(t, `{"goal":"g","steps":[{"id":"s1","tool":"page"},{"id":"s2","tool":"pay","arguments":{"to":"ann"}},{"id":"s3","tool":"wipe"}]}`)
	if v.Question != nil || v.Steps[2].Effect != policy.Block {
		t.Errorf("a person is asked about a plan with a blocked step: %+v", v)
	}
}

// A handle fills a placeholder only of the step whose result it stands for, or of a part of that.
func TestPlansTakeHandlesOfTheirStep(t *testing.T) {
	const note = `{"goal":"g","steps":[{"id":"s1","tool":"page","arguments":{"url":"a"}},` +
		`{"id":"s2","tool":"pay","arguments":{"to":"ann","note":{"from":"s1","type":"handle"}},"repeat":9}]}`
	r := newPlanRig(t, granted{})
	r.approve(t, note)
	value := func(url string) string {
		c := r.call("page", `{"url":"`+url+`"}`)
		c.Hide = true
		return r.hide(t, c, mailFromBob)
	}
	mine, other := value("a"), value("b")
	whole, err := r.g.Hidden.Value(t.Context(), call("x", fetchPage, `{}`).Session, mine)
	if err != nil {
		t.Fatal(err)
	}
	part, err := r.g.Hidden.Derive(t.Context(), call("x", fetchPage, `{}`).Session, whole, json.RawMessage(`"bob"`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]policy.Effect{
		"[[" + mine + "]]": policy.Allow, "[[" + mine + "#/from]]": policy.Allow, "[[" + part.Name + "]]": policy.Allow,
		"[[" + other + "]]": policy.Ask, "see [[" + mine + "]]": policy.Ask, "[[" + mine + "]] [[" + other + "]]": policy.Ask, "bob@acme.example": policy.Ask,
	} {
		c := r.call("pay", `{"to":"ann","note":"`+text+`"}`)
		c.Written = c.Arguments
		if c = r.uses(t, c); len(c.Uses) == 0 {
			c.Written = nil
		}
		c.Context = label.Label{Untrusted: true}
		if v := r.g.Before(t.Context(), c); v.Effect != want {
			t.Errorf("%s: %v, want %v", text, v.Effect, want)
		}
	}
}

// Whatever calls an agent makes that obeys a stranger, in whatever order: those that go unasked are of the plan, with
// its constants, with numbers of the page once it was read, and as often as it says.
func TestNothingOutsideOfAPlanGoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newPlanRig(t, granted{})
		r.approve(t, payPlan)
		count, read := map[string]int{}, false
		numbers := []string{"950", "1900", "951", "5", `"950"`, `"DE99"`, "9.5e2", `{"from":"s1","type":"number"}`}
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			if rapid.IntRange(0, 3).Draw(rt, "what") == 0 {
				url := rapid.SampledFrom([]string{"https://a.example", "https://b.example"}).Draw(rt, "url")
				r.run(t, r.call("page", fmt.Sprintf(`{"url":%q}`, url)), rentPage)
				read = read || url == "https://a.example"
				continue
			}
			to := rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(rt, "to")
			amount := rapid.SampledFrom(numbers).Draw(rt, "amount")
			c := r.call("pay", fmt.Sprintf(`{"to":%q,"amount":%s}`, to, amount))
			c.Context = label.Label{Untrusted: true}
			if !r.g.Before(t.Context(), c).Allowed() {
				continue
			}
			count[to]++
			raw, _ := rawjson.Get(c.Arguments, "amount")
			known := slices.Contains([]string{"950", "1900", "9.5e2"}, string(raw)) && read
			if !(to == "ann" && known && count[to] <= 2 || to == "bob" && string(raw) == "5" && count[to] <= 1) {
				rt.Fatalf("call %d to %s went with %s", count[to], to, raw)
			}
		}
	})
}

// The request says that the plan may come from a stranger, and an alert after it has the calls asked about.
func TestPlansAfterUntrustedText(t *testing.T) {
	r := newPlanRig(t, granted{})
	r.run(t, r.call("page", `{"url":"https://c.example"}`), rentPage)
	v := r.decide(t, payPlan)
	if v.Question == nil || !strings.Contains(v.Question.Message, "had read untrusted content") || len(v.Question.Origins) == 0 {
		t.Errorf("%+v", v.Question)
	}
}

// The request for a plan names each rule that asks about a step, with its message, as a request for one call does; and a
// yes is for exactly these.
func TestPlansNameAllRules(t *testing.T) {
	const first = "version: 1\nrules:\n- {name: first, when: call, effect: ask, if: tool.name == \"pay\", message: it pays}\n"
	const both = first + "- {name: grave, when: call, effect: ask, if: session.untrusted, message: strangers may have written it}\n"
	r := newPlanRig(t, granted{})
	p, err := policy.Load("p.yaml", []byte(both))
	if err != nil {
		t.Fatal(err)
	}
	r.g.Swap(p, policy.Enforce)
	v := r.decide(t, `{"goal":"g","steps":[{"id":"one","tool":"pay","arguments":`+payBob+`},{"id":"in","tool":"page"},{"id":"two","tool":"pay","arguments":`+payBob+`}]}`)
	if v.Question == nil {
		t.Fatalf("not asked: %+v", v)
	}
	got := strings.Join(approval.NewPrompt(v.Question).Also, "\n")
	want := "steps one, two: it pays (rule first)\nstep two: strangers may have written it (rule grave)"
	if got != want {
		t.Errorf("the request says %q, want %q", got, want)
	}
	for i, want := range []int{2, 0, 3} { // the call, and each rule
		if v.Steps[i].Binding != "" && v.Steps[i].Effect == policy.Ask && len(v.Steps[i].Bindings()) != want {
			t.Errorf("step %d: %q", i, v.Steps[i].Bindings())
		}
	}
}
