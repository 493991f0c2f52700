package policy_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/policy"
)

func TestUnproved(t *testing.T) {
	p := load(t, `version: 1
rules:
- {name: label, when: call, if: session.untrusted, effect: ask}
- {name: many, when: call, if: session.untrusted && session.calls > 10, effect: ask}
- {name: first, when: result, if: session.calls == 0, effect: warn}
- {name: recent, when: call, if: session.recent > 10, effect: ask}
`)
	var got []string
	for _, problem := range p.Unproved() {
		got = append(got, problem.Msg)
	}
	want := `rule "many" goes by session.calls, which the log does not prove; rule "first" goes by session.calls, which the log does not prove`
	if strings.Join(got, "; ") != want {
		t.Errorf("%q", got)
	}
	for _, name := range policy.Profiles() {
		src, _ := policy.ProfileSource(name)
		p, err := policy.Load(name, src)
		if err != nil {
			t.Fatal(err)
		}
		if found := p.Unproved(); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}
