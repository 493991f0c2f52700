package guard_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// newStrictRig is newPlanRig where plans are strict.
func newStrictRig(t testing.TB, approvals granted) *planRig {
	r := newPlanRig(t, approvals)
	r.g.Plans.Set(guard.PlanRules{Strict: true})
	return r
}

// salaries is a read of which nobody outside learns.
func salaries() *guard.Call {
	return call("salaries", readSalaries, `{"name":"salaries","arguments":{"path":"a.csv"}}`)
}

// ofHost returns a call as one of a tool of the host itself.
func ofHost(c *guard.Call) *guard.Call {
	c.Host = true
	return c
}

// Where plans are strict, only calls of the plan go, and nobody is asked about others. The reason names the plan, or
// says that there is none, and the remedy.
func TestStrictPlans(t *testing.T) {
	const read, bob = `{"url":"https://a.example"}`, `{"to":"bob","amount":5}`
	in := func(s string, c *guard.Call) *guard.Call { c.Session = session.Ref{Key: s, Principal: "p"}; return c }
	for name, c := range map[string]struct {
		approved string // the plan; "" for none
		do       func(r *planRig) guard.Verdict
		want     policy.Effect
		says     string
	}{
		"no plan, a read":          {"", func(r *planRig) guard.Verdict { return r.g.Before(t.Context(), salaries()) }, policy.Allow, ""},
		"no plan, a page":          {"", func(r *planRig) guard.Verdict { return r.g.Before(t.Context(), r.call("page", read)) }, policy.Block, "no plan is approved"},
		"no plan, a payment":       {"", func(r *planRig) guard.Verdict { return r.g.Before(t.Context(), r.call("pay", bob)) }, policy.Block, "submit a plan with weir_plan"},
		"no plan, what is stopped": {"", func(r *planRig) guard.Verdict { return r.g.Before(t.Context(), r.call("wipe", `{}`)) }, policy.Block, ""},
		"a step":                   {payPlan, func(r *planRig) guard.Verdict { return r.g.Before(t.Context(), r.call("pay", bob)) }, policy.Allow, ""},
		"a step that reads":        {payPlan, func(r *planRig) guard.Verdict { return r.g.Before(t.Context(), r.call("page", read)) }, policy.Allow, ""},
		"a step again": {payPlan, func(r *planRig) guard.Verdict {
			r.g.Before(t.Context(), r.call("pay", bob))
			return r.g.Before(t.Context(), r.call("pay", bob))
		}, policy.Block, `the approved plan "pay the rent" has no call left`},
		"beside it, a read":  {payPlan, func(r *planRig) guard.Verdict { return r.g.Before(t.Context(), salaries()) }, policy.Block, "amended plan with weir_plan"},
		"what is stopped":    {payPlan, func(r *planRig) guard.Verdict { return r.g.Before(t.Context(), r.call("wipe", `{}`)) }, policy.Block, ""},
		"in another session": {payPlan, func(r *planRig) guard.Verdict { return r.g.Before(t.Context(), in("other", r.call("pay", bob))) }, policy.Block, "no plan is approved"},
		"in a child": {payPlan, func(r *planRig) guard.Verdict {
			c := in("child", r.call("pay", bob))
			c.Session.Parent = "s"
			return r.g.Before(t.Context(), c)
		}, policy.Block, "no plan is approved"},
		"after a restart, a step": {payPlan, func(r *planRig) guard.Verdict {
			return newStrictRig(t, r.approvals).g.Before(t.Context(), r.call("pay", bob))
		}, policy.Allow, ""},
		"another contract": {payPlan, func(r *planRig) guard.Verdict {
			c := r.call("pay", bob)
			c.Overlay, c.Effective = nil, contract.Pessimistic()
			return r.g.Before(t.Context(), c)
		}, policy.Block, "weir_plan"},
		"another policy": {payPlan, func(r *planRig) guard.Verdict {
			p, err := policy.Load("p.yaml", []byte(planPolicy+"- {name: more, when: call, effect: warn, if: tool.name == \"x\"}\n"))
			if err != nil {
				t.Fatal(err)
			}
			r.g.Swap(p, policy.Enforce)
			return r.g.Before(t.Context(), r.call("pay", bob))
		}, policy.Block, "weir_plan"},
		"a resource": {payPlan, func(r *planRig) guard.Verdict {
			ref := call("x", readSalaries, `{}`).Session
			c, err := guard.NewCall(ref, "srv", contract.Trusted, "resources/read", json.RawMessage(`{"uri":"res:a"}`))
			if err != nil {
				t.Fatal(err)
			}
			return r.g.Before(t.Context(), c)
		}, policy.Block, "weir_plan"},
		"an answer to a server": {payPlan, func(r *planRig) guard.Verdict {
			asked := r.call("page", read).Inquiry(guard.Elicitation, json.RawMessage(`{"message":"m"}`))
			return r.g.Before(t.Context(), asked.Reply(json.RawMessage(`{"action":"accept"}`)))
		}, policy.Block, "no answers to questions of servers"},
		"a further round of nothing": {payPlan, func(r *planRig) guard.Verdict {
			c := r.call("pay", bob)
			c.Further = true
			return r.g.Before(t.Context(), c)
		}, policy.Block, "weir_plan"},
		"a further round": {payPlan, func(r *planRig) guard.Verdict {
			v := r.g.Before(t.Context(), r.call("pay", bob))
			r.approvals[v.Admission.Onward()]++
			c := r.call("pay", bob)
			c.Further = true
			return r.g.Before(t.Context(), c)
		}, policy.Allow, ""},
		"a host's own tool": {"", func(r *planRig) guard.Verdict { return r.g.Before(t.Context(), ofHost(r.call("pay", bob))) }, policy.Block, "no plan has tools of the host"},
		"a host's own tool, beside a plan with its call": {payPlan, func(r *planRig) guard.Verdict {
			return r.g.Before(t.Context(), ofHost(r.call("pay", bob)))
		}, policy.Block, "weir_plan"},
		"a host's own tool, in a process that knows no plan": {payPlan, func(r *planRig) guard.Verdict {
			return newStrictRig(t, r.approvals).g.Before(t.Context(), ofHost(r.call("pay", bob)))
		}, policy.Block, "no plan has tools of the host"},
		"a host's own page": {"", func(r *planRig) guard.Verdict { return r.g.Before(t.Context(), ofHost(r.call("page", read))) }, policy.Block, "no plan has tools of the host"},
		"a host's own read": {"", func(r *planRig) guard.Verdict { return r.g.Before(t.Context(), ofHost(salaries())) }, policy.Allow, ""},
		"weir's own": {payPlan, func(r *planRig) guard.Verdict {
			c := call("weir_plan", guard.Looking(), `{"name":"weir_plan","arguments":{}}`)
			c.Server = guard.Own
			return r.g.Before(t.Context(), c)
		}, policy.Allow, ""},
		"not enforced": {payPlan, func(r *planRig) guard.Verdict {
			p, _ := r.g.Rules()
			r.g.Swap(p, policy.Audit)
			return r.g.Before(t.Context(), r.call("pay", `{"to":"eve","amount":5}`))
		}, policy.Allow, ""},
	} {
		r := newStrictRig(t, granted{})
		if c.approved != "" {
			r.approve(t, c.approved)
		}
		v := c.do(r)
		if v.Effect != c.want || v.Err != nil || v.Question != nil || !strings.Contains(v.Message, c.says) || c.says != "" && v.Rule != guard.RulePlan {
			t.Errorf("%s: %+v, want %v and %q", name, v, c.want, c.says)
		}
	}
}

// A plan needs an approval where plans are strict, also if policy asks about none of its calls, and has no step that no
// approval covers.
func TestStrictPlansAreApproved(t *testing.T) {
	harmless := `{"goal":"g","steps":[{"id":"a","tool":"pay","arguments":{"to":"bob","amount":5}}]}`
	if v := newPlanRig(t, granted{}).decide(t, harmless); v.Question != nil {
		t.Errorf("asked: %+v", v.Question)
	}
	r := newStrictRig(t, granted{})
	if v := r.decide(t, harmless); v.Question == nil || !v.Question.Later.Strict {
		t.Errorf("not asked: %+v", v)
	}
	if v := r.g.Before(t.Context(), r.call("pay", `{"to":"bob","amount":5}`)); v.Allowed() {
		t.Errorf("before the approval: %v", v.Effect)
	}
	v := r.decide(t, `{"goal":"g","steps":[{"id":"s1","tool":"page","arguments":{}},{"id":"s2","tool":"pay","arguments":{"to":{"from":"s1","type":"number"}}}]}`)
	if v.Question != nil || v.Steps[1].Effect != policy.Block || v.Steps[1].Rule != guard.RulePlan {
		t.Errorf("a step that no approval covers: %+v", v)
	}
}

// Where the operator wrote plans, only these are taken. One that is approved goes without a person, but not while an
// alert waits; any other is asked about at each use. What goes is of the template, with the values.
func TestTemplatesOfTheOperator(t *testing.T) {
	const body = `"goal":"pay","parameters":{"n":{"type":"integer","min":1,"max":9}},"steps":[{"id":"p","tool":"pay","arguments":{"to":"bob","amount":{"parameter":"n"}}}]}`
	rules := guard.PlanRules{Strict: true, Templates: map[string]*plan.Template{}}
	for name, text := range map[string]string{"free": `{"approved":true,` + body, "asked": `{` + body} {
		template, err := plan.ParseTemplate(name, json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		rules.Templates[name] = template
	}
	r := newPlanRig(t, granted{})
	r.g.Plans.Set(rules)
	if _, err := r.g.Plans.Read(json.RawMessage(payPlan)); err == nil {
		t.Error("a plan of the agent is taken")
	}
	use := func(name string, n int) guard.PlanVerdict {
		return r.decide(t, fmt.Sprintf(`{"template":%q,"parameters":{"n":%d}}`, name, n))
	}
	goes := func(to string, n int) bool {
		return r.g.Before(t.Context(), r.call("pay", fmt.Sprintf(`{"to":%q,"amount":%d}`, to, n))).Allowed()
	}
	for range 2 { // each use has its calls
		if v := use("free", 5); !v.Approved || v.Question != nil {
			t.Errorf("%+v", v)
		}
		if goes("eve", 5) || goes("bob", 6) || !goes("bob", 5) || goes("bob", 5) {
			t.Error("another call goes than the template has")
		}
	}
	for range 2 {
		v := use("asked", 7)
		if v.Approved || v.Question == nil || v.Question.Later.Template != "asked" || goes("bob", 7) {
			t.Errorf("%+v", v)
		}
		r.approvals[v.Question.Binding]++
		if v := use("asked", 7); !v.Approved || !goes("bob", 7) || goes("bob", 7) {
			t.Errorf("%+v", v)
		}
	}
}

// A server is not shown the arguments of a call outside of the plan to resolve its contract.
func TestStrictPlansHoldResolutionBack(t *testing.T) {
	r := newStrictRig(t, granted{})
	r.approve(t, payPlan)
	for arguments, want := range map[string]bool{`{"to":"bob","amount":5}`: true, `{"to":"bob","amount":6}`: false} {
		c := r.call("pay", arguments)
		c.Trust = contract.Trusted
		if got, err := r.g.Show(t.Context(), c); err != nil || got != want {
			t.Errorf("%s: %v, %v", arguments, got, err)
		}
		would, err := r.g.Resolve(t.Context(), c)
		if err != nil || would.Verdict.Allowed() != want {
			t.Errorf("%s: %v, %v", arguments, would.Verdict, err)
		}
	}
}

// Whatever calls an agent makes that obeys a stranger, in whatever order and session: those that go are of the plan of
// their session, with its constants, with numbers of the page once it was read, and as often as it says; before
// there is one, they only read. Nobody is asked about a call.
func TestNothingGoesBesideAStrictPlan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newStrictRig(t, granted{})
		count, read, approved := map[string]int{}, false, false
		numbers := []string{"950", "1900", "951", "5", `"950"`, `"DE99"`, "9.5e2", `{"from":"s1","type":"number"}`}
		for range rapid.IntRange(1, 14).Draw(rt, "calls") {
			var c *guard.Call
			key := rapid.SampledFrom([]string{"s", "s", "s", "other"}).Draw(rt, "session")
			mine, may := approved && key == "s", false
			var done func()
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				if !approved {
					r.approve(t, payPlan)
					approved = true
				}
				continue
			case 1:
				c, may = salaries(), !mine
			case 2:
				url := rapid.SampledFrom([]string{"https://a.example", "https://b.example"}).Draw(rt, "url")
				c = r.call("page", fmt.Sprintf(`{"url":%q}`, url))
				may = mine && url == "https://a.example" && count["page"] < 1
				done = func() { count["page"]++; read = true }
			default:
				to := rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(rt, "to")
				amount := rapid.SampledFrom(numbers).Draw(rt, "amount")
				c = r.call("pay", fmt.Sprintf(`{"to":%q,"amount":%s}`, to, amount))
				raw, _ := rawjson.Get(c.Arguments, "amount")
				known := slices.Contains([]string{"950", "1900", "9.5e2"}, string(raw)) && read
				may = mine && (to == "ann" && known && count[to] < 2 || to == "bob" && string(raw) == "5" && count[to] < 1)
				done = func() { count[to]++ }
			}
			c.Session = session.Ref{Key: key, Principal: "p"}
			c.Context = label.Label{Untrusted: rapid.Bool().Draw(rt, "untrusted")}
			v := r.g.Before(t.Context(), c)
			if v.Allowed() != may || v.Effect == policy.Ask {
				rt.Fatalf("%s %s in %s: %v by %s, may go: %v", c.Name, c.Arguments, key, v.Effect, v.Rule, may)
			}
			if v.Allowed() {
				v.Admission.After(t.Context(), guard.Answer{Result: json.RawMessage(rentPage)})
				if done != nil {
					done()
				}
			}
		}
	})
}
