package trial_test

import (
	"slices"
	"testing"

	"github.com/weir-mcp/weir/internal/trial"
	"github.com/weir-mcp/weir/label"
)

// asksUnlessOwn asks about every call but those to the user.
const asksUnlessOwn = `version: 1
rules:
  - name: ask-before-mail
    when: call
    if: "!call.destination.self"
    effect: ask
`

// TestSuggestedOwnAddresses holds which addresses are proposed for me:, and the calls that they would have allowed.
func TestSuggestedOwnAddresses(t *testing.T) {
	with := func(m mailed, change func(*mailed)) mailed { change(&m); return m }
	fact := func(name string, value any) func(*mailed) {
		return func(m *mailed) { m.facts = map[string]any{name: value} }
	}
	all := func(change func(*mailed)) []mailed {
		return []mailed{with(mail("a"), change), with(mail("a"), change), with(mail("b"), change)}
	}
	base := all(func(*mailed) {})
	for _, test := range []struct {
		name   string
		policy string
		calls  []mailed
		want   int // calls of the proposal; 0: there is none
	}{
		{"three in two sessions", asksUnlessOwn, base, 3},
		{"in two spellings", asksUnlessOwn, append(base[:2:2], with(mail("b"), func(m *mailed) { m.to = []string{"books@LEDGER.example"} })), 3},
		{"by two tools", asksUnlessOwn, append(base[:2:2], with(mail("b"), func(m *mailed) { m.tool = "forward" })), 3},
		{"two", asksUnlessOwn, base[1:], 0},
		{"three in one session", asksUnlessOwn, []mailed{mail("a"), mail("a"), mail("a")}, 0},
		{"one that nobody answered", asksUnlessOwn, append(base, with(mail("c"), func(m *mailed) { m.answers = nil })), 4},
		{"one refused", asksUnlessOwn, append(base, with(mail("c"), func(m *mailed) { m.answers = []string{"declined"} })), 0},
		{"one refused of another tool", asksUnlessOwn, append(base, with(mail("c"), func(m *mailed) { m.tool, m.answers = "forward", []string{"declined"} })), 0},
		{"one refused to this address and another", asksUnlessOwn, append(base, with(mail("c"), func(m *mailed) {
			m.to, m.answers = []string{"x@y.example", "Books <BOOKS@ledger.example>"}, []string{"declined"}
		})), 0},
		{"one refused of which the destination is not known", asksUnlessOwn,
			append(base, with(mail("c"), func(m *mailed) { m.to, m.answers = nil, []string{"declined"} })), 0},
		{"no mail address", asksUnlessOwn, all(func(m *mailed) { m.to = []string{"C012"} }), 0},
		{"an address with a name", asksUnlessOwn, all(func(m *mailed) { m.to = []string{"Ann <books@ledger.example>"} }), 0},
		{"a server that nobody vouches for", asksUnlessOwn, all(fact("server.trust", "untrusted")), 0},
		{"untrusted content names it", asksUnlessOwn, all(fact("call.destination.from", []string{"untrusted"})), 0},
		{"the session is malicious", asksUnlessOwn, all(func(m *mailed) { m.label = label.Label{Malicious: true} }), 0},
		{"the policy would ask all the same", asksAlways, base, 0},
	} {
		var l log
		for _, m := range test.calls {
			l.add(t, m)
		}
		s, err := trial.Suggest("policy.yaml", []byte(test.policy), l.each)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		got := 0
		for _, own := range s.Me {
			if got += len(own.Calls); own.Address != "books@ledger.example" {
				t.Errorf("%s: %q is proposed", test.name, own.Address)
			}
		}
		if got != test.want || len(s.Me) > 1 {
			t.Errorf("%s: %d addresses with %d calls, want %d", test.name, len(s.Me), got, test.want)
		}
	}
}

// TestUndescribedServers holds that servers are named about whose tools people accept requests without that anybody
// describes their arguments.
func TestUndescribedServers(t *testing.T) {
	var l log
	for _, tool := range []string{"a", "b", "a"} {
		l.add(t, mailed{server: "crm", tool: tool, session: "s", answers: yes, facts: map[string]any{"call.roles": "drafted"}})
	}
	l.add(t, mailed{server: "mail", tool: "send", session: "s", answers: yes})
	l.add(t, mailed{server: "shop", tool: "buy", session: "s", answers: []string{"declined"}, facts: map[string]any{"call.roles": "drafted"}})
	s, err := trial.Suggest("policy.yaml", []byte(asksAlways), l.each)
	if err != nil || len(s.Undescribed) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	if u := s.Undescribed[0]; u.Server != "crm" || u.Accepted != 3 || !slices.Equal(u.Tools, []string{"a", "b"}) {
		t.Errorf("the server is %+v", u)
	}
}
