package guard_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// A call that was admitted may be repeated only as the very same plain read, and the admission accepts the answer then.
func TestRepeat(t *testing.T) {
	params := `{"name":"read","arguments":{"n":1}}`
	nothing := func(*guard.Call) {}
	declare := func(c contract.Contract) func(*guard.Call) {
		return func(call *guard.Call) { call.Declared, call.Effective = c, contract.Effective(c, call.Trust) }
	}
	stubborn := readSalaries
	stubborn.Idempotent = contract.No
	for name, c := range map[string]struct {
		both, now func(*guard.Call) // changes of the call, and of it as it is routed again
		may       bool
	}{
		"the same read":       {nothing, nothing, true},
		"a stated idempotent": {declare(contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.No, Idempotent: contract.Yes}), nothing, true},

		"a change":              {declare(sendMail), nothing, false},
		"no idempotent":         {declare(stubborn), nothing, false},
		"a round that goes on":  {func(c *guard.Call) { c.Further = true }, nothing, false},
		"hidden values":         {func(c *guard.Call) { c.Uses = []vault.Value{{Name: "v"}} }, nothing, false},
		"a resolved contract":   {func(c *guard.Call) { c.Resolved = &contract.Contract{} }, nothing, false},
		"outside of the schema": {func(c *guard.Call) { c.Violates = "n is no string" }, nothing, false},
		"a subscription":        {func(c *guard.Call) { c.Method = "resources/subscribe" }, nothing, false},

		"another session":    {nothing, func(c *guard.Call) { c.Session = session.Ref{Key: "other", Principal: "p"} }, false},
		"another server":     {nothing, func(c *guard.Call) { c.Server = "other" }, false},
		"another way there":  {nothing, func(c *guard.Call) { c.Reached = "other" }, false},
		"another trust":      {nothing, func(c *guard.Call) { c.Trust = contract.Known }, false},
		"another tool":       {nothing, func(c *guard.Call) { c.Name = "other" }, false},
		"other arguments":    {nothing, func(c *guard.Call) { c.Params = json.RawMessage(`{"name":"read","arguments":{"n":2}}`) }, false},
		"another contract":   {nothing, declare(fetchPage), false},
		"other claims":       {nothing, func(c *guard.Call) { c.Declared = fetchPage }, false},
		"another schema":     {nothing, func(c *guard.Call) { c.Schema = json.RawMessage(`{}`) }, false},
		"other results":      {nothing, func(c *guard.Call) { c.Output = json.RawMessage(`{}`) }, false},
		"a held call":        {nothing, func(c *guard.Call) { c.Held = "not reviewed" }, false},
		"a violation":        {nothing, func(c *guard.Call) { c.Violates = "n is no string" }, false},
		"a later resolution": {nothing, func(c *guard.Call) { c.Resolved = &contract.Contract{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := policy.Load("p.yaml", []byte("version: 1\nrules: []\n"))
			if err != nil {
				t.Fatal(err)
			}
			f := newFixture(t, func(o *guard.Options) { o.Policy = p })
			first, now := call("read", readSalaries, params), call("read", readSalaries, params)
			c.both(first)
			c.both(now)
			c.now(now)
			v := f.g.Before(t.Context(), first)
			if !v.Allowed() {
				t.Fatalf("the call may not go: %v", v)
			}
			before := f.events.kinds()
			if err := v.Admission.Repeat(t.Context(), now); (err == nil) != c.may {
				t.Errorf("it may be repeated: %v; want %v", err, c.may)
			}
			if diff := cmp.Diff(before, f.events.kinds()); diff != "" {
				t.Errorf("it was recorded: %s", diff)
			}
			if o := v.Admission.After(t.Context(), guard.Answer{Result: json.RawMessage(`{"content":[]}`)}); o.Rule == guard.RuleInternal {
				t.Errorf("the admission does not accept the answer: %v", o)
			}
			if err := v.Admission.Repeat(t.Context(), now); err == nil {
				t.Error("a call that was answered may be repeated")
			}
		})
	}
	if err := new(guard.Admission).Repeat(t.Context(), call("read", readSalaries, params)); err == nil {
		t.Error("the zero admission lets a call be repeated")
	}
}
