package guard_test

import (
	"fmt"
	"testing"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

const payBob = `{"to":"bob","amount":5}`

// try returns the decision on a call of an agent that has read untrusted content.
func (r *planRig) try(t testing.TB, tool, arguments string) policy.Effect {
	t.Helper()
	c := r.call(tool, arguments)
	c.Context = label.Label{Untrusted: true}
	return r.g.Before(t.Context(), c).Effect
}

// newWaryRig returns a rig with a detector and further rules.
func newWaryRig(t testing.TB, rules string) *planRig {
	t.Helper()
	p, err := policy.Load("p.yaml", []byte(planPolicy+rules))
	if err != nil {
		t.Fatal(err)
	}
	r := newPlanRig(t, granted{})
	r.fixture = newFixture(t, func(o *guard.Options) {
		o.Policy, o.Approvals, o.Vault = p, r.approvals, vault.New(vault.Limits{})
		searching(guard.Detection{Detector: detect.New()})(o)
	})
	return r
}

// A step with a placeholder is of its plan alone: no result of another plan fills it, though the step reads alike, and
// the plan that is approved last takes the place of the other.
func TestPlansDoNotPoolTheirGrants(t *testing.T) {
	plan := func(url string, n int) string {
		return fmt.Sprintf(`{"goal":"pay","steps":[{"id":"s1","tool":"page","arguments":{"url":%q}},`+
			`{"id":"s2","tool":"pay","arguments":{"to":"ann","amount":{"from":"s1","type":"number"}},"repeat":%d}]}`, url, n)
	}
	r := newPlanRig(t, granted{})
	for _, c := range []struct {
		url, amount string
		times       int
	}{{"https://bank.example", "1", 9}, {"https://evil.example", "999999", 1}} {
		r.approve(t, plan(c.url, c.times))
		r.run(t, r.call("page", fmt.Sprintf(`{"url":%q}`, c.url)), `{"content":[{"type":"text","text":"{\"rent\":`+c.amount+`}"}]}`)
	}
	if got := r.try(t, "pay", `{"to":"ann","amount":1}`); got != policy.Ask {
		t.Errorf("the number of the first page: %v", got)
	}
	for i, want := range []policy.Effect{policy.Allow, policy.Ask} {
		if got := r.try(t, "pay", `{"to":"ann","amount":999999}`); got != want {
			t.Errorf("payment %d of the number of the second page: %v, want %v", i+1, got, want)
		}
	}
}

// A plan covers no call about which a rule asks that the request did not name.
func TestPlansCoverTheRulesTheyShowed(t *testing.T) {
	const more = "- {name: private, when: call, effect: ask, if: session.private && !call.plainRead}\n"
	for private, want := range map[bool]policy.Effect{false: policy.Allow, true: policy.Ask} {
		r := newWaryRig(t, more)
		r.approve(t, payPlan)
		c := r.call("pay", payBob)
		c.Context = label.Label{Untrusted: true, Private: private}
		if got := r.g.Before(t.Context(), c).Effect; got != want {
			t.Errorf("private %v: %v, want %v", private, got, want)
		}
	}
}

// A result that is worse than the plan's request said fills no placeholder: neither its numbers nor its handle do.
func TestWorseResultsFillNothing(t *testing.T) {
	const note = `{"goal":"g","steps":[{"id":"s1","tool":"page","arguments":{"url":"a"}},` +
		`{"id":"s2","tool":"pay","arguments":{"to":"ann","note":{"from":"s1","type":"handle"}}},` +
		`{"id":"s3","tool":"pay","arguments":{"to":"ann","amount":{"from":"s1","type":"number"}}}]}`
	for _, l := range []label.Label{
		{}, {Private: true}, {Sensitivity: label.SetOf(label.Credentials)}, {Sensitivity: label.SetOf(label.Financial)},
	} {
		want := policy.Ask
		if l.IsZero() {
			want = policy.Allow
		}
		r := newPlanRig(t, granted{})
		r.approve(t, note)
		c := r.call("page", `{"url":"a"}`)
		c.Hide = true
		name := r.hide(t, c, mailFromBob)
		used := r.call("pay", `{"to":"ann","note":"[[`+name+`]]"}`)
		used.Written = used.Arguments
		used = r.uses(t, used)
		used.Uses[0].Label = label.Join(used.Uses[0].Label, l)
		used.Context = label.Label{Untrusted: true}
		if got := r.g.Before(t.Context(), used).Effect; got != want {
			t.Errorf("a handle of a value %+v: %v, want %v", l, got, want)
		}
	}
	for class, want := range map[string]policy.Effect{"none": policy.Allow, "credentials": policy.Ask} {
		r := newPlanRig(t, granted{})
		r.approve(t, note)
		o := r.run(t, r.call("page", `{"url":"a"}`), `{"content":[{"type":"text","text":"pin 4711"}],"_meta":{"annotations":`+
			`{"returnMetadata":{"source":"untrustedPublic","sensitivity":"`+class+`"}}}}`)
		if o.Label.Sensitivity.Has(label.Credentials) != (class == "credentials") {
			t.Fatalf("the result is labelled %v", o.Label)
		}
		if got := r.try(t, "pay", `{"to":"ann","amount":4711}`); got != want {
			t.Errorf("a number of a result with sensitivity %s: %v, want %v", class, got, want)
		}
	}
}

// An alert ends the plans of before for good, also after a person has answered it.
func TestAlertsEndPlans(t *testing.T) {
	r := newWaryRig(t, "- {name: mal, when: call, effect: ask, if: session.malicious && !call.plainRead}\n")
	r.approve(t, `{"goal":"g","steps":[{"id":"p","tool":"page","arguments":{"url":"https://a.example"}},{"id":"a","tool":"pay","arguments":`+payBob+`,"repeat":9}]}`)
	if got := r.try(t, "pay", payBob); got != policy.Allow {
		t.Fatalf("before the alert: %v", got)
	}
	r.run(t, r.call("page", `{"url":"https://a.example"}`), `{"content":[{"type":"text","text":`+string(rawjson.Quote(order))+`}]}`)
	if got := r.try(t, "pay", payBob); got != policy.Ask {
		t.Errorf("after the alert: %v", got)
	}
	other := func() guard.Verdict {
		c := r.call("note", `{"x":"hello"}`)
		c.Context = label.Label{Untrusted: true}
		return r.g.Before(t.Context(), c)
	}
	v := other()
	if v.Question == nil || len(v.Question.Alerts) != 1 {
		t.Fatalf("%+v", v)
	}
	r.approvals[v.Question.Binding]++
	if v = other(); !v.Allowed() {
		t.Fatalf("not accepted: %v", v)
	}
	if got := r.try(t, "pay", payBob); got != policy.Ask {
		t.Errorf("after a person answered the alert: %v", got)
	}
}

// Nothing is covered by a plan of before once the session has more findings than it keeps, nor by one after it.
func TestMoreFindingsEndPlans(t *testing.T) {
	more := label.Label{Findings: label.SetOf(session.More)}
	r := newPlanRig(t, granted{})
	r.approve(t, payPlan)
	c := r.call("page", `{"url":"https://z.example"}`)
	c.Context = more
	r.g.Before(t.Context(), c)
	if got := r.try(t, "pay", payBob); got != policy.Ask {
		t.Errorf("after more findings: %v", got)
	}
	v := r.decide(t, payPlan)
	for i := range v.Steps {
		if v.Question != nil || v.Steps[i].Open == "" || v.Steps[i].Bindings() != nil {
			t.Errorf("a plan after that covers %+v", v.Steps[i])
		}
	}
}

// A handle fills exactly the arguments that the overlay calls content: no member beside them, at any depth, and none
// whose name reads like the way to them.
func TestHandlesFillContentAlone(t *testing.T) {
	set, err := overlay.Load("bank.yaml", []byte(`version: 1
overlays:
  - name: bank
    title: Bank
    match: [{server: srv}]
    tools:
      pay:
        contract: {readOnly: false, openWorld: true, destinations: [public], outcomes: [irreversible], sources: [system], returns: []}
        arguments: {destination: [to], content: ["message.body", "items[*].text", note]}
`))
	if err != nil {
		t.Fatal(err)
	}
	r := newPlanRig(t, granted{})
	r.bank = set.For(overlay.Server{Name: "srv"})
	const handle = `{"from":"s1","type":"handle"}`
	for arguments, covered := range map[string]bool{
		`{"to":"ann","note":` + handle + `}`:                                      true,
		`{"to":"ann","note":{"deep":[1,` + handle + `]}}`:                         true,
		`{"to":"ann","message":{"body":` + handle + `}}`:                          true,
		`{"to":"ann","items":[{"text":"hi"},{"text":` + handle + `}]}`:            true,
		`{"to":"ann","message":{"body":"hi","command":` + handle + `}}`:           false,
		`{"to":"ann","message":{"command":` + handle + `}}`:                       false,
		`{"to":"ann","items":[{"text":"hi","path":` + handle + `}]}`:              false,
		`{"to":"ann","message":{"body":"hi"},"message.body":` + handle + `}`:      false,
		`{"to":"ann","items":[{"text":"hi"}],"items[0]":{"text":` + handle + `}}`: false,
		`{"to":"ann","notes":` + handle + `}`:                                     false,
	} {
		v := r.decide(t, `{"goal":"g","steps":[{"id":"s1","tool":"page","arguments":{"url":"a"}},{"id":"s2","tool":"pay","arguments":`+arguments+`}]}`)
		if got := v.Steps[1].Open == ""; got != covered {
			t.Errorf("%s: covered %v", arguments, got)
		}
	}
}

// A call that goes unasked uses up its step also in a process that does not know the plan.
func TestUnaskedCallsCountAfterARestart(t *testing.T) {
	r := newPlanRig(t, granted{})
	r.approve(t, payPlan)
	r = newPlanRig(t, r.approvals)
	if v := r.g.Before(t.Context(), r.call("pay", payBob)); !v.Allowed() {
		t.Fatalf("unasked: %v", v)
	}
	if got := r.try(t, "pay", payBob); got != policy.Ask {
		t.Errorf("once more than approved: %v", got)
	}
}

// A yes that covers later calls covers none after an alert, also when a person has answered that: the answer is for the
// call that showed it.
func TestOnceEndsWithAnAlert(t *testing.T) {
	const first = `{"url":"http://a.example/page"}`
	for _, alert := range []bool{false, true} {
		f := newFixture(t, searching(guard.Detection{Detector: detect.New()}))
		f.run(t, stated(t, "profile", `{}`, ""), textResult("passport HGK137803"))
		f.run(t, stated(t, "page", `{}`, "read pages"), textResult("see http://a.example/page"))
		decide := func(name, arguments string) guard.Verdict {
			return f.g.Before(t.Context(), stated(t, name, arguments, ""))
		}
		accept := func(name, arguments string) {
			t.Helper()
			v := decide(name, arguments)
			if v.Effect != policy.Ask {
				t.Fatalf("%s: %v by %s", name, v.Effect, v.Rule)
			}
			f.accepted[v.Question.Binding] = true
			if v := decide(name, arguments); !v.Allowed() {
				t.Fatalf("%s, accepted: %v by %s", name, v.Effect, v.Rule)
			}
		}
		accept("fetch", first)
		if v := decide("fetch", first); !v.Allowed() {
			t.Fatalf("again: %v by %s", v.Effect, v.Rule)
		}
		if alert {
			f.run(t, stated(t, "page", `{}`, ""), textResult(order))
			accept("mail", `{"to":"ben@acme.example","body":"hello"}`)
		}
		if v := decide("fetch", first); v.Allowed() == alert {
			t.Errorf("alert %v: %v by %s", alert, v.Effect, v.Rule)
		}
	}
}

// An approval of any kind is of the server that the person was asked about, and of no other that has its name.
func TestApprovalsAreOfOneServer(t *testing.T) {
	by := func(c *guard.Call, way string) *guard.Call {
		c.Reached = way
		return c
	}
	f := newFixture(t, nil)
	f.run(t, call("fetch", fetchPage, `{}`), okResult)
	mail := func(way string) *guard.Call { return by(stated(t, "mail", `{"to":"x","body":"y"}`, ""), way) }
	v := f.g.Before(t.Context(), mail("here"))
	if v.Question == nil || v.Question.Grant == "" {
		t.Fatalf("%+v", v)
	}
	f.accepted[v.Question.Grant] = true
	if v := f.g.Before(t.Context(), mail("there")); v.Effect != policy.Ask || v.Question.Grant == "" {
		t.Errorf("calls like it, elsewhere: %+v", v)
	}
	if v := f.g.Before(t.Context(), mail("here")); !v.Allowed() {
		t.Errorf("calls like it: %+v", v)
	}

	f = newFixture(t, func(o *guard.Options) {
		o.Policy = mustLoad(t, `version: 1
rules:
  - {name: once, when: call, if: "tool.name == 'send'", effect: ask, once: destination, message: sure?}
`)
	})
	send := func(way string) *guard.Call { return by(call("send", sendMail, `{"arguments":{"to":"a"}}`), way) }
	f.accepted[f.g.Before(t.Context(), send("here")).Question.Binding] = true
	for _, c := range []struct {
		way  string
		want policy.Effect
	}{{"there", policy.Ask}, {"here", policy.Allow}, {"here", policy.Allow}, {"there", policy.Ask}} {
		if v := f.g.Before(t.Context(), send(c.way)); v.Effect != c.want {
			t.Errorf("once, %s: %+v", c.way, v)
		}
	}

	r := newPlanRig(t, granted{})
	r.approve(t, payPlan)
	pay := func(way string) policy.Effect {
		c := by(r.call("pay", payBob), way)
		c.Context = label.Label{Untrusted: true}
		return r.g.Before(t.Context(), c).Effect
	}
	if got := pay("there"); got != policy.Ask {
		t.Errorf("a planned call, elsewhere: %v", got)
	}
	if got := pay(""); got != policy.Allow {
		t.Errorf("a planned call: %v", got)
	}
}
