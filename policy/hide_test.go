package policy_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// callEffects are the effects that a rule for calls may have.
var callEffects = []policy.Effect{policy.Block, policy.Ask, policy.Warn, policy.Allow}

const (
	hideRule  = "- {name: hide, when: result, effect: hide, if: response.annotations.openWorldHint}\n"
	askRule   = "- {name: ask, when: result, effect: ask, if: session.private}\n"
	warnRule  = "- {name: warn, when: result, effect: warn, if: session.private}\n"
	blockRule = "- {name: block, when: result, effect: block, if: session.private}\n"
)

// Of the rules for a result the strictest counts; once the agent asks for a hidden one, the strictest of the others.
func TestHideStandsBetweenAskAndWarn(t *testing.T) {
	for _, c := range []struct {
		name, rules      string
		hidden, revealed policy.Effect
	}{
		{"alone", hideRule, policy.Hide, policy.Allow},
		{"with a milder rule", warnRule + hideRule, policy.Hide, policy.Warn},
		{"with ask", hideRule + askRule, policy.Ask, policy.Ask},
		{"with block", hideRule + blockRule, policy.Block, policy.Block},
	} {
		for fallback, revealed := range map[policy.Effect]policy.Effect{policy.Allow: c.revealed, policy.Block: c.revealed} {
			p, err := policy.Load("p.yaml", []byte("version: 1\ndefault: "+fallback.String()+"\nrules:\n"+c.rules))
			if err != nil {
				t.Fatal(err)
			}
			l := label.Label{Untrusted: true}
			d := p.Decide(&policy.Facts{Phase: policy.OnResult, Session: policy.SessionFacts{Label: label.Label{Private: true}}, Response: &l})
			if c.name == "alone" {
				revealed = fallback
			}
			if d.Effect != c.hidden || d.Revealed(fallback).Effect != revealed || !p.Hides() {
				t.Errorf("%s, default %v: %v, then %v; want %v, then %v", c.name, fallback, d.Effect, d.Revealed(fallback).Effect, c.hidden, revealed)
			}
		}
	}
	if policy.Default().Hides() {
		t.Error("the built-in policy hides results")
	}
	for mode, want := range map[policy.Mode]policy.Effect{policy.Enforce: policy.Hide, policy.WarnOnly: policy.Warn, policy.Audit: policy.Allow} {
		if got := mode.Apply(policy.Hide); got != want {
			t.Errorf("%v makes hide %v", mode, got)
		}
	}
}

func TestOnlyResultsAreHidden(t *testing.T) {
	for src, want := range map[string]string{
		"rules:\n- {name: a, when: call, effect: hide, if: session.private}": "p.yaml:3:43: the rule hides, but only results can be hidden",
		"default: hide\nrules: []": `p.yaml:2:10: unknown effect "hide"`,
	} {
		if _, err := policy.Load("p.yaml", []byte("version: 1\n"+src)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", src, err)
		}
	}
}
