package guard_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// listingPolicies block much, in ways that depend on each part of a call.
var listingPolicies = []string{
	"version: 1\nrules:\n- {name: a, when: call, if: '!call.plainRead', effect: block}\n",
	"version: 1\nrules:\n- {name: a, when: call, if: 'call.plainRead', effect: block}\n",
	"version: 1\ndefault: block\nrules:\n- {name: a, when: call, if: 'call.plainRead && !session.untrusted', effect: allow}\n",
	"version: 1\ndefault: block\nrules:\n- {name: a, when: call, if: 'call.arguments.to == \"x\"', effect: ask}\n",
	"version: 1\ndefault: block\nrules:\n- {name: a, when: call, if: 'server.trust == \"trusted\"', effect: allow}\n",
	"version: 1\nrules:\n- {name: a, when: call, if: 'session.untrusted && !tool.annotations.readOnlyHint', effect: block}\n",
	"version: 1\nrules:\n- {name: a, when: call, if: 'has(tool.declared.readOnlyHint)', effect: block}\n",
	"version: 1\nrules:\n- {name: a, when: result, if: 'true', effect: block}\n",
}

// TestOmittedIsBlocked holds that no call of a tool which policy keeps from agents could have gone.
func TestOmittedIsBlocked(t *testing.T) {
	var all []*policy.Policy
	for _, name := range policy.Profiles() {
		p, _ := policy.Profile(name)
		all = append(all, p)
	}
	for _, src := range listingPolicies {
		p, err := policy.Load("p.yaml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	rapid.Check(t, func(rt *rapid.T) {
		hint := func(name string) contract.Hint { return contract.Hint(rapid.IntRange(0, 2).Draw(rt, name)) }
		flag := func(name string) bool { return rapid.Bool().Draw(rt, name) }
		p := rapid.SampledFrom(all).Draw(rt, "policy")
		mode := policy.Mode(rapid.IntRange(0, 2).Draw(rt, "mode"))
		arguments := rapid.SampledFrom([]string{`{}`, `{"to":"x"}`, `{"to":"y","n":1}`}).Draw(rt, "arguments")
		c := call("t", contract.Contract{}, `{"name":"t","arguments":`+arguments+`}`)
		c.Trust = contract.Trust(rapid.IntRange(0, 2).Draw(rt, "trust"))
		declared := contract.Contract{ReadOnly: hint("readOnly"), Destructive: hint("destructive"), OpenWorld: hint("openWorld"), RequiresReview: hint("review")}
		c.Describe(declared, nil)
		l := guard.Listing{Policy: p, Mode: mode}
		by := l.Omits(&guard.Call{
			Server: c.Server, Trust: c.Trust, Method: c.Method, Name: c.Name, Declared: c.Declared, Effective: c.Effective, Overlay: c.Overlay,
		}, false)
		if by == "" { // TestOmits has tools of both kinds
			return
		}
		f := newFixture(t, func(o *guard.Options) { o.Policy, o.Mode = p, mode })
		was := label.Label{Untrusted: flag("untrusted"), Private: flag("private"), Malicious: flag("malicious")}.Normal()
		if _, _, err := f.sessions.Open(t.Context(), c.Session); err != nil {
			rt.Fatal(err)
		}
		if _, err := f.sessions.Raise(t.Context(), c.Session.Key, was); err != nil {
			rt.Fatal(err)
		}
		if flag("violates") {
			c.Violates = "it is too long"
		}
		c.Arguments = json.RawMessage(arguments)
		if v := f.g.Before(t.Context(), c); v.Effect != policy.Block {
			rt.Fatalf("%s is omitted because of its policy, and a call gets %v", c.Name, v.Effect)
		}
	})
}

// TestOmits has the reason for tools under the profile read-only and a selection.
func TestOmits(t *testing.T) {
	reads, _ := policy.Profile("read-only")
	balanced, _ := policy.Profile(policy.Balanced)
	changes, err := policy.Load("p.yaml", []byte(listingPolicies[1]))
	if err != nil {
		t.Fatal(err)
	}
	read, write := contract.Contract{ReadOnly: contract.Yes}, contract.Contract{ReadOnly: contract.No}
	for _, c := range []struct {
		name   string
		only   string
		policy *policy.Policy
		mode   policy.Mode
		trust  contract.Trust
		said   contract.Contract
		varies bool
		want   guard.Omitted
	}{
		{"a read", "", reads, policy.Enforce, contract.Trusted, read, false, ""},
		{"a change", "", reads, policy.Enforce, contract.Trusted, write, false, guard.AlwaysBlocked},
		{"a change that may be a read for some arguments", "", reads, policy.Enforce, contract.Trusted, write, true, ""},
		{"a read, by nobody's word", "", reads, policy.Enforce, contract.Untrusted, read, false, guard.AlwaysBlocked},
		{"a change that is only warned of", "", reads, policy.WarnOnly, contract.Trusted, write, false, ""},
		{"a change that is only recorded", "", reads, policy.Audit, contract.Trusted, write, false, ""},
		{"a change under balanced", "", balanced, policy.Enforce, contract.Trusted, write, false, ""},
		{"a read, where only a call that violates its schema may go", "", changes, policy.Enforce, contract.Trusted, read, false, ""},
		{"no policy", "", nil, policy.Enforce, contract.Trusted, read, false, guard.AlwaysBlocked},
		{"a read, selected", "tool.annotations.readOnlyHint", balanced, policy.Enforce, contract.Known, read, false, ""},
		{"a read, by nobody's word", "tool.annotations.readOnlyHint", balanced, policy.Enforce, contract.Untrusted, read, false, guard.NotExposed},
		{"a change, not selected", "tool.annotations.readOnlyHint", balanced, policy.Audit, contract.Trusted, write, true, guard.NotExposed},
		{"by name", `tool.name in ["t", "u"]`, balanced, policy.Enforce, contract.Trusted, write, false, ""},
		{"by another name", `tool.name == "u"`, balanced, policy.Enforce, contract.Trusted, read, false, guard.NotExposed},
	} {
		l := guard.Listing{Policy: c.policy, Mode: c.mode}
		if c.only != "" {
			s, err := policy.ParseSelection(c.only)
			if err != nil {
				t.Fatal(fmt.Errorf("%s: %w", c.name, err))
			}
			l.Exposure = guard.Exposure{s}
		}
		tool := call("t", c.said, `{"name":"t"}`)
		tool.Trust = c.trust
		tool.Describe(c.said, nil)
		if got := l.Omits(tool, c.varies); got != c.want {
			t.Errorf("%s: omitted by %q, want %q", c.name, got, c.want)
		}
	}
	if got := (&guard.Listing{Exposure: guard.Exposure{nil}, Policy: balanced}).Omits(call("t", read, `{"name":"t"}`), false); got != guard.NotExposed {
		t.Errorf("a selection that is none: %q", got)
	}
}
