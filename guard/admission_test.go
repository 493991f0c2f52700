package guard_test

import (
	"encoding/json"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
)

const resultRules = `version: 1
rules:
  - {name: no, when: call, if: "tool.name == 'forbidden'", effect: block, message: no}
  - {name: ask, when: result, if: "tool.name == 'asked'", effect: ask, message: sure?}
  - {name: keep, when: result, if: "tool.name == 'blocked'", effect: block, message: no}
`

// TestAdmissionIsUsedOnce compares random uses of an admission with a model: it accepts one answer, once; while a person is
// asked, only the same answer; and nothing after Failed. The session rises by an answer that was handed on, and by Failed.
func TestAdmissionIsUsedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t, func(o *guard.Options) { o.Policy = mustLoad(t, resultRules) })
		tool := rapid.SampledFrom([]string{"plain", "asked", "blocked"}).Draw(rt, "tool")
		v := f.g.Before(t.Context(), call(tool, readSalaries, `{}`))
		if v.Admission == nil {
			rt.Fatalf("%+v", v)
		}
		open, asked, accepted, raised := true, "", false, false
		var binding string
		for _, op := range rapid.SliceOfN(rapid.SampledFrom([]string{"one", "other", "failed", "accept"}), 1, 8).Draw(rt, "uses") {
			switch op {
			case "accept":
				if binding != "" {
					f.accepted[binding], accepted = true, true
				}
				continue
			case "failed":
				if err := v.Admission.Failed(t.Context()); (err == nil) != open {
					rt.Fatalf("failed: %v, open %v", err, open)
				}
				raised, open = raised || open, false
			default:
				o := v.Admission.After(t.Context(), guard.Answer{Result: json.RawMessage(`{"content":[],"is":"` + op + `"}`)})
				want := policy.Block
				switch {
				case !open || asked != "" && asked != op:
				case tool == "asked" && !accepted:
					want = policy.Ask
				case tool != "blocked":
					want = policy.Allow
				}
				if o.Effect != want || (o.Answer.Result != nil) != o.Allowed() {
					rt.Fatalf("%s: %+v, want %s", op, o, want)
				}
				if want == policy.Ask {
					asked, binding = op, o.Question.Binding
				}
				open, raised = want == policy.Ask, raised || want == policy.Allow
			}
			if l := f.label(t); l.Private != raised {
				rt.Fatalf("after %s the session is %+v, raised %v", op, l, raised)
			}
		}
	})
}

// TestAdmissionIsOfOneCaller has many callers use an admission at a time: one of them gets the answer.
func TestAdmissionIsOfOneCaller(t *testing.T) {
	f := newFixture(t, nil)
	v := f.g.Before(t.Context(), call("read_file", readSalaries, `{}`))
	var allowed atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if v.Admission.After(t.Context(), guard.Answer{Result: json.RawMessage(okResult)}).Allowed() {
				allowed.Add(1)
			}
		})
	}
	all.Wait()
	if n := allowed.Load(); n != 1 {
		t.Errorf("%d of 16 callers got the answer", n)
	}
}

// TestNoAnswerWithoutAdmission has answers come where nothing was admitted.
func TestNoAnswerWithoutAdmission(t *testing.T) {
	f := newFixture(t, func(o *guard.Options) { o.Policy = mustLoad(t, resultRules) })
	denied := f.g.Before(t.Context(), call("forbidden", readSalaries, `{}`))
	reply := f.g.Before(t.Context(), call("ask", readSalaries, `{}`).Inquiry(guard.Sampling, nil).Reply(raw(`{"content":{}}`)))
	if denied.Allowed() || !reply.Allowed() {
		t.Fatalf("%+v %+v", denied, reply)
	}
	for name, a := range map[string]*guard.Admission{
		"of a call that may not go": denied.Admission, "of a reply": reply.Admission, "zero": new(guard.Admission),
	} {
		if o := a.After(t.Context(), guard.Answer{Result: json.RawMessage(okResult)}); o.Allowed() || o.Rule != guard.RuleInternal || o.Err == nil {
			t.Errorf("%s: %+v", name, o)
		}
		if a.Failed(t.Context()) == nil || a.Onward() != "" {
			t.Errorf("%s: it takes a failure, or goes on", name)
		}
	}
	if o := f.g.Ask(t.Context(), call("plain", readSalaries, `{}`)); o.Allowed() {
		t.Errorf("a call of the agent as a question: %+v", o)
	}
	if f.label(t).Private {
		t.Error("the session rose by an answer that nothing admitted")
	}
}

// TestCallIsNotChanged holds that the guard keeps nothing in the call of its caller.
func TestCallIsNotChanged(t *testing.T) {
	f := newFixture(t, nil)
	c, same := vouched(t, "page", `{"url":"https://a.example/"}`, wish), vouched(t, "page", `{"url":"https://a.example/"}`, wish)
	same.ID = c.ID
	f.run(t, c, okResult)
	if same.Overlay = c.Overlay; !reflect.DeepEqual(c, same) {
		t.Errorf("%+v\nis not %+v", c, same)
	}
}
