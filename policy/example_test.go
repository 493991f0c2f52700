package policy_test

import (
	"fmt"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

func ExampleLoad() {
	p, err := policy.Load("policy.yaml", []byte(`
version: 1
rules:
  - name: no-posts-after-mail
    when: call
    if: session.untrusted && tool.name == "post"
    effect: block
    message: nothing is posted after mail
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	f := &policy.Facts{Method: "tools/call"}
	f.Tool.Name = "post"
	fmt.Println(p.Decide(f).Effect)
	f.Session.Label = label.Label{Untrusted: true}
	d := p.Decide(f)
	fmt.Println(d.Effect, d.Rule)
	// Output:
	// allow
	// block no-posts-after-mail
}

// A rule with a mistake is no rule that never matches: the policy does not load.
func ExampleLoad_mistake() {
	_, err := policy.Load("policy.yaml", []byte("version: 1\nrules:\n  - {name: r, when: call, if: session.untrustd, effect: block, message: m}\n"))
	fmt.Println(err != nil)
	// Output: true
}

func ExampleProfiles() {
	for _, name := range policy.Profiles() {
		p, ok := policy.Profile(name)
		fmt.Println(name, ok && len(p.Rules()) > 0)
	}
	// Output:
	// calm true
	// balanced true
	// headless true
	// strict true
	// read-only true
}

func ExampleMode_Apply() {
	fmt.Println(policy.Enforce.Apply(policy.Ask), policy.WarnOnly.Apply(policy.Ask), policy.Audit.Apply(policy.Ask))
	// Output: ask warn allow
}
