package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/policy"
)

func TestIdle(t *testing.T) {
	for _, c := range []struct {
		name, rules string
		want        string // the problems in a few words
	}{
		{"nothing idle", `{name: a, when: call, if: session.untrusted, effect: ask}`, ""},
		{"a contradiction", `{name: a, when: call, if: session.untrusted && !session.untrusted, effect: ask}`, "rule a never matches"},
		{"false", `{name: a, when: call, if: "false", effect: ask}`, "rule a never matches"},
		{"a contradiction in a set", `{name: a, when: call, if: '"public" in tool.annotations.inputMetadata.destination && size(tool.annotations.inputMetadata.destination) == 0', effect: ask}`, "rule a never matches"},
		{"a contradiction beside arguments", `{name: a, when: call, if: 'call.arguments.x == 1 && session.private && !session.private', effect: ask}`, "rule a never matches"},
		{"two names of one fact", `{name: a, when: call, if: session.untrusted && !request.annotations.openWorldHint, effect: ask}`, "rule a never matches"},
		{"a derived fact", `{name: a, when: call, if: tool.annotations.readOnlyHint && !call.plainRead, effect: ask}`, "rule a never matches"},
		{"two values", `{name: a, when: call, if: 'server.trust == "known" && server.trust == "trusted"', effect: ask}`, "rule a never matches"},
		{"a hint that is always known", `{name: a, when: call, if: '!has(tool.annotations.readOnlyHint)', effect: ask}`, "rule a never matches"},
		{"a hint that may be unknown", `{name: a, when: call, if: '!has(tool.declared.readOnlyHint)', effect: ask}`, ""},
		{"a true hint that is unknown", `{name: a, when: call, if: 'tool.declared.readOnlyHint && !has(tool.declared.readOnlyHint)', effect: ask}`, "rule a never matches"},
		{"a condition that is not looked into", `{name: a, when: call, if: 'tool.name == "a" && tool.name == "b"', effect: ask}`, ""},

		{"the same earlier", `{name: a, when: call, if: session.private, effect: ask}
- {name: b, when: call, if: session.private && session.untrusted, effect: ask}`, "rule b never decides: whenever it matches, a does"},
		{"the same later", `{name: a, when: call, if: session.private && session.untrusted, effect: ask}
- {name: b, when: call, if: session.private, effect: ask}`, ""},
		{"stricter later", `{name: a, when: call, if: session.private && session.untrusted, effect: ask}
- {name: b, when: call, if: session.private, effect: block}`, "rule a never decides: whenever it matches, b does"},
		{"milder later", `{name: a, when: call, if: session.private, effect: block}
- {name: b, when: call, if: session.private, effect: warn}`, "rule b never decides: whenever it matches, a does"},
		{"milder, and wider", `{name: a, when: call, if: session.private, effect: block}
- {name: b, when: call, if: session.private || session.untrusted, effect: warn}`, ""},
		{"the same arguments", `{name: a, when: call, if: call.arguments.x == 1, effect: ask}
- {name: b, when: call, if: call.arguments.x == 1, effect: ask}`, "rule b never decides: whenever it matches, a does"},
		{"arguments that may fail", `{name: a, when: call, if: session.private, effect: warn}
- {name: b, when: call, if: session.private && call.arguments.x == 1, effect: warn}`, ""},
		{"arguments that fail milder", `{name: a, when: call, if: session.private, effect: ask}
- {name: b, when: call, if: session.private && call.arguments.x == 1, effect: warn}`, "rule b never decides: whenever it matches, a does"},
		{"arguments that fail first", `{name: a, when: call, if: session.private && call.arguments.x == 1, effect: warn}
- {name: b, when: call, if: session.private, effect: ask}`, ""},
		{"other moments", `{name: a, when: call, if: session.private, effect: ask}
- {name: b, when: result, if: session.private, effect: ask}`, ""},
		{"an exception from nothing", `{name: a, when: call, if: session.private, effect: allow}`, "rule a changes nothing"},
	} {
		p := load(t, "version: 1\nrules:\n- "+c.rules+"\n")
		got := ""
		for _, problem := range p.Idle() {
			got += strings.ReplaceAll(problem.Msg, `"`, "")
		}
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for _, name := range policy.Profiles() {
		p, _ := policy.Profile(name)
		if idle := p.Idle(); len(idle) > 0 {
			t.Errorf("%s: %v", name, idle)
		}
	}
}

// A rule that is reported as idle decides nothing, whatever the facts are.
func TestIdleIsSound(t *testing.T) {
	conditions := []string{
		"session.untrusted", "session.private", "session.credentials", "call.plainRead", "call.hasArguments", "call.egress", "call.crosses", "call.verbatim",
		"tool.annotations.destructiveHint", `"public" in tool.annotations.inputMetadata.destination`, "has(tool.declared.openWorldHint)",
		`has(call.arguments.to) && call.arguments.to == "a@example.com"`, "call.arguments.n > 0", `server.trust == "known"`,
	}
	rapid.Check(t, func(t *rapid.T) {
		var src strings.Builder
		src.WriteString("version: 1\nrules:\n")
		for i := range rapid.IntRange(1, 5).Draw(t, "rules") {
			a, b := rapid.SampledFrom(conditions).Draw(t, "a"), rapid.SampledFrom(conditions).Draw(t, "b")
			op := rapid.SampledFrom([]string{"&&", "||", "&& !"}).Draw(t, "op")
			effect := rapid.SampledFrom(callEffects).Draw(t, "effect")
			fmt.Fprintf(&src, "- {name: r%d, when: call, effect: %s, if: '(%s) %s(%s)'}\n", i, effect, a, op, b)
		}
		p, err := policy.Load("test.yaml", []byte(src.String()))
		if err != nil {
			t.Fatal(err)
		}
		f := drawFacts(t)
		d := p.Decide(f)
		for _, problem := range p.Idle() {
			if d.Rule != "" && strings.Contains(problem.Msg, fmt.Sprintf("rule %q never", d.Rule)) {
				t.Fatalf("%s\nand it decides %v\n%s", problem.Msg, d, src.String())
			}
		}
	})
}
