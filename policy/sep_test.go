package policy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// sepExample is the example of SEP-1913 (Policy Layer), as JSON.
const sepExample = `{
	"rules": [
		{
			"name": "block-open-world-to-external",
			"effect": "block",
			"conditions": {
				"and": [
					{ "fact": "request.annotations.openWorldHint", "equals": true },
					{ "fact": "tool.annotations.inputMetadata.destination", "equals": "public" }
				]
			}
		},
		{
			"name": "escalate-malicious",
			"effect": "escalate",
			"conditions": { "fact": "response.annotations.maliciousActivityHint", "equals": true }
		},
		{
			"name": "confirm-irreversible-actions",
			"effect": "escalate",
			"conditions": { "fact": "tool.annotations.inputMetadata.outcomes", "equals": "irreversible" }
		}
	]
}
`

func TestSEPExample(t *testing.T) {
	p := load(t, sepExample)
	public := contract.Contract{Destinations: contract.Possible(contract.Internal, contract.Public), Outcomes: contract.Possible(contract.Benign)}
	final := contract.Contract{Destinations: contract.Possible(contract.User), Outcomes: contract.Possible(contract.Benign, contract.Irreversible)}
	for _, c := range []struct {
		facts  policy.Facts
		effect policy.Effect
		rule   string
	}{
		{policy.Facts{Tool: policy.ToolFacts{Annotations: public}}, policy.Allow, ""},
		{policy.Facts{Tool: policy.ToolFacts{Annotations: public}, Session: policy.SessionFacts{Label: untrusted}}, policy.Block, "block-open-world-to-external"},
		{policy.Facts{Tool: policy.ToolFacts{Annotations: final}, Session: policy.SessionFacts{Label: untrusted}}, policy.Ask, "confirm-irreversible-actions"},
		{policy.Facts{Phase: policy.OnResult, Response: &malicious}, policy.Ask, "escalate-malicious"},
		{policy.Facts{Phase: policy.OnResult, Response: &untrusted}, policy.Allow, ""},
	} {
		if d := p.Decide(&c.facts); d.Effect != c.effect || d.Rule != c.rule {
			t.Errorf("%+v: %v by %q, want %v by %q", c.facts, d.Effect, d.Rule, c.effect, c.rule)
		}
	}
	if r := p.Rules()[1]; r.When != policy.OnResult {
		t.Errorf("%s is decided on a %v", r.Name, r.When)
	}
}

// TestSEPAsWritten loads the example in the notation of the SEP's text, which is not quite JSON.
func TestSEPAsWritten(t *testing.T) {
	load(t, `{ rules: [ {
      name: "confirm-irreversible-actions",
      effect: "escalate",
      conditions: {
        fact: "tool.annotations.inputMetadata.outcomes",
        equals: "irreversible",
      },
    },
  ],
}`)
}

func TestSEPBesideOurs(t *testing.T) {
	p := load(t, `version: 1
default: warn
rules:
  - {name: a, when: call, if: session.private, effect: ask}
  - name: b
    effect: block
    when: result
    message: "{tool} failed"
    conditions:
      not: {or: [{fact: session.calls, equals: 0}, {fact: server.name, equals: files}]}
`)
	d := p.Decide(&policy.Facts{Phase: policy.OnResult, Session: policy.SessionFacts{Calls: 1}, Tool: policy.ToolFacts{Name: "x"}})
	if d.Effect != policy.Block || d.Message != "x failed" {
		t.Errorf("got %+v", d)
	}
}

func TestSEPMistakes(t *testing.T) {
	for _, c := range []struct{ conditions, want string }{
		{`true`, "p.yaml:1:56: condition is true or false, not a mapping\n  hint: write name: value, with the names and, or, not, fact or equals"},
		{`{}`, "p.yaml:1:56: a condition is one of and, or, not, or fact with equals\n  hint: write { fact, equals }, { and: [...] }, { or: [...] } or { not: {...} }"},
		{`{"fact":"session.private"}`, "p.yaml:1:56: a condition is one of and, or, not, or fact with equals\n  hint: write { fact, equals }, { and: [...] }, { or: [...] } or { not: {...} }"},
		{`{"and":[]}`, "p.yaml:1:63: and has no conditions\n  hint: name at least one condition"},
		{`{"or":{}}`, "p.yaml:1:62: or is a mapping, not a list\n  hint: write a list, each element after a dash"},
		{`{"nor":[]}`, "p.yaml:1:56: a condition is one of and, or, not, or fact with equals\n  hint: write { fact, equals }, { and: [...] }, { or: [...] } or { not: {...} }\np.yaml:1:57: unknown field \"nor\" in condition\n  hint: did you mean or?"},
		{`{"fact":"sesion.private","equals":true}`, "p.yaml:1:64: unknown fact sesion.private\n  hint: did you mean session.private?"},
		{`{"fact":7,"equals":true}`, "p.yaml:1:64: fact is a number, not a text\n  hint: put it in quotes if it is meant to be a text"},
		{`{"fact":"session.private","equals":"yes"}`, "p.yaml:1:91: session.private is never a text\n  hint: use true or false"},
		{`{"fact":"session.private","equals":null}`, "p.yaml:1:91: session.private is never empty\n  hint: use true or false"},
		{`{"fact":"session.calls","equals":1.5}`, "p.yaml:1:89: session.calls is never a number\n  hint: use a whole number"},
		{`{"fact":"session.sources","equals":["user"]}`, "p.yaml:1:91: equals takes one value, not a list\n  hint: write one condition a value, inside or"},
		{`{"fact":"session.sources","equals":"usr"}`, "p.yaml:1:91: session.sources is never \"usr\"\n  hint: did you mean user?"},
		{`{"fact":"session.sources","equals":{"regulated":{"scopes":["GDPR"]}}}`, "p.yaml:1:91: session.sources is never a mapping\n  hint: use untrustedPublic, trustedPublic, internal, user or system"},
		{`{"fact":"session.sensitivity","equals":{"regulated":{"scopes":[]}}}`, "p.yaml:1:118: regulated without scopes\n  hint: name at least one scope, such as GDPR"},
		{`{"fact":"session.sensitivity","equals":{"regulated":{}}}`, "p.yaml:1:96: regulated without scopes\n  hint: name at least one scope, such as GDPR"},
		{`{"fact":"call.arguments","equals":{"a":1}}`, "p.yaml:1:90: call.arguments is never a mapping\n  hint: look at arguments in a rule with if:"},
	} {
		checkErrors(t, c.conditions, `{"rules":[{"name":"a","effect":"block", "conditions": `+"\t"+c.conditions+`}]}`, c.want)
	}
	checkErrors(t, "effect", `{"rules":[{"name":"a","effect":"ask","conditions":{"fact":"session.private","equals":true}}]}`,
		"p.yaml:1:32: unknown effect \"ask\"\n  hint: use block or escalate")
}

// A condition is the SEP's form, as a naive reader sees it.
type condition struct {
	And    []condition `json:"and,omitempty"`
	Or     []condition `json:"or,omitempty"`
	Not    *condition  `json:"not,omitempty"`
	Fact   string      `json:"fact,omitempty"`
	Equals any         `json:"equals,omitempty"`
}

// holds evaluates the condition as its text says, without CEL.
func (c condition) holds(f *policy.Facts) bool {
	switch {
	case c.And != nil:
		return !slices.ContainsFunc(c.And, func(c condition) bool { return !c.holds(f) })
	case c.Or != nil:
		return slices.ContainsFunc(c.Or, func(c condition) bool { return c.holds(f) })
	case c.Not != nil:
		return !c.Not.holds(f)
	}
	v := naive[c.Fact](f)
	set, isSet := v.([]string)
	if !isSet {
		return v != nil && v == c.Equals // nil is a fact that is absent
	}
	switch want := c.Equals.(type) {
	case string:
		switch want {
		case "none":
			return set != nil && len(set) == 0
		case "regulated":
			return slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, want) })
		}
		return slices.Contains(set, want)
	case map[string]any:
		for _, scope := range want["regulated"].(map[string]any)["scopes"].([]string) {
			if slices.Contains(set, "regulated:"+scope) {
				return true
			}
		}
	}
	return false
}

// naive reads facts: a bool, a text, a set, or nil if absent.
var naive = map[string]func(*policy.Facts) any{
	"request.annotations.openWorldHint":           func(f *policy.Facts) any { return f.Session.Label.Untrusted },
	"request.annotations.attribution":             func(f *policy.Facts) any { return words(f.Session.Label.Attribution) },
	"tool.annotations.readOnlyHint":               func(f *policy.Facts) any { return f.Tool.Annotations.ReadOnly == contract.Yes },
	"tool.annotations.inputMetadata.destination":  func(f *policy.Facts) any { return values(f.Tool.Annotations.Destinations) },
	"tool.annotations.returnMetadata.sensitivity": func(f *policy.Facts) any { return values(f.Tool.Annotations.Returns) },
	"tool.declared.readOnlyHint":                  func(f *policy.Facts) any { return claim(f.Tool.Declared.ReadOnly) },
	"tool.declared.inputMetadata.outcomes":        func(f *policy.Facts) any { return values(f.Tool.Declared.Outcomes) },
	"tool.declared.inputMetadata.sensitivity":     func(f *policy.Facts) any { return values(f.Tool.Declared.Accepts) },
	"response.annotations.maliciousActivityHint":  func(f *policy.Facts) any { return f.Response.Malicious },
	"response.annotations.sensitivity":            func(f *policy.Facts) any { return words(f.Response.Sensitivity) },
	"session.sensitivity":                         func(f *policy.Facts) any { return words(f.Session.Label.Sensitivity) },
	"server.trust":                                func(f *policy.Facts) any { return f.Server.Trust.String() },
	"server.name":                                 func(f *policy.Facts) any { return f.Server.Name },
}

func words[T ~string](s label.Set[T]) []string {
	out := []string{}
	for x := range s.All() {
		out = append(out, string(x))
	}
	return out
}

func values[T ~string](v contract.Values[T]) any {
	if s, known := v.Known(); known {
		return words(s)
	}
	return nil
}

func claim(h contract.Hint) any {
	if h == contract.Unknown {
		return nil
	}
	return h == contract.Yes
}

// drawEquals draws a value to compare with, by the kind of the fact, for the property test.
func drawEquals(t *rapid.T, fact string) any {
	switch {
	case strings.HasSuffix(fact, "Hint"):
		return rapid.Bool().Draw(t, "bool")
	case strings.HasSuffix(fact, "sensitivity"):
		if rapid.Bool().Draw(t, "scopes") {
			return map[string]any{"regulated": map[string]any{"scopes": rapid.SliceOfN(rapid.SampledFrom([]string{"GDPR", "HIPAA", "a\"b\\c\x7f"}), 1, 2).Draw(t, "scope")}}
		}
		return rapid.SampledFrom([]string{"none", "user", "pii", "credentials", "regulated", "regulated:GDPR"}).Draw(t, "class")
	case strings.HasSuffix(fact, "destination"):
		return rapid.SampledFrom([]string{"public", "internal"}).Draw(t, "destination")
	case strings.HasSuffix(fact, "outcomes"):
		return rapid.SampledFrom([]string{"benign", "irreversible"}).Draw(t, "outcome")
	case strings.HasSuffix(fact, "trust"):
		return rapid.SampledFrom([]string{"untrusted", "trusted"}).Draw(t, "trust")
	}
	return rapid.SampledFrom([]string{"mcp://a", "b'\"\\\n", "é"}).Draw(t, "text")
}

func drawCondition(t *rapid.T, depth int) condition {
	kind := 0
	if depth > 0 {
		kind = rapid.IntRange(0, 3).Draw(t, "kind")
	}
	several := func() (all []condition) {
		for range rapid.IntRange(1, 3).Draw(t, "n") {
			all = append(all, drawCondition(t, depth-1))
		}
		return all
	}
	switch kind {
	case 1:
		return condition{And: several()}
	case 2:
		return condition{Or: several()}
	case 3:
		inner := drawCondition(t, depth-1)
		return condition{Not: &inner}
	}
	names := make([]string, 0, len(naive))
	for name := range naive {
		names = append(names, name)
	}
	slices.Sort(names)
	fact := rapid.SampledFrom(names).Draw(t, "fact")
	return condition{Fact: fact, Equals: drawEquals(t, fact)}
}

func drawSet[T ~string](t *rapid.T, name string, from ...T) label.Set[T] {
	return label.SetOf(rapid.SliceOfDistinct(rapid.SampledFrom(from), func(x T) T { return x }).Draw(t, name)...)
}

func drawValues[T ~string](t *rapid.T, name string, from ...T) contract.Values[T] {
	if rapid.Bool().Draw(t, name+" unknown") {
		return contract.Values[T]{}
	}
	return contract.Possible(drawSet(t, name, from...).Slice()...)
}

func drawContract(t *rapid.T) contract.Contract {
	classes := []label.Class{label.User, label.PII, label.Credentials, label.Regulated, label.RegulatedBy("GDPR"), label.RegulatedBy("a\"b\\c\x7f")}
	return contract.Contract{
		ReadOnly:     contract.Hint(rapid.IntRange(0, 2).Draw(t, "readOnly")),
		Destinations: drawValues(t, "destinations", contract.Public, contract.Internal, contract.User),
		Accepts:      drawValues(t, "accepts", classes...),
		Outcomes:     drawValues(t, "outcomes", contract.Benign, contract.Irreversible),
		Returns:      drawValues(t, "returns", classes...),
	}
}

func drawLabel(t *rapid.T) label.Label {
	return label.Label{
		Untrusted:   rapid.Bool().Draw(t, "untrusted"),
		Malicious:   rapid.Bool().Draw(t, "malicious"),
		Sensitivity: drawSet(t, "sensitivity", label.User, label.PII, label.Credentials, label.Regulated, label.RegulatedBy("GDPR")),
		Attribution: drawSet(t, "attribution", "mcp://a", "b'\"\\\n", "é"),
	}
}

// TestSEPMeaning compares the translated form with a naive reading of the SEP's.
func TestSEPMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCondition(t, 3)
		response := drawLabel(t)
		f := &policy.Facts{
			Phase:    policy.OnResult,
			Tool:     policy.ToolFacts{Declared: drawContract(t), Annotations: drawContract(t).Assume()},
			Server:   policy.ServerFacts{Name: rapid.SampledFrom([]string{"mcp://a", "b'\"\\\n", "é"}).Draw(t, "server"), Trust: contract.Trust(rapid.IntRange(0, 2).Draw(t, "trust"))},
			Session:  policy.SessionFacts{Label: drawLabel(t)},
			Response: &response,
		}
		text, err := json.Marshal(map[string]any{"rules": []any{map[string]any{"name": "r", "effect": "block", "when": "result", "conditions": c}}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Load("p.json", text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		d := p.Decide(f)
		if got, want := fmt.Sprint(d.Rule == "r", d.Problems), fmt.Sprint(c.holds(f), []policy.Problem(nil)); got != want {
			t.Fatalf("%s\nas %s\nof %+v: got %s, want %s", text, p.Rules()[0].If, f, got, want)
		}
	})
}
