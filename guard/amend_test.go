package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
)

const (
	readA   = `{"id":"s1","tool":"page","arguments":{"url":"https://a.example"}}`
	payAnn2 = `{"id":"s2","tool":"pay","arguments":{"to":"ann","amount":{"from":"s1","type":"number"}},"repeat":2}`
	payBob1 = `{"id":"s3","tool":"pay","arguments":{"to":"bob","amount":5}}`
)

// steps returns a plan.
func steps(all ...string) string {
	return `{"goal":"amended","steps":[` + strings.Join(all, ",") + `]}`
}

// A plan that takes the place of another says in its request what is kept, changed, added and removed, and how many
// calls the kept steps have left. An amendment that makes a step another call by what is around it is told, too.
func TestAmendments(t *testing.T) {
	for name, c := range map[string]struct {
		after string
		do    func(r *planRig) // between the plans
		want  string
	}{
		"the same":         {steps(readA, payAnn2, payBob1), nil, "s1 kept 1, s2 kept 2, s3 kept 1"},
		"one more":         {steps(readA, payAnn2, payBob1, `{"id":"s4","tool":"pay","arguments":{"to":"eve","amount":5}}`), nil, "s1 kept 1, s2 kept 2, s3 kept 1, s4 added 1"},
		"one less":         {steps(readA, payAnn2), nil, "s1 kept 1, s2 kept 2, s3 removed 1"},
		"in another order": {steps(payBob1, readA, payAnn2), nil, "s3 kept 1, s1 kept 1, s2 kept 2"},
		"another receiver": {steps(readA, payAnn2, strings.Replace(payBob1, "bob", "eve", 1)), nil, "s1 kept 1, s2 kept 2, s3 changed 1"},
		"another name":     {steps(readA, payAnn2, strings.Replace(payBob1, "s3", "s4", 1)), nil, "s1 kept 1, s2 kept 2, s4 added 1, s3 removed 1"},
		"more often":       {steps(readA, strings.Replace(payAnn2, `"repeat":2`, `"repeat":3`, 1), payBob1), nil, "s1 kept 1, s2 changed 3, s3 kept 1"},
		"another page under the same name": {
			steps(strings.Replace(readA, "a.example", "evil.example", 1), payAnn2, payBob1), nil, "s1 changed 1, s2 changed 2, s3 kept 1",
		},
		"of calls that went": {steps(readA, payAnn2, payBob1), func(r *planRig) {
			r.run(t, r.call("page", `{"url":"https://a.example"}`), rentPage)
			r.try(t, "pay", `{"to":"ann","amount":950}`)
			r.try(t, "pay", payBob)
		}, "s1 kept 0, s2 kept 1, s3 kept 0"},
		"under another contract": {steps(payBob1), func(r *planRig) { r.bank = nil }, "s3 changed 1, s1 removed 1, s2 removed 2"},
		"of a plan that is over": {steps(payBob1), func(r *planRig) {
			r.run(t, r.call("page", `{"url":"https://a.example"}`), rentPage)
			for _, amount := range []string{"950", "1900"} {
				r.try(t, "pay", `{"to":"ann","amount":`+amount+`}`)
			}
			r.try(t, "pay", payBob)
		}, "no amendment"},
		"another task": {steps(`{"id":"x","tool":"pay","arguments":{"to":"bob","amount":5}}`), func(r *planRig) {
			r.run(t, r.call("page", `{"url":"https://a.example"}`), rentPage)
			for _, amount := range []string{"950", "1900"} {
				r.try(t, "pay", `{"to":"ann","amount":`+amount+`}`)
			}
			r.try(t, "pay", payBob)
		}, "no amendment"},
	} {
		r := newStrictRig(t, granted{})
		r.approve(t, payPlan)
		if c.do != nil {
			c.do(r)
		}
		v := r.decide(t, c.after)
		if got := difference(&v); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// difference is the difference that a request tells.
func difference(v *guard.PlanVerdict) string {
	switch {
	case v.Question == nil:
		return "not asked"
	case v.Question.Later.Amends == nil:
		return "no amendment"
	}
	var all []string
	for i := range v.Question.Later.Plan {
		s := &v.Question.Later.Plan[i]
		how := "added"
		if s.Kept {
			how = "kept"
		} else if s.Was != nil {
			how = "changed"
		}
		all = append(all, fmt.Sprintf("%s %s %d", s.ID, how, s.Calls))
	}
	for _, s := range v.Question.Later.Amends.Removed {
		all = append(all, fmt.Sprintf("%s removed %d", s.ID, s.Calls))
	}
	return strings.Join(all, ", ")
}

// The results of kept steps fill the placeholders of the amended plan, and those of a step that changed do not.
func TestAmendmentsKeepResults(t *testing.T) {
	for url, want := range map[string]policy.Effect{"a.example": policy.Allow, "evil.example": policy.Block} {
		r := newStrictRig(t, granted{})
		r.approve(t, payPlan)
		r.run(t, r.call("page", `{"url":"https://a.example"}`), rentPage)
		r.approve(t, steps(strings.Replace(readA, "a.example", url, 1), payAnn2))
		if got := r.try(t, "pay", `{"to":"ann","amount":950}`); got != want {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
}

// In whatever order an agent that obeys a stranger makes calls and submits plans, approved or not: those calls go that
// the request showed which was accepted last, each as often as it said there.
func TestNothingGoesBesideTheLastRequest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newStrictRig(t, granted{})
		left := map[string]int{} // by arguments
		pays := []string{`{"amount":1,"to":"ann"}`, `{"amount":5,"to":"bob"}`, `{"amount":9,"to":"eve"}`}
		for range rapid.IntRange(1, 14).Draw(rt, "actions") {
			if rapid.IntRange(0, 2).Draw(rt, "what") > 0 {
				arguments := rapid.SampledFrom(pays).Draw(rt, "call")
				if got := r.try(t, "pay", arguments) == policy.Allow; got != (left[arguments] > 0) {
					rt.Fatalf("%s goes: %v, and %d are left", arguments, got, left[arguments])
				}
				left[arguments] = max(0, left[arguments]-1)
				continue
			}
			all := []string{`{"id":"p","tool":"page"}`} // after which policy asks about payments
			for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID).Draw(rt, "ids") {
				arguments, n := rapid.SampledFrom(pays).Draw(rt, "arguments"), rapid.IntRange(1, 3).Draw(rt, "times")
				all = append(all, fmt.Sprintf(`{"id":%q,"tool":"pay","arguments":%s,"repeat":%d}`, id, arguments, n))
			}
			v := r.decide(t, steps(all...))
			if v.Question == nil {
				rt.Fatalf("not asked: %+v", v)
			}
			if rapid.Bool().Draw(rt, "declined") {
				continue
			}
			clear(left)
			for _, s := range v.Question.Later.Plan {
				left[string(s.Arguments)] += s.Calls
			}
			r.approve(t, steps(all...))
		}
	})
}
