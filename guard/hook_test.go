package guard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// TestPresume raises the session by the contract of a call, as its admission does when no answer comes, and counts it.
func TestPresume(t *testing.T) {
	for name, declared := range map[string]contract.Contract{"read_salaries": readSalaries, "fetch_page": fetchPage, "send_mail": sendMail} {
		failed, presumed := newFixture(t, nil), newFixture(t, nil)
		v := failed.g.Before(context.Background(), call(name, declared, `{}`))
		if err := v.Admission.Failed(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := presumed.g.Presume(context.Background(), call(name, declared, `{}`)); err != nil {
			t.Fatal(err)
		}
		if got, want := presumed.label(t), failed.label(t); !got.Covers(want) || !want.Covers(got) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestPresumeFailsClosed has an error of the record be one of the call.
func TestPresumeFailsClosed(t *testing.T) {
	f := newFixture(t, nil)
	f.events.failFrom = 1
	if err := f.g.Presume(context.Background(), call("read_salaries", readSalaries, `{}`)); err == nil {
		t.Errorf("nothing is recorded, and the session has %v", f.label(t))
	}
}

// TestObserve raises the session by an answer without an admission, also by one that the agent should not see.
func TestObserve(t *testing.T) {
	for _, malicious := range []bool{true, false} {
		f := newFixture(t, nil)
		result := json.RawMessage(`{"content":[]}`)
		if malicious {
			result = json.RawMessage(`{"content":[],"_meta":{"annotations":{"maliciousActivityHint":true}}}`)
		}
		o := f.g.Observe(context.Background(), call("fetch_page", fetchPage, `{}`), guard.Answer{Result: result})
		if o.Err != nil || o.Allowed() == malicious {
			t.Fatalf("%+v", o)
		}
		if l := f.label(t); !l.Covers(o.Label) || malicious && !l.Malicious {
			t.Errorf("%v, and the answer has %v", l, o.Label)
		}
	}
}

// TestObserveWhateverPolicySays has a policy that is stricter on results never be weaker on the calls after them: the agent has an
// observed answer, so its label, its alert and its trace count under every effect, in every mode and for errors of the record.
func TestObserveWhateverPolicySays(t *testing.T) {
	const secret = "passport HGK137803"
	for _, effect := range []string{"allow", "warn", "hide", "ask", "block"} {
		for _, mode := range []policy.Mode{policy.Enforce, policy.WarnOnly, policy.Audit} {
			name := effect + " " + mode.String()
			p, err := policy.Load("p", []byte(`{version: 1, default: allow, rules: [
				{name: result, when: result, if: '"malicious" in response.findings', effect: `+effect+`, message: m},
				{name: call, when: call, if: 'session.malicious', effect: ask, message: m},
				{name: reveal, when: call, if: 'tool.name == "mail"', effect: ask, message: m}]}`))
			if err != nil {
				t.Fatal(err)
			}
			f := newFixture(t, func(o *guard.Options) {
				o.Policy, o.Mode, o.Contents.Detection.Detector = p, mode, detect.New()
			})
			c := stated(t, "profile", `{}`, "")
			c.Host = true
			answer := guard.Answer{Result: json.RawMessage(textResult(order + " " + secret)), Own: true}
			if o := f.g.Observe(t.Context(), c, answer); o.Err != nil {
				t.Fatalf("%s: %+v", name, o)
			}
			alerts := 0
			for finding := range f.label(t).Findings.All() {
				if strings.HasPrefix(finding, "urn:weir:alert:") {
					alerts++
				}
			}
			if l := f.label(t); alerts != 1 || !l.Private {
				t.Errorf("%s: %d alerts, and the session is %+v", name, alerts, l)
			}
			f.g.Swap(p, policy.Enforce)
			if v := f.g.Before(t.Context(), noteCall()); v.Effect != policy.Ask {
				t.Errorf("%s: the next call is %v", name, v.Effect)
			}
			v := f.g.Before(t.Context(), stated(t, "mail", `{"to":"x","body":"`+secret+`"}`, ""))
			if i := slices.IndexFunc(v.Question.Values, func(v trace.Value) bool { return v.Path == "body" }); i < 0 ||
				v.Question.Values[i].From&provenance.Private == 0 {
				t.Errorf("%s: the values are %+v", name, v.Question.Values)
			}
		}
	}
}

// TestObserveWithoutRecord raises the session also where the decision cannot be recorded.
func TestObserveWithoutRecord(t *testing.T) {
	f := newFixture(t, searching(guard.Detection{Detector: detect.New()}))
	f.events.failFrom = 3 // the decision comes after the label and the alert
	o := f.g.Observe(t.Context(), lookUpCall(), guard.Answer{Result: json.RawMessage(answerOf(order)), Own: true})
	if o.Err == nil || o.Allowed() {
		t.Fatalf("%+v", o)
	}
	f.events.failFrom = 0
	if v := f.g.Before(t.Context(), noteCall()); v.Effect != policy.Ask {
		t.Errorf("the next call is %v", v.Effect)
	}
}

// TestAwaited has the agent see the answer of a tool of the host before the guard does: until then each value may be private data of it.
// The answer, once seen, vouches for nothing: a command could have told of it.
func TestAwaited(t *testing.T) {
	f := newFixture(t, func(o *guard.Options) { o.Policy = reveal(t) })
	private := func(tool, id string) *guard.Call {
		c := stated(t, tool, `{}`, "")
		c.ID, c.Host = id, true
		return c
	}
	from := func(body string) provenance.Kinds {
		t.Helper()
		v := f.g.Before(t.Context(), stated(t, "mail", `{"to":"x","body":"`+body+`"}`, ""))
		for _, value := range v.Question.Values {
			if value.Path == "body" {
				return value.From
			}
		}
		t.Fatal("there is no body")
		return 0
	}
	read := func(id string) {
		t.Helper()
		if v := f.g.Before(t.Context(), private("profile", id)); !v.Allowed() || v.Admission.Failed(t.Context()) != nil {
			t.Fatalf("%+v", v)
		}
	}
	seen := func(id, text string) {
		t.Helper()
		if o := f.g.Observe(t.Context(), private("profile", id), guard.Answer{Result: json.RawMessage(textResult(text))}); !o.Allowed() {
			t.Fatalf("%+v", o)
		}
	}
	const other = "nobody has read such words here"
	read("1")
	if k := from(other); k&provenance.Private == 0 {
		t.Errorf("while an answer is awaited: from %s", k)
	}
	seen("1", "passport HGK137803")
	if k := from(other); k&provenance.Private != 0 {
		t.Errorf("when it is seen: from %s", k)
	}
	if k := from("passport HGK137803"); k&provenance.Private == 0 || k&provenance.Trusted != 0 {
		t.Errorf("a value of it: from %s", k)
	}
	read("2")
	read("3")
	seen("3", "salary 96000")
	if k := from(other); k&provenance.Private == 0 {
		t.Errorf("while one of two is awaited: from %s", k)
	}
	seen("2", "salary 96000")
	if k := from(other); k&provenance.Private != 0 {
		t.Errorf("when both are seen: from %s", k)
	}
	for i := range 300 {
		read(fmt.Sprint("m", i))
	}
	for i := range 300 {
		seen(fmt.Sprint("m", i), "salary 96000")
	}
	if k := from(other); k&provenance.Private == 0 {
		t.Errorf("after more than are remembered: from %s", k)
	}
}
