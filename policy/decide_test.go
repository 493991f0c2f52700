package policy_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// one returns a file of one rule.
func one(when, effect, condition string) string {
	return "version: 1\nrules:\n- {name: r, when: " + when + ", effect: " + effect + ", if: '" +
		strings.ReplaceAll(condition, "'", "''") + "'}\n"
}

// everything is facts of which none is at its zero value.
func everything() *policy.Facts {
	declared := contract.Contract{
		ReadOnly: contract.No, Destructive: contract.Yes, Malicious: contract.Yes,
		Destinations: contract.Possible(contract.Public, contract.User),
		Accepts:      contract.Possible(label.PII, label.RegulatedBy("GDPR")),
		Outcomes:     contract.Possible(contract.Irreversible),
		Returns:      contract.Possible[label.Class](),
		Attribution:  label.SetOf("mcp://mail/send"),
	}
	result := label.Label{
		Untrusted: true, Malicious: true, Sources: label.SetOf(label.UntrustedPublic),
		Attribution: label.SetOf("https://example.com"),
	}
	return &policy.Facts{
		Method: "tools/call",
		Tool:   policy.ToolFacts{Name: "send", Declared: declared, Annotations: contract.Effective(declared, contract.Trusted)},
		Server: policy.ServerFacts{Name: "mail", Trust: contract.Trusted},
		Session: policy.SessionFacts{ID: "s1", Parent: "s0", Calls: 3, Label: label.Label{
			Untrusted: true, Private: true, Malicious: true, Sensitivity: label.SetOf(label.PII, label.Credentials),
			Sources: label.SetOf(label.Internal), Attribution: label.SetOf("mcp://b", "mcp://a"),
		}},
		Arguments:     []byte(`{"to":["ann@acme.com","bob@acme.com"],"amount":12.5,"id":9007199254740993,"deep":{"b":null,"a":1}}`),
		Response:      &result,
		ResponseError: true,
	}
}

// TestFacts reads every fact; each line is true of everything().
func TestFacts(t *testing.T) {
	for _, condition := range []string{
		`request.annotations.openWorldHint`,
		`request.annotations.attribution == ["mcp://a", "mcp://b"]`,
		`tool.name == "send" && call.name == "send"`,
		`!tool.annotations.readOnlyHint && tool.annotations.destructiveHint && !tool.annotations.idempotentHint`,
		`tool.annotations.openWorldHint && tool.annotations.maliciousActivityHint`,
		`tool.annotations.inputMetadata.destination == ["public", "user"]`,
		`tool.annotations.inputMetadata.sensitivity == ["pii", "regulated:GDPR"]`,
		`tool.annotations.inputMetadata.outcomes == ["irreversible"]`,
		`tool.annotations.returnMetadata.source == ["untrustedPublic"]`,
		`has(tool.annotations.returnMetadata.sensitivity) && size(tool.annotations.returnMetadata.sensitivity) == 0`,
		`"mcp://mail/send" in tool.annotations.attribution && "mcp://mail/send" in tool.declared.attribution`,
		`has(tool.declared.readOnlyHint) && !tool.declared.readOnlyHint`,
		`!has(tool.declared.openWorldHint) && !tool.declared.openWorldHint && has(tool.annotations.openWorldHint)`,
		`!has(tool.declared.idempotentHint) && tool.declared.destructiveHint && tool.declared.maliciousActivityHint`,
		`!has(tool.declared.returnMetadata.source) && tool.declared.returnMetadata.source == []`,
		`has(tool.declared.returnMetadata.sensitivity) && tool.declared.returnMetadata.sensitivity == []`,
		`"public" in tool.declared.inputMetadata.destination && "pii" in tool.declared.inputMetadata.sensitivity`,
		`"irreversible" in tool.declared.inputMetadata.outcomes`,
		`"readOnlyHint" in tool.declares && "inputMetadata.destination" in tool.declares && !("openWorldHint" in tool.declares)`,
		`response.annotations.openWorldHint && response.annotations.maliciousActivityHint && !response.annotations.private`,
		`response.annotations.attribution == ["https://example.com"] && response.annotations.sensitivity == []`,
		`response.annotations.sources == ["untrustedPublic"] && response.isError && has(response.isError)`,
		`session.id == "s1" && session.parent == "s0" && session.calls == 3`,
		`session.untrusted && session.private && session.malicious && session.credentials`,
		`session.sensitivity == ["credentials", "pii"] && session.sources == ["internal"] && size(session.attribution) == 2`,
		`server.name == "mail" && server.trust == "trusted"`,
		`call.method == "tools/call" && !call.plainRead && call.hasArguments`,
		`call.arguments.to.all(a, a.endsWith("@acme.com")) && size(call.arguments.to) == 2`,
		`call.arguments.amount > 12 && call.arguments.amount < 13 && call.arguments.id == 9007199254740993`,
		`call.arguments.deep.b == null && has(call.arguments.deep.a) && !has(call.arguments.deep.c)`,
		`call.arguments.map(k, k) == ["amount", "deep", "id", "to"] && call.arguments.deep.map(k, k)[0] == "a"`,
		`"to" in call.arguments && call.arguments["to"][0].matches("^a.*@acme[.]com$")`,
		`call.arguments == call.arguments && size(call.arguments) == 4 && type(call.arguments.to) == list`,
	} {
		f := everything()
		f.Phase = policy.OnResult
		d := load(t, one("result", "ask", condition)).Decide(f)
		if d.Effect != policy.Ask || len(d.Problems) > 0 {
			t.Errorf("%s: %v %v", condition, d.Effect, d.Problems)
		}
	}
}

func TestUnknownIsWorst(t *testing.T) {
	for _, condition := range []string{
		`tool.annotations.destructiveHint && tool.annotations.openWorldHint`,
		`!tool.annotations.readOnlyHint && !tool.annotations.idempotentHint && !call.plainRead`,
		`"public" in tool.annotations.inputMetadata.destination && "irreversible" in tool.annotations.inputMetadata.outcomes`,
		`"untrustedPublic" in tool.annotations.returnMetadata.source && !has(tool.annotations.returnMetadata.sensitivity)`,
		`tool.declares == [] && server.trust == "untrusted" && !call.hasArguments && call.arguments == {}`,
	} {
		if d := load(t, one("call", "ask", condition)).Decide(&policy.Facts{}); d.Effect != policy.Ask || len(d.Problems) > 0 {
			t.Errorf("of facts that say nothing, %s: %+v", condition, d)
		}
	}
}

// TestStrictest decides by rules that always match, in the order of their effects.
func TestStrictest(t *testing.T) {
	for _, c := range []struct {
		fallback string
		effects  string
		want     policy.Effect
		rule     string
	}{
		{"allow", "", policy.Allow, ""},
		{"block", "", policy.Block, ""},
		{"block", "allow", policy.Allow, "r0"},
		{"block", "warn", policy.Warn, "r0"},
		{"allow", "warn", policy.Warn, "r0"},
		{"allow", "allow warn", policy.Warn, "r1"},
		{"allow", "warn ask allow", policy.Ask, "r1"},
		{"allow", "ask ask", policy.Ask, "r0"},
		{"allow", "allow block ask block", policy.Block, "r1"},
	} {
		src := "version: 1\ndefault: " + c.fallback + "\nrules:\n"
		for i, e := range strings.Fields(c.effects) {
			src += "- {name: r" + string(rune('0'+i)) + ", when: call, if: true, effect: " + e + "}\n"
		}
		if c.effects == "" {
			src += "  []\n"
		}
		d := load(t, src).Decide(&policy.Facts{})
		if d.Effect != c.want || d.Rule != c.rule || len(d.Matched) != len(strings.Fields(c.effects)) {
			t.Errorf("default %s, rules %q: %v by %q, want %v by %q", c.fallback, c.effects, d.Effect, d.Rule, c.want, c.rule)
		}
	}
}

// TestFailure evaluates rules that cannot be evaluated: they count as matched, and never allow.
func TestFailure(t *testing.T) {
	long := strings.Repeat("x", 3000)
	many := make([]string, 5000)
	for i := range many {
		many[i] = "mcp://" + strings.Repeat("y", i%50) + string(rune('a'+i%26)) + strings.Repeat("z", i/50)
	}
	facts := &policy.Facts{
		Tool: policy.ToolFacts{Name: long}, Session: policy.SessionFacts{Label: label.Label{Attribution: label.SetOf(many...)}},
		Arguments: []byte(`{"n":1,"s":"x"}`),
	}
	broken := &policy.Facts{Arguments: []byte(`{"n":`)}
	for _, c := range []struct {
		facts             *policy.Facts
		effect, condition string
		want              policy.Effect
		problem           string
	}{
		{facts, "allow", `call.arguments.to == "x"`, policy.Ask, "no such key: to"},
		{facts, "warn", `call.arguments.to == "x"`, policy.Ask, "no such key: to"},
		{facts, "ask", `call.arguments.to == "x"`, policy.Ask, "no such key: to"},
		{facts, "block", `call.arguments.to == "x"`, policy.Block, "no such key: to"},
		{facts, "allow", `call.arguments.n.startsWith("x")`, policy.Ask, "no such overload"},
		{facts, "allow", `true && call.arguments.s`, policy.Ask, "no such overload"},
		{facts, "allow", `1 / (size(call.arguments) - 2) == 0`, policy.Ask, "division by zero"},
		{facts, "allow", `tool.name == "x"`, policy.Ask, "a text of 3000 bytes is longer than the 2048 that rules may read"},
		{facts, "allow", `"x" in session.attribution`, policy.Ask, "larger than the 4096"},
		{broken, "allow", `has(call.arguments.n)`, policy.Ask, "reading arguments: unexpected EOF"},
		{broken, "allow", `size(call.arguments) > 0 || true`, policy.Allow, ""}, // true whatever the arguments are
		{&policy.Facts{Arguments: []byte(`[1]`)}, "allow", `has(call.arguments.n)`, policy.Ask, "cannot unmarshal array"},
		{&policy.Facts{Arguments: []byte(`{} {}`)}, "allow", `call.arguments == {}`, policy.Ask, "more than one value"},
		{&policy.Facts{Arguments: []byte(` `)}, "allow", `call.arguments == {}`, policy.Ask, "reading arguments: EOF"},
		{&policy.Facts{Arguments: []byte(`null`)}, "allow", `call.arguments == {} && !call.hasArguments`, policy.Allow, ""},
		{&policy.Facts{Arguments: []byte(`{"a":1} {}`)}, "allow", `call.arguments == {}`, policy.Ask, "more than one value"},
		{&policy.Facts{Arguments: []byte(`{"a":1e999}`)}, "allow", `call.arguments == {}`, policy.Ask, "number 1e999 is out of range"},
		{&policy.Facts{Arguments: []byte(`{"a":"` + strings.Repeat("x", 70000) + `"}`)}, "allow", `has(call.arguments.a)`, policy.Ask, "arguments of 70008 bytes"},
		{&policy.Facts{Arguments: numbers(20000)}, "allow", `call.arguments.n.exists(a, call.arguments.n.exists(b, a + b < 0))`, policy.Ask, "cost limit exceeded"},
	} {
		d := load(t, one("call", c.effect, c.condition)).Decide(c.facts)
		if d.Effect != c.want {
			t.Errorf("%s %s: %v, want %v", c.effect, c.condition, d.Effect, c.want)
		}
		if got := errorsOf(d.Problems); !strings.Contains(got, c.problem) || (c.problem == "") != (got == "") {
			t.Errorf("%s: problems %q, want %q", c.condition, got, c.problem)
		}
		if c.problem != "" && (d.Rule != "r" || len(d.Matched) != 1 || !strings.HasPrefix(d.Problems[0].String(), "test.yaml:3:")) {
			t.Errorf("%s: %+v", c.condition, d)
		}
	}
}

// TestFailureUnderBlock has an exception that cannot be evaluated: the default stands.
func TestFailureUnderBlock(t *testing.T) {
	src := "version: 1\ndefault: block\nrules:\n- {name: r, when: call, effect: allow, if: call.arguments.to == 'x'}\n"
	if d := load(t, src).Decide(&policy.Facts{}); d.Effect != policy.Block || d.Rule != "r" {
		t.Errorf("got %+v", d)
	}
}

func numbers(n int) []byte { return []byte(`{"n":[1` + strings.Repeat(",1", n-1) + `]}`) }

func errorsOf(problems []policy.Problem) string {
	if len(problems) == 0 {
		return ""
	}
	return policy.Errors(problems).Error()
}

func TestResultWithoutLabel(t *testing.T) {
	p := load(t, one("result", "allow", "response.annotations.openWorldHint"))
	d := p.Decide(&policy.Facts{Phase: policy.OnResult})
	if d.Effect != policy.Ask || !strings.Contains(errorsOf(d.Problems), "there is no result") {
		t.Errorf("got %+v", d)
	}
}

func TestZeroBlocks(t *testing.T) {
	var none *policy.Policy
	for name, d := range map[string]policy.Decision{
		"nil policy":     none.Decide(&policy.Facts{}),
		"zero policy":    (&policy.Policy{}).Decide(&policy.Facts{}),
		"nil facts":      policy.Default().Decide(nil),
		"unknown phase":  policy.Default().Decide(&policy.Facts{Phase: 7}),
		"zero decision":  {},
		"other fallback": {Effect: none.Fallback()},
	} {
		if d.Effect != policy.Block {
			t.Errorf("%s: %v", name, d.Effect)
		}
	}
	if none.Rules() != nil || none.Digest() != "" {
		t.Error("a nil policy has rules or a digest")
	}
}

func TestMessage(t *testing.T) {
	src := "version: 1\nrules:\n- {name: r, when: call, if: true, effect: ask, message: 'may {tool} of {server} act?'}\n"
	for _, c := range []struct{ tool, want string }{
		{"send", "may send of mail act?"},
		{"send\nall good, press yes", `may "send\nall good, press yes" of mail act?`},
		{"a\u202eb", `may "a\u202eb" of mail act?`},
		{"{server}", `may "{server}" of mail act?`},
		{"read-file_2.x/y", "may read-file_2.x/y of mail act?"},
		{"the user agreed to this; it", `may "the user agreed to this; it" of mail act?`},
		{"", `may "" of mail act?`},
		{strings.Repeat("é", 300), `may "` + strings.Repeat("é", 100) + `…" of mail act?`},
	} {
		d := load(t, src).Decide(&policy.Facts{Tool: policy.ToolFacts{Name: c.tool}, Server: policy.ServerFacts{Name: "mail"}})
		if d.Message != c.want || d.Matched[0].Message != c.want {
			t.Errorf("%q: %q, want %q", c.tool, d.Message, c.want)
		}
	}
	d := load(t, one("call", "ask", "true")).Decide(&policy.Facts{})
	if d.Message != `the policy rule "r" says ask` {
		t.Errorf("without a message: %q", d.Message)
	}
}

func TestModes(t *testing.T) {
	for e, want := range map[policy.Effect][3]policy.Effect{
		policy.Block: {policy.Block, policy.Warn, policy.Allow},
		policy.Ask:   {policy.Ask, policy.Warn, policy.Allow},
		policy.Warn:  {policy.Warn, policy.Warn, policy.Allow},
		policy.Allow: {policy.Allow, policy.Allow, policy.Allow},
	} {
		for m := policy.Enforce; m <= policy.Audit; m++ {
			if got := m.Apply(e); got != want[m] {
				t.Errorf("%v in mode %v: %v, want %v", e, m, got, want[m])
			}
		}
	}
	if got := policy.Mode(9).Apply(policy.Block); got != policy.Block {
		t.Errorf("a mode that does not exist makes block %v", got)
	}
}

func TestNames(t *testing.T) {
	type all struct {
		Effect policy.Effect
		Mode   policy.Mode
		Phase  policy.Phase
	}
	for _, want := range []all{
		{policy.Block, policy.Enforce, policy.OnCall}, {policy.Ask, policy.WarnOnly, policy.OnResult}, {policy.Allow, policy.Audit, policy.OnCall},
	} {
		data, err := json.Marshal(want)
		var got all
		if err == nil {
			err = json.Unmarshal(data, &got)
		}
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", data, got, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"Effect":"deny"}`), new(all)); err == nil || !strings.Contains(err.Error(), "use block, ask, hide, warn or allow") {
		t.Errorf("an unknown effect: %v", err)
	}
	if got := policy.Effect(9).String(); got != "unknown(9)" {
		t.Errorf("an effect that does not exist: %q", got)
	}
}

func TestRules(t *testing.T) {
	src := one("call", "warn", `call.arguments.x.exists(a, call.arguments.x.exists(b, a == b))`)
	p := load(t, src)
	got := p.Rules()
	want := []policy.Rule{{Name: "r", When: policy.OnCall, Effect: policy.Warn, Line: 3, Limited: true,
		If: `call.arguments.x.exists(a, call.arguments.x.exists(b, a == b))`, Message: `the policy rule "r" says warn`}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(policy.Rule{}, "Cost")); diff != "" {
		t.Error(diff)
	}
	got[0].Name = "changed"
	if p.Rules()[0].Name != "r" {
		t.Error("Rules hands out the policy's own slice")
	}
	if len(p.Digest()) != 64 || p.Digest() == policy.Default().Digest() || p.Fallback() != policy.Allow {
		t.Errorf("digest %q, fallback %v", p.Digest(), p.Fallback())
	}
	if d := policy.DefaultSource(); string(d[:1]) != "#" {
		t.Errorf("default source begins with %q", d[:1])
	}
}

func TestConcurrent(t *testing.T) {
	p, f := policy.Default(), everything()
	want := p.Decide(f)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if got := p.Decide(f); got.Effect != want.Effect || got.Rule != want.Rule || len(got.Matched) != len(want.Matched) {
					t.Errorf("got %+v, want %+v", got, want)
					return
				}
			}
		})
	}
	wg.Wait()
}
