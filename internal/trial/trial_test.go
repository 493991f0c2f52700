package trial_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/trial"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

const examples = "../../policy/examples"

// shipped returns the cases of the examples and profiles, by file, each with its policy.
func shipped(t *testing.T) map[string]*trial.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(examples, "*.cases.yaml"))
	if err != nil || len(paths) != 4+len(policy.Profiles()) {
		t.Fatalf("%d files of cases, %v", len(paths), err)
	}
	files := map[string]*trial.File{}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := trial.Load(path, src)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = f
	}
	return files
}

func source(t *testing.T, f *trial.File) []byte {
	t.Helper()
	if src, ok := policy.ProfileSource(f.Policy); ok {
		return src
	}
	src, err := os.ReadFile(filepath.Join(examples, f.Policy))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func load(t testing.TB, src string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("p.yaml", []byte(src))
	if err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	return p
}

// TestShipped holds each profile and each example to its cases, of which every rule decides one.
func TestShipped(t *testing.T) {
	for path, f := range shipped(t) {
		p := load(t, string(source(t, f)))
		r := trial.Run(p, f.Cases)
		for _, c := range r.Cases {
			if !c.OK {
				t.Errorf("%s:%d: %s: %q", path, c.Line, c.Name, c.Wrong)
			}
		}
		if idle := append(r.Idle(), messages(p.Idle())...); len(idle) > 0 {
			t.Errorf("%s: idle: %q", path, idle)
		}
	}
}

func messages(problems []policy.Problem) (all []string) {
	for _, p := range problems {
		all = append(all, p.Msg)
	}
	return all
}

// TestShippedMutants takes each rule away and makes each milder: a case sees it.
func TestShippedMutants(t *testing.T) {
	for path, f := range shipped(t) {
		p := load(t, string(source(t, f)))
		for i, r := range p.Rules() {
			for _, effect := range []string{"", (r.Effect + 1).String(), (r.Effect - 1).String()} {
				if strings.HasPrefix(effect, "unknown") || effect == policy.Hide.String() && r.When == policy.OnCall {
					continue
				}
				if trial.Run(load(t, render(p, i, effect)), f.Cases).OK {
					t.Errorf("%s: no case sees %s with the effect %q", path, r.Name, effect)
				}
			}
		}
	}
}

// render writes a policy whose rule i has another effect, or is not there.
func render(p *policy.Policy, i int, effect string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\ndefault: %s\nrules:\n", p.Fallback())
	rules := p.Rules()
	for j, r := range rules {
		e := r.Effect.String()
		if j == i {
			e = effect
		}
		if e == "" {
			fmt.Fprintf(&b, "- {name: %s, when: %s, effect: allow, if: 'false'}\n", r.Name, r.When)
			continue
		}
		fmt.Fprintf(&b, "- {name: %s, when: %s, effect: %s, if: '%s'}\n", r.Name, r.When, e, strings.ReplaceAll(strings.ReplaceAll(r.If, "\n", " "), "'", "''"))
	}
	return b.String()
}

func TestLoadComplains(t *testing.T) {
	const head = "version: 1\ngiven:\n  g: {session.private: true}\n"
	for _, c := range []struct{ name, src, want string }{
		{"no cases", "version: 1\n", "c.yaml:1:1: the file has no cases"},
		{"no version", "cases: []\n", "c.yaml:1:1: the file has no version"},
		{"another version", "version: 2\ncases: []\n", "c.yaml:1:10: unknown version"},
		{"a misspelt field", head + "cases:\n- {name: a, efect: ask}\n", `c.yaml:5:13: unknown field "efect" in case`},
		{"no effect", head + "cases:\n- {name: a}\n", "the case has no effect"},
		{"an effect that is none", head + "cases:\n- {name: a, effect: deny}\n", `c.yaml:5:21: unknown effect "deny"`},
		{"a moment that is none", head + "cases:\n- {name: a, effect: ask, when: later}\n", `unknown moment "later"`},
		{"two of one name", head + "cases:\n- {name: a, effect: ask}\n- {name: a, effect: ask}\n", "a second case with the name"},
		{"a misspelt fact", head + "cases:\n- name: a\n  effect: ask\n  facts:\n    session.untrused: true\n", "c.yaml:8:5: unknown fact session.untrused\n  hint: did you mean session.untrusted?"},
		{"a fact that follows", head + "cases:\n- {name: a, effect: ask, facts: {call.egress: true}}\n", "call.egress follows from other facts"},
		{"something not given", head + "cases:\n- {name: a, effect: ask, with: [h]}\n", `nothing is given under the name "h"`},
		{"arguments that are none", head + "cases:\n- {name: a, effect: ask, facts: {call.arguments: [1]}}\n", "call.arguments is not an object"},
		{"a misspelt fact that is shared", "version: 1\ngiven:\n  g: {a: 1}\ncases:\n- {name: a, effect: ask, with: [g]}\n- {name: b, effect: ask, with: [g]}\n", "c.yaml:3:7: unknown fact a"},
	} {
		_, err := trial.Load("c.yaml", []byte(c.src))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if err != nil && strings.Count(err.Error(), "unknown fact a") > 1 {
			t.Errorf("%s: told twice: %v", c.name, err)
		}
	}
}

const sample = `version: 1
cases:
- {name: arguments, facts: {call.arguments: {to: a@example.com, n: 3}}, effect: ask, rule: argued, matched: [argued]}
- {name: a wrong effect, facts: {session.private: true}, effect: allow}
- {name: a wrong rule, facts: {session.private: true}, effect: block, rule: argued}
- {name: a rule too many, facts: {session.private: true}, effect: block, matched: []}
- {name: a rule too few, facts: {call.arguments: {}}, effect: allow, matched: [argued]}
- {name: left open, facts: {call.hasArguments: true}, effect: allow}
`

func TestRun(t *testing.T) {
	p := load(t, `version: 1
rules:
- {name: argued, when: call, effect: ask, if: 'has(call.arguments.n) && call.arguments.n == 3'}
- {name: private, when: call, effect: block, if: 'session.private'}
- {name: other, when: result, effect: block, if: 'response.isError'}
`)
	f, err := trial.Load("c.yaml", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	r := trial.Run(p, f.Cases)
	var got [][]string
	for _, c := range r.Cases {
		got = append(got, c.Wrong)
	}
	want := [][]string{
		nil, {"the effect is block, not allow"}, {"it is decided by private, not by argued"}, {"rule private matches too"},
		{"rule argued does not match"}, {"the effect is from ask to allow: the case leaves facts open"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	coverage := []trial.Coverage{{"argued", "call", 1, 1}, {"private", "call", 3, 3}, {"other", "result", 0, 0}}
	if diff := cmp.Diff(coverage, r.Rules); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"other"}, r.Idle()); diff != "" || r.OK {
		t.Error(r.OK, diff)
	}
}

// decision is an event as a guard records it.
func decision(f *policy.Facts, effect string) *record.Event {
	e := record.New(record.Decision, time.Now())
	e.Server, e.Method, e.Name, e.Phase, e.Effect = f.Server.Name, f.Method, f.Tool.Name, f.Phase.String(), effect
	e.Label, e.Facts = &f.Session.Label, f.Encode()
	return e
}

func TestReplay(t *testing.T) {
	facts := func(l label.Label, arguments string) *policy.Facts {
		return &policy.Facts{
			Method: "tools/call", Tool: policy.ToolFacts{Name: "send", Annotations: contract.Pessimistic()}, Server: policy.ServerFacts{Name: "mail"},
			Session: policy.SessionFacts{Label: l}, Arguments: []byte(arguments),
		}
	}
	private, clean := label.Label{Private: true}, label.Label{}
	softened := decision(facts(private, "{}"), "warn")
	softened.Decided = "block"
	held, old, rise := decision(facts(clean, "{}"), "block"), decision(facts(clean, "{}"), "allow"), record.New(record.Label, time.Now())
	held.Rule, old.Facts = "weir:held", nil
	broken := decision(facts(clean, "{}"), "allow")
	broken.Facts = json.RawMessage(`{"session.calls":"many"}`)
	var r trial.Replay
	p := load(t, "version: 1\nrules:\n- {name: private, when: call, effect: block, if: 'session.private'}\n"+
		"- {name: argued, when: call, effect: ask, if: 'has(call.arguments.to)'}\n")
	for _, e := range []*record.Event{
		decision(facts(private, "{}"), "allow"), decision(facts(private, `{"to":"a"}`), "allow"), decision(facts(clean, `{"to":"a"}`), "allow"),
		decision(facts(clean, "{}"), "allow"), softened, held, old, rise, broken,
	} {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		read, err := trial.ReadEvent(line)
		if err != nil {
			t.Fatal(err)
		}
		r.Add(p, read)
	}
	r.Finish()
	if got, want := [...]int{r.Decisions, r.Same, r.Changed, r.Open, r.NoFacts}, [...]int{7, 2, 2, 1, 2}; got != want {
		t.Errorf("decisions, same, changed, open, no facts: %v, want %v", got, want)
	}
	for name, c := range map[string][2][]trial.Count{
		"changes": {r.Changes, {{"allow → block", 2}}}, "rules": {r.Rules, {{"private", 2}}},
		"tools": {r.Tools, {{"mail/send", 2}}}, "unknown": {r.Unknown, {{"call.arguments", 1}}},
	} {
		if diff := cmp.Diff(c[1], c[0]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if len(r.Examples) != 2 || r.Examples[0].Rule != "private" {
		t.Errorf("examples: %+v", r.Examples)
	}
	if _, err := trial.ReadEvent([]byte(`{"v":2}`)); err == nil {
		t.Error("an event of another version is read")
	}
}

// A decision whose arguments were not traced, since no rule asked, stays open under a policy that asks where they come from, and under no other.
func TestReplayOfUntracedReads(t *testing.T) {
	reading := contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.No}.Assume()
	for rule, want := range map[string][2]int{ // open, same
		"session.private":                              {0, 1},
		`call.plainRead && "private" in call.from`:     {1, 0},
		`session.private && "private" in call.from`:    {0, 1},
		`call.roles == "stated" && !call.plainRead`:    {0, 1},
		`call.plainRead && call.leak.total > 10`:       {1, 0},
		`session.credentials && call.crosses`:          {0, 1},
		`call.plainRead && size(call.arguments) > 100`: {1, 0},
	} {
		f := &policy.Facts{Method: "tools/call", Tool: policy.ToolFacts{Name: "read", Annotations: reading, Declared: reading}, Arguments: []byte(`{"a":1}`)}
		var untraced trial.Replay
		p := load(t, "version: 1\nrules: [{name: r, when: call, effect: ask, if: '"+rule+"'}]\n")
		untraced.Add(p, decision(f, "allow"))
		if got := [2]int{untraced.Open, untraced.Same}; got != want || untraced.Decisions != 1 {
			t.Errorf("%s: open and same: %v, want %v", rule, got, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("version: 1\ngiven: {a: {session.calls: 1e9}}\ncases: [{name: x, with: [a], effect: ask, facts: {call.reads: null}}]"))
	p := policy.Default()
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := trial.Load("c.yaml", src)
		if err != nil {
			return
		}
		for _, c := range trial.Run(p, file.Cases).Cases {
			if c.OK != (len(c.Wrong) == 0) || slices.Contains(c.Wrong, "") {
				t.Errorf("%+v", c)
			}
		}
	})
}
