package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		rules   string
		unknown string
		want    string
	}{
		{"- {name: a, when: call, if: session.untrusted, effect: block}", "", "allow allow"},
		{"- {name: a, when: call, if: session.untrusted, effect: block}", "session.untrusted", "block allow"},
		{"- {name: a, when: call, if: session.untrusted && session.private, effect: block}", "session.untrusted", "block allow"},
		{"- {name: a, when: call, if: session.untrusted && session.malicious, effect: block}", "session.untrusted", "allow allow"},
		{"- {name: a, when: call, if: session.untrusted || session.private, effect: ask}", "session.untrusted", "ask ask"},
		{"- {name: a, when: call, if: session.private, effect: ask}\n- {name: b, when: call, if: session.untrusted, effect: block}", "session.untrusted", "block ask"},
		{"- {name: a, when: call, if: call.arguments.to == 'x', effect: block}", "call.arguments", "block allow"},
		{"- {name: a, when: call, if: '\"a\" in session.attribution', effect: ask}", "session.attribution", "ask allow"},
		{"- {name: a, when: call, if: 'session.attribution.exists(a, a == \"x\")', effect: ask}", "session.attribution", "ask allow"},
		{"- {name: a, when: call, if: has(tool.annotations.readOnlyHint), effect: ask}", "tool.annotations.readOnlyHint", "ask allow"},
	} {
		p := load(t, "version: 1\nrules:\n"+c.rules+"\n")
		s := p.Bounds(&policy.Facts{Session: policy.SessionFacts{Label: label.Label{Private: true}}}, strings.Fields(c.unknown))
		if got := fmt.Sprintf("%v %v", s.Strictest, s.Mildest); got != c.want {
			t.Errorf("%s\nwithout %q: %s, want %s", c.rules, c.unknown, got, c.want)
		}
	}
	if s := (*policy.Policy)(nil).Bounds(&policy.Facts{}, nil); s.Mildest != policy.Block {
		t.Errorf("no policy gives %v", s.Mildest)
	}
}

// Whatever the unknown facts are, the decision is inside of the span; and with all of them known the span is the decision.
func TestSpanIsSound(t *testing.T) {
	open := []string{"session.untrusted", "session.private", "session.malicious", "session.sensitivity", "session.credentials", "session.sources", "call.arguments", "call.hasArguments"}
	rapid.Check(t, func(t *rapid.T) {
		p := policy.Default()
		f := drawFacts(t)
		d := p.Decide(f)
		if s := p.Bounds(f, nil); s.Strictest != d.Effect || s.Mildest != d.Effect {
			t.Fatalf("nothing is unknown: %v to %v, and the decision is %v", s.Strictest, s.Mildest, d.Effect)
		}
		s := p.Bounds(f, open)
		if d.Effect < s.Strictest || d.Effect > s.Mildest {
			t.Fatalf("the decision %v is outside of %v to %v", d.Effect, s.Strictest, s.Mildest)
		}
		for _, m := range s.Sure {
			if !slices.ContainsFunc(d.Matched, func(o policy.Match) bool { return o.Rule == m.Rule }) {
				t.Fatalf("%s is sure, and does not match", m.Rule)
			}
		}
	})
}

// drawFacts draws a call that some tool could make in some session.
func drawFacts(t *rapid.T) *policy.Facts {
	subset := func(name string, of ...string) []string {
		return rapid.SliceOfDistinct(rapid.SampledFrom(of), func(s string) string { return s }).Draw(t, name)
	}
	hint := func(name string) contract.Hint { return contract.Hint(rapid.IntRange(0, 2).Draw(t, name)) }
	c := contract.Contract{ReadOnly: hint("readOnly"), Destructive: hint("destructive"), OpenWorld: hint("openWorld"), RequiresReview: hint("review")}
	if d := subset("destinations", "ephemeral", "internal", "public"); len(d) > 0 {
		c.Destinations = possible[contract.Destination](d)
	}
	if o := subset("outcomes", "benign", "consequential", "irreversible"); len(o) > 0 {
		c.Outcomes = possible[contract.Outcome](o)
	}
	l := label.Label{
		Untrusted: rapid.Bool().Draw(t, "untrusted"), Private: rapid.Bool().Draw(t, "private"), Malicious: rapid.Bool().Draw(t, "malicious"),
		Sensitivity: label.SetOf(classes(subset("classes", "pii", "credentials", "user"))...),
	}
	arguments := rapid.SampledFrom([]string{"", "{}", `{"to":"a@example.com"}`, `{"url":"https://example.org/","n":1}`}).Draw(t, "arguments")
	return &policy.Facts{
		Method: "tools/call", Tool: policy.ToolFacts{Name: "t", Annotations: c, Declared: c},
		Server: policy.ServerFacts{Name: "s"}, Session: policy.SessionFacts{Label: l.Normal()}, Arguments: []byte(arguments),
	}
}

func possible[T ~string](values []string) contract.Values[T] {
	var all []T
	for _, v := range values {
		all = append(all, T(v))
	}
	return contract.Possible(all...)
}

func classes(names []string) (all []label.Class) {
	for _, n := range names {
		all = append(all, label.Class(n))
	}
	return all
}
