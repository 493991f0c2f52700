package guard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// templates returns rules with templates of a payment.
func templates(t testing.TB, all map[string]string) guard.PlanRules {
	t.Helper()
	rules := guard.PlanRules{Strict: true, Templates: map[string]*plan.Template{}}
	for name, text := range all {
		template, err := plan.ParseTemplate(name, json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		rules.Templates[name] = template
	}
	return rules
}

const freePay = `{"goal":"pay","approved":true,"steps":[{"id":"p","tool":"pay","arguments":{"to":"bob","amount":5}}]}`

// No plan counts without the open admission of an own call of this guard, nor by a decision alone: nothing is kept, an
// acceptance is not used up, and the call of the step stays blocked.
func TestPlansCountByAdmission(t *testing.T) {
	r := newPlanRig(t, granted{})
	r.g.Plans.Set(templates(t, map[string]string{"free": freePay}))
	asking, p, calls := r.submitted(t, `{"template":"free"}`)
	admit := func(g *guard.Guard, c *guard.Call) *guard.Admission {
		v := g.Before(t.Context(), c)
		if !v.Allowed() {
			t.Fatalf("%s: %v", c.Name, v)
		}
		return v.Admission
	}
	used := admit(r.g, asking)
	used.After(t.Context(), guard.Answer{Result: json.RawMessage(`{"content":[]}`), Own: true})
	for name, a := range map[string]*guard.Admission{
		"none": nil, "the zero one": {}, "a used one": used, "of another call": admit(r.g, salaries()), "of another guard": admit(newPlanRig(t, granted{}).g, asking),
	} {
		v, err := r.g.Plans.Commit(t.Context(), a, p, calls, r.keep)
		if err == nil || v.Approved || len(r.approvals) != 0 {
			t.Errorf("%s: %+v, %v, kept %v", name, v, err, r.approvals)
		}
	}
	if v, err := r.g.Plans.Decide(t.Context(), asking, p, calls); err != nil || !v.Approved || len(r.approvals) != 0 {
		t.Errorf("a decision: %+v, %v, kept %v", v, err, r.approvals)
	}
	if got := r.try(t, "pay", payBob); got != policy.Block {
		t.Errorf("without a plan that counts: %v", got)
	}
	if v := r.decide(t, `{"template":"free"}`); !v.Approved || r.try(t, "pay", payBob) != policy.Allow {
		t.Errorf("with its admission: %+v", v)
	}
}

// Of plans that were accepted side by side and are submitted at once, one counts: the others change that, and a person
// was not asked about the change.
func TestPlansAreCommittedOneByOne(t *testing.T) {
	r := newStrictRig(t, granted{})
	const plans, times = 6, 4
	var commits []func() (guard.PlanVerdict, error)
	kept := 0
	keep := func(ctx context.Context, ref session.Ref, steps []guard.PlannedStep) error {
		runtime.Gosched()
		kept++ // the race detector tells, too
		return r.keep(ctx, ref, steps)
	}
	for n := range plans {
		text := fmt.Sprintf(`{"goal":"g%d","steps":[{"id":"a","tool":"pay","arguments":{"to":"bob","amount":5},"repeat":%d}]}`, n, times)
		asking, p, calls := r.submitted(t, text)
		v, err := r.g.Plans.Decide(t.Context(), asking, p, calls)
		if err != nil || v.Question == nil {
			t.Fatalf("%+v, %v", v, err)
		}
		r.approvals[v.Question.Binding]++
		a := r.g.Before(t.Context(), asking).Admission
		commits = append(commits, func() (guard.PlanVerdict, error) { return r.g.Plans.Commit(t.Context(), a, p, calls, keep) })
	}
	var all sync.WaitGroup
	for _, commit := range commits {
		all.Go(func() {
			if v, err := commit(); err != nil || v.Approved == (v.Question != nil) {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
	all.Wait()
	went := 0
	for r.g.Before(t.Context(), r.call("pay", payBob)).Allowed() {
		went++
	}
	if kept != 1 || went != times {
		t.Errorf("%d plans count, and %d calls went, want 1 and %d", kept, went, times)
	}
}

// A template that the operator approved is asked about in a session that rules take for malicious, for whatever reason.
func TestTemplatesInMaliciousSessions(t *testing.T) {
	for name, c := range map[string]struct {
		in   label.Label
		asks bool
	}{
		"clean": {label.Label{}, false}, "untrusted": {label.Label{Untrusted: true}, false}, "malicious": {label.Label{Malicious: true}, true},
	} {
		r := newPlanRig(t, granted{})
		r.g.Plans.Set(templates(t, map[string]string{"free": freePay}))
		asking, p, calls := r.submitted(t, `{"template":"free"}`)
		asking.Context = c.in
		v, err := r.g.Plans.Commit(t.Context(), r.g.Before(t.Context(), asking).Admission, p, calls, r.keep)
		if err != nil || v.Approved == c.asks || (v.Question != nil) != c.asks {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// The operator takes back all that goes by templates with any change of them, also over a restart, as with a change of
// the policy.
func TestTemplatesAreTakenBack(t *testing.T) {
	const other = `{"goal":"other","steps":[{"id":"p","tool":"page"}]}`
	for name, c := range map[string]struct {
		now  map[string]string
		want policy.Effect
	}{
		"the same":      {map[string]string{"free": freePay}, policy.Allow},
		"removed":       {map[string]string{"other": other}, policy.Block},
		"all removed":   {nil, policy.Block},
		"one more":      {map[string]string{"free": freePay, "other": other}, policy.Block},
		"to be asked":   {map[string]string{"free": `{"goal":"pay","steps":[{"id":"p","tool":"pay","arguments":{"to":"bob","amount":5}}]}`}, policy.Block},
		"another step":  {map[string]string{"free": `{"goal":"pay","approved":true,"steps":[{"id":"p","tool":"pay","arguments":{"to":"ann","amount":5}}]}`}, policy.Block},
		"of other name": {map[string]string{"free2": freePay}, policy.Block},
	} {
		for _, restarted := range []bool{false, true} {
			r := newPlanRig(t, granted{})
			r.g.Plans.Set(templates(t, map[string]string{"free": freePay}))
			if v := r.decide(t, `{"template":"free"}`); !v.Approved {
				t.Fatalf("%+v", v)
			}
			if restarted {
				r = newPlanRig(t, r.approvals)
			}
			r.g.Plans.Set(templates(t, c.now))
			would, err := r.g.Resolve(t.Context(), r.call("pay", payBob))
			if err != nil || !restarted && would.Verdict.Effect != c.want {
				t.Errorf("%s: would be %v, %v", name, would.Verdict, err)
			}
			if got := r.g.Before(t.Context(), r.call("pay", payBob)).Effect; got != c.want {
				t.Errorf("%s, restarted %v: %v, want %v", name, restarted, got, c.want)
			}
		}
	}
}
