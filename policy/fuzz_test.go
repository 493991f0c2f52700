package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
)

// FuzzLoad reads any bytes as a policy: it never panics, problems lie inside the file, and a policy that loads decides the same each time.
func FuzzLoad(f *testing.F) {
	f.Add(policy.DefaultSource())
	f.Add([]byte(sepExample))
	f.Add(manyRules(5))
	f.Add([]byte(one("call", "ask", `call.arguments.to.exists(a, a.matches("x+"))`)))
	f.Add([]byte("version: 1\nrules:\n- name: a\n  when: result\n  effect: warn\n  if: |-\n    response.isError &&\n    'é' in session.attribution\n"))
	f.Add([]byte("version: 1\ndefault: block\nrules: []\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := policy.Load("f", src)
		if err != nil {
			for _, problem := range err.(policy.Errors) {
				if problem.Msg == "" || problem.Line < 0 || (problem.Line > 0) != (problem.Col > 0) {
					t.Fatalf("problem %+v", problem)
				}
			}
			return
		}
		for phase := policy.OnCall; phase <= policy.OnResult; phase++ {
			facts := everything()
			facts.Phase = phase
			first, second := p.Decide(facts), p.Decide(facts)
			if diff := cmp.Diff(first, second); diff != "" {
				t.Fatal(diff)
			}
			if len(first.Problems) > 0 && first.Effect > policy.Ask {
				t.Fatalf("a rule could not be evaluated, and the effect is %v", first.Effect)
			}
		}
	})
}

// FuzzArguments decides about any bytes as arguments: whatever cannot be read is never allowed.
func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"to":["a"],"n":1.5e3,"deep":{"x":[null,true]}}`))
	f.Add([]byte(`{`))
	f.Add([]byte(` { } `))
	f.Add([]byte(`null`))
	p := load(f, "version: 1\ndefault: block\nrules:\n"+
		"- {name: a, when: call, effect: allow, if: 'has(call.arguments.to) || !call.hasArguments || size(call.arguments) > 0'}\n"+
		"- {name: b, when: call, effect: allow, if: 'call.arguments.all(k, call.arguments[k] == call.arguments[k])'}\n")
	f.Fuzz(func(t *testing.T, args []byte) {
		d := p.Decide(&policy.Facts{Arguments: args})
		if len(args) > 0 && rawjson.Check(args) != nil && json.Valid(args) {
			return // two members of one name, or one that no parser should read; the caller has refused these
		}
		var object map[string]any
		readable := len(args) == 0 || json.Unmarshal(args, &object) == nil
		if !readable && len(d.Problems) == 0 {
			t.Fatalf("%q is read: %+v", args, d)
		}
		if len(d.Problems) > 0 && d.Effect > policy.Ask {
			t.Fatalf("%q could not be read, and the effect is %v", args, d.Effect)
		}
	})
}
