package setup

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/policy"
)

// twoRules is a policy of which a prefix is a policy as well.
const twoRules = `version: 1
default: allow
rules:
  - {name: a, when: call, if: tool.name == 'a', effect: ask, message: a}
  - {name: b, when: call, if: tool.name == 'b', effect: block, message: b}
`

// TestLoosened compares setups: a change that is not known to be as strict as before has to be named.
func TestLoosened(t *testing.T) {
	base := func() (*config.Config, string) {
		return &config.Config{Servers: []config.Server{{Name: "a", Command: "x", Trust: contract.Known}, {Name: "off", Command: "y", Disabled: true}},
			Mode: policy.WarnOnly, Folders: []string{"/mine"}}, twoRules
	}
	for _, test := range []struct {
		name   string
		change func(*config.Config, *string)
		want   string
	}{
		{"nothing", func(*config.Config, *string) {}, ""},
		{"stricter mode", func(c *config.Config, _ *string) { c.Mode = policy.Enforce }, ""},
		{"milder mode", func(c *config.Config, _ *string) { c.Mode = policy.Audit }, "mode warn -> audit"},
		{"less trust", func(c *config.Config, _ *string) { c.Servers[0].Trust = contract.Untrusted }, ""},
		{"more trust", func(c *config.Config, _ *string) { c.Servers[0].Trust = contract.Trusted }, "trust of a known -> trusted"},
		{"server gone", func(c *config.Config, _ *string) { c.Servers = c.Servers[1:] }, ""},
		{"server off", func(c *config.Config, _ *string) { c.Servers[0].Disabled = true }, ""},
		{"server on", func(c *config.Config, _ *string) { c.Servers[1].Disabled = false }, "server added: off"},
		{"new server", func(c *config.Config, _ *string) { c.Servers = append(c.Servers, config.Server{Name: "n"}) }, "server added: n"},
		{"another command", func(c *config.Config, _ *string) { c.Servers[0].Command = "evil" }, "server changed: a"},
		{"another environment", func(c *config.Config, _ *string) { c.Servers[0].Env = map[string]string{"A": "b"} }, "server changed: a"},
		{"another entry", func(c *config.Config, _ *string) { c.Servers[0].Catalogue = "time" }, "server changed: a"},
		{"no resolution", func(c *config.Config, _ *string) { c.Servers[0].Resolve = -1 }, "server changed: a"},
		{"timeouts", func(c *config.Config, _ *string) { c.Servers[0].Timeout, c.Approval.Timeout, c.Startup = 1, 2, 3 }, ""},
		{"no catalogue", func(c *config.Config, _ *string) { c.NoCatalogue = true }, "overlays say something else of servers"},
		{"folder gone", func(c *config.Config, _ *string) { c.Folders = nil }, ""},
		{"folder added", func(c *config.Config, _ *string) { c.Folders = append(c.Folders, "/") }, "folder of your own work added: /"},
		{"at the next start", func(c *config.Config, _ *string) { c.Pins.Off, c.Own.Domains = true, []string{"x"} }, ""},
		{"prefix", func(_ *config.Config, p *string) { *p = (*p)[:strings.Index(*p, "  - {name: b")] }, "rule removed: b"},
		{"rule milder", func(_ *config.Config, p *string) { *p = strings.Replace(*p, "effect: block", "effect: ask", 1) }, "rule changed: b"},
		{"rule stricter", func(_ *config.Config, p *string) { *p = strings.Replace(*p, "effect: ask", "effect: block", 1) }, ""},
		{"another condition", func(_ *config.Config, p *string) { *p = strings.Replace(*p, "== 'b'", "== 'bb'", 1) }, "rule changed: b"},
		{"another message", func(_ *config.Config, p *string) { *p = strings.Replace(*p, "message: b", "message: c", 1) }, ""},
		{"another time", func(_ *config.Config, p *string) { *p = strings.Replace(*p, "when: call", "when: result", 1) }, "rule changed: a"},
		{"rule added", func(_ *config.Config, p *string) {
			*p += "  - {name: c, when: call, if: 'true', effect: ask, message: c}\n"
		}, ""},
		{"rule before", func(_ *config.Config, p *string) {
			*p = strings.Replace(*p, "  - {name: a", "  - {name: c, when: call, if: 'true', effect: warn, message: c}\n  - {name: a", 1)
		}, ""},
		{"rule that asks once", func(_ *config.Config, p *string) {
			*p += "  - {name: c, when: call, if: 'true', effect: ask, once: destination, message: c}\n"
		}, "rule added: c"},
		{"stricter default", func(_ *config.Config, p *string) { *p = strings.Replace(*p, "default: allow", "default: block", 1) }, ""},
		{"everything", func(_ *config.Config, p *string) { *p = "version: 1\ndefault: allow\nrules: []\n" }, "rule removed: a; rule removed: b"},
	} {
		before, rules := base()
		after, changed := base()
		test.change(after, &changed)
		got := strings.Join(Loosened(setupOf(t, before, rules), setupOf(t, after, changed)), "; ")
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	strict := strings.Replace(twoRules, "default: allow", "default: block", 1)
	c, _ := base()
	more := strict + "  - {name: c, when: call, if: 'true', effect: ask, message: c}\n"
	if got := Loosened(setupOf(t, c, strict), setupOf(t, c, more)); len(got) != 1 {
		t.Errorf("a rule that is milder than the default: %q", got)
	}
}

func setupOf(t *testing.T, c *config.Config, rules string) *Setup {
	t.Helper()
	p, err := policy.Load("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatalf("%v\n%s", err, rules)
	}
	return &Setup{Config: c, policy: p}
}

// TestDifferences names rules that came and went.
func TestDifferences(t *testing.T) {
	c := &config.Config{}
	before, after := setupOf(t, c, twoRules), setupOf(t, c, twoRules[:strings.Index(twoRules, "  - {name: b")])
	if got := Differences(before, after); !strings.HasSuffix(got, ", rules 2 -> 1, removed: b") {
		t.Error(got)
	}
	if got := Differences(before, before); got != "" {
		t.Error(got)
	}
}
