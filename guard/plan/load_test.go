package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/guard/plan"
)

// A file is read as weir_plan reads its arguments, and each mistake has its place.
func TestLoad(t *testing.T) {
	const yaml = "# the rent\ngoal: pay the rent\nsteps:\n  - id: s1\n    tool: page\n    arguments: {url: \"https://a.example\", deep: [1.50, true, null, {a: |\n      text\n      }]}\n" +
		"  - {id: s2, tool: pay, repeat: 2, arguments: {amount: {from: s1, type: number}}}\n"
	got, err := plan.Load("rent.yaml", []byte(strings.Replace(yaml, "{a: |\n      text\n      }", "{a: text}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := plan.Parse(json.RawMessage(`{"goal":"pay the rent","steps":[{"id":"s1","tool":"page","arguments":{"url":"https://a.example",` +
		`"deep":[1.50,true,null,{"a":"text"}]}},{"id":"s2","tool":"pay","repeat":2,"arguments":{"amount":{"from":"s1","type":"number"}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want.Steps[0].Line, want.Steps[1].Line = 4, 7
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for src, want := range map[string]string{
		"":                                  "p.yaml: the file is empty",
		"goal: g":                           "p.yaml:1:1: a plan has from 1 to 24 steps",
		"goal: g\nsteps: [{id: a, tol: b}]": `p.yaml:2:17: unknown field "tol" in step`,
		"goal: g\nsteps:\n- {id: a, tool: b}\n- {id: a, tool: b}":                    "p.yaml:4:3: step 2: another step has the same id",
		"goal: g\nsteps:\n- {id: a, tool: b, arguments: {n: 0x10}}":                  "p.yaml:3:35: a plan has no such value",
		"goal: g\nsteps:\n- {id: a, tool: b, arguments: {n: &x 1}}":                  "p.yaml:3:35: a plan has no such value",
		"goal: g\nsteps:\n- {id: a, tool: b, arguments: {n: 1, n: 2}}":               "p.yaml:3:38",
		"goal: g\nsteps:\n- {id: a, tool: b, arguments: {n: \"[[w12345]]\"}}":        "p.yaml:3:3: step 1: a handle of a value is no constant",
		"goal: g\nsteps:\n- {id: a, tool: b, repeat: many}":                          "p.yaml:1:1: the arguments are not those of the tool's schema",
		"goal: g\nsteps:\n- {id: a, tool: b, arguments: {t: {from: a, type: text}}}": "step 1: a placeholder is from no earlier step",
		"goal: g\nroot:*:20228: x":                                                   "p.yaml:2:1: unknown field in the plan",
		"goal: \xff":                                                                 "not valid UTF-8",
	} {
		if _, err := plan.Load("p.yaml", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", src, err, want)
		}
	}
}

// Whatever a plan says: if it is read, its placeholders come from earlier steps and have types, its example is of it
// and has none left, its constants are held to the byte, and reading it again gives the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"goal":"pay","steps":[{"id":"s1","tool":"page","arguments":{"url":"a"}},{"id":"s2","tool":"pay","arguments":` +
		`{"to":["ann",{"from":"s1","type":"one_of","options":["a","b"]}],"n":{"from":"s1","type":"number","path":"/x"}},"repeat":2}]}`))
	f.Add([]byte(`{"goal":"","steps":[{"id":"a","tool":"t","arguments":{"from":"a","type":"date"},"optional":true}],"check":true}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := plan.Parse(src)
		if err != nil {
			return
		}
		if again, err := plan.Load("p.json", src); err == nil { // YAML has fewer spellings, and no other readings
			for i := range again.Steps {
				again.Steps[i].Line = 0
			}
			if diff := cmp.Diff(p, again); diff != "" && !p.Check {
				t.Errorf("as a file: %s", diff)
			}
		}
		before := map[string]bool{}
		for i := range p.Steps {
			s := &p.Steps[i]
			places := s.Placeholders()
			for _, at := range places {
				if !before[at.From] || at.Type == "" {
					t.Errorf("a placeholder from %q of type %q", at.From, at.Type)
				}
			}
			before[s.ID] = true
			example := &plan.Step{Arguments: s.Example()}
			if left := example.Placeholders(); len(left) > 0 {
				t.Errorf("the example has placeholders: %v", left)
			}
			filled := 0
			all := func(plan.Placeholder, plan.Argument) bool { filled++; return true }
			none := func(plan.Placeholder, plan.Argument) bool { return false }
			if !s.Matches(example.Arguments, nil, all) || filled != len(places) {
				t.Errorf("the example %s with %d of %d values is not of %s", example.Arguments, filled, len(places), s.Arguments)
			}
			if s.Matches(example.Arguments, nil, none) != (len(places) == 0) {
				t.Errorf("%s needs no value of its placeholders", s.Arguments)
			}
			more := append(append([]byte(`{"\u0001more":1,`), example.Arguments[1:]...), ' ')
			if len(example.Arguments) > 2 && s.Matches(more, nil, all) {
				t.Errorf("an argument more is taken: %s", more)
			}
		}
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := plan.Parse(raw)
		if len(raw) <= 5000 && err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if diff := cmp.Diff(p, again); err == nil && diff != "" {
			t.Error(diff)
		}
	})
}
