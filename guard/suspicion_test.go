package guard_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// A call that is refused because of signs of an attack, and no other one, has a result with maliciousActivityHint.
func TestRefusalsTellOfSignsOfAnAttack(t *testing.T) {
	rule := func(effect, condition string) string {
		return "version: 1\nrules:\n  - {name: a, when: call, effect: " + effect + ", if: '" + condition + "'}\n"
	}
	const mail = "a@example.com"
	for _, c := range []struct {
		name, policy, body string
		read               string // before the call
		hinted             bool
	}{
		{"a key", rule("block", `"credentials" in call.findings`), foundKey, "", true},
		{"a key, asked", rule("ask", `"credentials" in call.findings`), foundKey, "", true},
		{"a rule of a kind", rule("ask", `"aws-access-key-id" in call.findings.kinds`), foundKey, "", true},
		{"an order", rule("block", `"malicious" in call.findings`), order, "", true},
		{"an account is data", rule("block", `"financial" in call.findings`), foundIBAN, "", false},
		{"an account beside a key", rule("block", `"financial" in call.findings`), foundIBAN + " " + foundKey, "", false},
		{"another reason", rule("block", `tool.name == "send_email"`), foundKey, "", false},
		{"both reasons in one rule", rule("block", `tool.name == "send_email" || "credentials" in call.findings`), foundKey, "", false},
		{"two rules, one of a key", rule("block", `true`) + strings.ReplaceAll("  - {name: b, when: call, effect: block, if: X}\n", "X", `'"credentials" in call.findings'`), foundKey, "", true},
		{"nothing allows", "version: 1\nrules: []\ndefault: block\n", foundKey, "", false},
		{"the shipped policy, a key", "", foundKey, "", true},
		{"the shipped policy, an alert", "", "a line", order, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, func(o *guard.Options) {
				o.Contents.Detection.Detector = detect.New()
				if c.policy != "" {
					p, err := policy.Load("p.yaml", []byte(c.policy))
					if err != nil {
						t.Fatal(err)
					}
					o.Policy = p
				}
			})
			if c.read != "" {
				f.run(t, lookUpCall(), answerOf(c.read))
			}
			text := strings.ReplaceAll(c.body, `"`, `'`)
			v := f.g.Before(t.Context(), call("send_email", sendMail, `{"name":"send_email","arguments":{"to":"`+mail+`","body":"`+text+`"}}`))
			if v.Allowed() {
				t.Fatalf("verdict %s", v)
			}
			refusals := []guard.Refusal{v.Refusal()}
			if v.Question != nil {
				refusals = append(refusals, v.Question.Refusal("nobody accepted"))
			}
			for _, r := range refusals {
				a := r.Answer("tools/call")
				said, defects := annotation.ReadResult(a.Result)
				if said.Label.Malicious != c.hinted || len(defects) > 0 || said.Label.Without(label.Label{Malicious: true}).Sensitivity.Len() > 0 {
					t.Errorf("%s: the answer is %s", v, a.Result)
				}
				if strings.Contains(string(a.Result), foundKey) || !strings.Contains(string(a.Result), guard.MetaVerdict) {
					t.Errorf("the answer is %s", a.Result)
				}
			}
		})
	}
}

// A host that is told of no labels is told of no suspicion.
func TestRefusalsKeepToTheDialectsOfTheHost(t *testing.T) {
	none, err := annotation.NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(o *guard.Options) { o.Contents.Detection.Detector, o.Words.ToHosts = detect.New(), none })
	v := f.g.Before(t.Context(), call("send_email", sendMail, `{"name":"send_email","arguments":{"to":"a@example.com","body":"`+foundKey+`"}}`))
	if got := string(v.Refusal().Answer("tools/call").Result); v.Allowed() || strings.Contains(got, "maliciousActivityHint") {
		t.Errorf("verdict %s, answer %s", v, got)
	}
}
