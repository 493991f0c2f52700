package trial_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/trial"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// asksAlways asks about every call of a tool and, by another rule, about private data.
const asksAlways = `version: 1
rules:
  - name: ask-before-mail
    when: call
    if: >-
      tool.name != ""
    effect: ask
  - name: ask-before-private
    when: call
    if: session.private
    effect: ask
`

// A mailed is a recorded call and its answers.
type mailed struct {
	server, tool, session, parent string
	to                            []string // nil: the log does not hold them
	label                         label.Label
	facts                         map[string]any
	answers                       []string
}

// A log holds recorded events.
type log []*record.Event

func (l *log) each(do func(*record.Event) error) error {
	for _, e := range *l {
		if err := do(e); err != nil {
			return err
		}
	}
	return nil
}

// add writes a call down as Weir does.
func (l *log) add(t testing.TB, m mailed) (id string) {
	facts := map[string]any{
		"tool.declared.inputMetadata.destination": []string{"public"}, "tool.declared.inputMetadata.outcomes": []string{"irreversible"},
		"server.trust": "known", "call.hasArguments": true, "call.roles": "stated", "call.destinations": 1, "call.destination.values": 1,
		"call.destination.from": []string{"novel"}, "call.content.from": []string{"novel"}, "call.leak.total": 100, "call.leak.bits": 100,
	}
	if m.to != nil {
		facts["call.destinations"] = m.to
	}
	for name, value := range m.facts {
		facts[name] = value
	}
	text, err := json.Marshal(facts)
	if err != nil {
		t.Fatal(err)
	}
	e := record.New(record.Decision, time.Unix(int64(len(*l)), 0))
	e.Session, e.Parent, e.Principal, e.Server, e.Method, e.Name = m.session, m.parent, "ann", m.server, "tools/call", m.tool
	e.Phase, e.Effect, e.Rule, e.Label, e.Facts = "call", "ask", "ask-before-mail", &m.label, text
	e.Binding = "b" + e.ID
	*l = append(*l, e)
	for _, answer := range append([]string{"asked"}, m.answers...) {
		a := record.New(record.Approval, e.Time)
		a.Binding, a.Effect = e.Binding, answer
		*l = append(*l, a)
	}
	return e.ID
}

// changes returns the events that another policy decides otherwise.
func (l *log) changes(t testing.TB, before, after []byte) (ids []string) {
	var policies []*policy.Policy
	for _, src := range [][]byte{before, after} {
		p, err := policy.Load("policy.yaml", src)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, p)
	}
	for _, e := range *l {
		if e.Kind != record.Decision {
			continue
		}
		g, _, err := trial.Restore(e)
		if err != nil {
			t.Fatal(err)
		}
		if was, is := policies[0].Explain(g), policies[1].Explain(g); was.Strictest != is.Strictest || was.Mildest != is.Mildest {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

var yes = []string{"accepted"}

// mail is a call that three of, in two sessions, suggest an exception.
func mail(session string) mailed {
	return mailed{server: "mail", tool: "send", session: session, to: []string{"books@ledger.example"}, answers: yes}
}

func TestSuggest(t *testing.T) {
	with := func(m mailed, change func(*mailed)) mailed { change(&m); return m }
	two := func(m mailed) mailed { m.to = append(m.to, "x@y.example"); return m }
	base := []mailed{mail("a"), mail("a"), mail("b")}
	fact := func(name string, value any) func(*mailed) {
		return func(m *mailed) { m.facts = map[string]any{name: value} }
	}
	for _, test := range []struct {
		name  string
		calls []mailed
		want  int // calls of the proposal; 0: there is none
	}{
		{"three in two sessions", base, 3},
		{"two", base[1:], 0},
		{"three in one session", []mailed{mail("a"), mail("a"), mail("a")}, 0},
		{"children of one session", []mailed{mail("p"), with(mail("c"), func(m *mailed) { m.parent = "p" }), with(mail("d"), func(m *mailed) { m.parent = "p" })}, 0},
		{"all that one session began", []mailed{
			with(mail("c"), func(m *mailed) { m.parent = "p" }), with(mail("d"), func(m *mailed) { m.parent = "c" }), mail("p"),
		}, 0},
		{"sessions that began each other", []mailed{
			with(mail("c"), func(m *mailed) { m.parent = "d" }), with(mail("d"), func(m *mailed) { m.parent = "c" }), with(mail("c"), func(m *mailed) { m.parent = "d" }),
		}, 0},
		{"one refused", append(base, with(mail("c"), func(m *mailed) { m.answers = []string{"declined"} })), 0},
		{"one dismissed", append(base, with(mail("c"), func(m *mailed) { m.answers = []string{"cancelled"} })), 0},
		{"one ended its session", append(base, with(mail("c"), func(m *mailed) { m.answers = []string{"ended"} })), 0},
		{"one with a word that nobody knows", append(base, with(mail("c"), func(m *mailed) { m.answers = []string{"sure"} })), 0},
		{"one refused of other data", append(base, with(mail("c"), func(m *mailed) { m.label.Private, m.answers = true, []string{"declined"} })), 0},
		{"one refused of which the destination is not known", append(base, with(mail("c"), func(m *mailed) { m.to, m.answers = nil, []string{"declined"} })), 0},
		{"a yes that came second", append(base[:2:2], with(mail("b"), func(m *mailed) { m.answers = []string{"accepted", "void"} })), 0},
		{"a yes and a no", append(base, with(mail("c"), func(m *mailed) { m.answers = []string{"declined", "accepted"} })), 0},
		{"one refused to another destination", append(base, with(mail("c"), func(m *mailed) { m.to, m.answers = []string{"mallory@evil.example"}, []string{"declined"} })), 3},
		{"one refused of another server", append(base, with(mail("c"), func(m *mailed) { m.server, m.answers = "post", []string{"declined"} })), 3},
		{"one that nobody answered", append(base, with(mail("c"), func(m *mailed) { m.answers = nil })), 4},
		{"one that expired", append(base, with(mail("c"), func(m *mailed) { m.answers = []string{"expired"} })), 4},
		{"one with private data", append(base, with(mail("c"), func(m *mailed) { m.label.Private, m.answers = true, nil })), 3},
		{"one with untrusted content", append(base, with(mail("c"), func(m *mailed) { m.label.Untrusted, m.answers = true, nil })), 3},
		{"one with a link", append(base, with(mail("c"), func(m *mailed) { fact("call.content.links", true)(m); m.answers = nil })), 3},
		{"one of another trust", append(base, with(mail("c"), func(m *mailed) { fact("server.trust", "untrusted")(m); m.answers = nil })), 3},
		{"one to two destinations", append(base, with(mail("c"), func(m *mailed) { m.to, m.answers = []string{"books@ledger.example", "x@y.example"}, nil })), 3},
		{"all to two destinations", []mailed{two(mail("a")), two(mail("a")), two(mail("b"))}, 0},
		{"untrusted content names the destination", []mailed{mail("a"), mail("b"), with(mail("c"), fact("call.destination.from", []string{"untrusted"}))}, 0},
		{"a secret was found", []mailed{mail("a"), mail("b"), with(mail("c"), fact("call.findings", []string{"credentials"}))}, 0},
		{"the session holds credentials", []mailed{mail("a"), mail("b"), with(mail("c"), func(m *mailed) { m.label.Sensitivity = label.SetOf(label.Credentials) })}, 0},
		{"the session is malicious", []mailed{mail("a"), mail("b"), with(mail("c"), func(m *mailed) { m.label.Malicious = true })}, 0},
		{"the log has no destinations", []mailed{with(mail("a"), func(m *mailed) { m.to = nil }), mail("a"), mail("b")}, 0},
	} {
		var l log
		for _, m := range test.calls {
			l.add(t, m)
		}
		s, err := trial.Suggest("policy.yaml", []byte(asksAlways), l.each)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		got := 0
		for _, p := range s.Proposals {
			got += len(p.Calls)
		}
		if got != test.want || len(s.Proposals) > 1 {
			t.Errorf("%s: %d proposals with %d calls, want %d", test.name, len(s.Proposals), got, test.want)
		}
		if (string(s.Policy) == asksAlways) != (test.want == 0) {
			t.Errorf("%s: the policy is\n%s", test.name, s.Policy)
		}
	}
}

// An exception holds for no call with another value of a fact that its rule reads, or with more, where it is a number.
func TestSuggestedExceptionsRepeatTheFactsOfTheirRules(t *testing.T) {
	for _, test := range []struct {
		rule, fact string
		had, other any
		want       int // calls of the proposal, of three accepted ones and another; 0: there is none
	}{
		{"session.burst >= 10", "session.burst", 10, 11, 3},
		{"session.burst >= 10 || session.reached >= 5", "session.burst", 10, 1000, 3},
		{"session.reached >= 5", "session.reached", 5, 60, 3},
		{"session.recent >= 5", "session.recent", 9, 8, 4},
		{"session.calls >= 5", "session.calls", 9, 10, 3},
		{"call.leak.bits > 64", "call.leak.bits", 100, 101, 3},
		{"call.leak.total > 64", "call.leak.total", 100, 101, 3},
		{"call.destination.first || tool.name != ''", "call.destination.first", false, true, 3},
		{"!call.destination.readable", "call.destination.readable", false, true, 3},
		{"!call.named || tool.name != ''", "call.named", true, false, 3},
		{"'internal' in tool.annotations.returnMetadata.source || tool.name != ''", "tool.declared.returnMetadata.source", []string{"user"}, []string{"internal"}, 3},
		{"session.id != ''", "session.recent", 1, 1, 0},
	} {
		var l log
		for _, session := range []string{"a", "a", "b"} {
			m := mail(session)
			m.facts = map[string]any{test.fact: test.had}
			l.add(t, m)
		}
		m := mail("c")
		m.facts, m.answers = map[string]any{test.fact: test.other}, nil
		l.add(t, m)
		src := "version: 1\nrules:\n  - name: r\n    when: call\n    effect: ask\n    if: >-\n      " + test.rule + "\n"
		s, err := trial.Suggest("policy.yaml", []byte(src), l.each)
		if err != nil {
			t.Fatalf("%s: %v", test.rule, err)
		}
		got := 0
		for _, p := range s.Proposals {
			got += len(p.Calls)
		}
		if got != test.want {
			t.Errorf("%s, %s of %v and then %v: %d calls, want %d\n%s", test.rule, test.fact, test.had, test.other, got, test.want, s.Policy)
		}
	}
}

// A proposal allows exactly the calls that it lists, whoever chose the names in the log, and never a refused one.
func TestSuggestedPoliciesAllowTheListedCalls(t *testing.T) {
	proposals := 0
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"a@b.example", "\") || true || (\"", "\n  - name: x", "x\n---\n", "# no", "{tool}", "*", "\u2028\u0085\U000e0041\u202e", "'\\\"` ", "books@ledger.example",
		}))
		names := rapid.SliceOfN(text, 2, 2).Draw(rt, "names")
		name := rapid.SampledFrom(names)
		flag := rapid.Bool()
		kinds := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"user", "novel", "private"}), 0, 3, rapid.ID)
		like := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) mailed { // few, or no three calls would be alike
			return mailed{
				server: "mail", tool: name.Draw(rt, "tool"), to: rapid.SliceOfN(name, 1, 1).Draw(rt, "to"),
				label: label.Label{Private: flag.Draw(rt, "private"), Untrusted: flag.Draw(rt, "untrusted")},
				facts: map[string]any{
					"call.destination.from": kinds.Draw(rt, "from"), "call.content.from": kinds.Draw(rt, "content"), "call.content.links": flag.Draw(rt, "links"),
				},
			}
		}), 1, 3).Draw(rt, "like")
		var l log
		refused := map[string]bool{}
		for range rapid.IntRange(6, 24).Draw(rt, "calls") {
			m := rapid.SampledFrom(like).Draw(rt, "mail")
			m.session, m.facts = rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "session"), maps.Clone(m.facts)
			m.facts["call.leak.total"] = rapid.IntRange(0, 9).Draw(rt, "bits")
			answer := "accepted"
			switch rapid.IntRange(0, 39).Draw(rt, "kind") {
			case 0:
				m.to = nil
			case 1:
				answer = "declined"
			case 2:
				m.to = append(slices.Clone(m.to), "another")
			case 3, 4, 5, 6, 7, 8, 9, 10:
				answer = "expired"
			}
			m.answers = []string{answer}
			refused[l.add(t, m)] = answer == "declined"
		}
		s, err := trial.Suggest("policy.yaml", []byte(asksAlways), l.each)
		if err != nil {
			rt.Fatal(err)
		}
		var listed []string
		untold := 0
		proposals += len(s.Proposals)
		for _, p := range s.Proposals {
			if p.Accepted < 3 || p.Sessions < 2 {
				rt.Errorf("%d accepted in %d sessions", p.Accepted, p.Sessions)
			}
			untold += p.Unknown
			for _, c := range p.Calls {
				listed = append(listed, c.Event)
			}
		}
		changed := l.changes(t, []byte(asksAlways), s.Policy)
		for _, id := range changed {
			if refused[id] {
				rt.Errorf("a refused call would be allowed by\n%s", s.Policy)
			}
		}
		slices.Sort(listed)
		slices.Sort(changed)
		if untold == 0 && !slices.Equal(listed, changed) {
			rt.Errorf("%d calls are listed, and %d change", len(listed), len(changed))
		}
	})
	if proposals == 0 {
		t.Error("no log suggested anything")
	}
}

// The flags and kinds of a combination of facts.
var (
	combinedFlags = []string{"call.content.links", "call.content.orders", "call.destination.strange"}
	combinedKinds = []string{"private", "untrusted"}
)

// combination returns a mail with the flags and kinds that the bits of a number say.
func combination(bits int) mailed {
	up := func(n int) bool { return bits>>n&1 == 1 }
	m := mail("a")
	m.label.Private, m.label.Untrusted, m.facts = up(0), up(1), map[string]any{}
	for i, fact := range combinedFlags {
		m.facts[fact] = up(2 + i)
	}
	from := []string{"novel"}
	for i, kind := range combinedKinds {
		if up(5 + i) {
			from = append(from, kind)
		}
	}
	m.facts["call.content.from"] = from
	return m
}

const combinations = 1 << 7

// No proposal allows a combination of flags and kinds that no accepted call had: for each call that it allows there are
// three accepted ones in two sessions with its flags, and with all its kinds.
func TestSuggestedExceptionsAllowNoCombinations(t *testing.T) {
	balanced, _ := policy.ProfileSource(policy.Balanced)
	split := "version: 1\nrules:\n"
	for i, cond := range []string{"session.private", "session.untrusted", "call.content.links", "\"private\" in call.content.from", "call.leak.total > 5"} {
		split += fmt.Sprintf("  - name: r%d\n    when: call\n    effect: ask\n    if: >-\n      %s\n", i, cond)
	}
	proposals := 0
	rapid.Check(t, func(rt *rapid.T) {
		src := []byte(rapid.SampledFrom([]string{asksAlways, split, string(balanced)}).Draw(rt, "policy"))
		var l log
		type support struct {
			calls    int
			sessions map[string]bool
		}
		had := map[int]*support{}
		few := rapid.SliceOfN(rapid.IntRange(0, combinations-1), 2, 4).Draw(rt, "combinations")
		for range rapid.IntRange(4, 16).Draw(rt, "calls") {
			bits := rapid.SampledFrom(few).Draw(rt, "bits")
			m := combination(bits)
			m.session = rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "session")
			m.facts["call.leak.total"] = rapid.IntRange(0, 9).Draw(rt, "leak")
			l.add(t, m)
			if had[bits] == nil {
				had[bits] = &support{sessions: map[string]bool{}}
			}
			had[bits].calls++
			had[bits].sessions[m.session] = true
		}
		s, err := trial.Suggest("policy.yaml", src, l.each)
		if err != nil {
			rt.Fatal(err)
		}
		if proposals += len(s.Proposals); len(s.Proposals) == 0 {
			return
		}
		var all log
		of := map[string]int{}
		for bits := range combinations {
			m := combination(bits)
			m.answers, m.facts["call.leak.total"] = nil, 0
			of[all.add(t, m)] = bits
		}
		for _, id := range all.changes(t, src, s.Policy) {
			const flags = 1<<5 - 1
			supported := false
			for bits, by := range had {
				supported = supported || bits&flags == of[id]&flags && of[id]&^bits == 0 && by.calls >= 3 && len(by.sessions) >= 2
			}
			if !supported {
				rt.Fatalf("%07b is allowed, accepted were %v, by\n%s", of[id], few, s.Policy)
			}
		}
	})
	if proposals == 0 {
		t.Error("no log suggested anything")
	}
}

// Exceptions can be written into every built-in policy and every form of a condition that begins a line, and nothing
// else of the file changes.
func TestSuggestedEdits(t *testing.T) {
	sources := map[string][]byte{}
	for _, name := range policy.Profiles() {
		sources[name], _ = policy.ProfileSource(name)
	}
	rule := "version: 1\nrules:\n  - name: ask-before-mail\n    when: call\n%s    effect: ask\n  - {name: b, when: result, if: response.isError, effect: block}\n"
	for _, form := range []string{
		"    if: tool.name == \"send\" || session.private\n", "    if: 'tool.name == \"send\"'\n", "    if: tool.name == \"send\" ||\n      session.private # why\n",
		"    if: |\n      tool.name == \"send\"\n      || session.private\n\n", "    if: >\n      session.private || tool.name == \"send\"\n", "    if: >-\n        tool.name ==\n          \"send\"\n",
	} {
		sources[form] = fmt.Appendf(nil, rule, form)
	}
	kept := map[string]string{ // forms of conditions, and a text that stays in them
		"    if: tool.name == \"send\" && session.id != \"two  blanks\"\n":                  "\"two  blanks\"",
		"    if: 'session.id != \"two  blanks\" && tool.name == \"send\"'\n":                "\"two  blanks\"",
		"    if: |\n      tool.name == \"send\" // or not\n      || session.private\n":      "// or not\n",
		"    if: >-\n      tool.name == \"send\" && session.id !=\n      \"two  blanks\"\n": "\"two  blanks\"",
	}
	for form, text := range kept {
		src := fmt.Appendf(nil, rule, form)
		if p, err := policy.Load("p", src); err != nil || !strings.Contains(p.Rules()[0].If, text) {
			t.Fatalf("%s: %v", form, err)
		}
		l := log{}
		for _, session := range []string{"a", "a", "b"} {
			l.add(t, mail(session))
		}
		s, err := trial.Suggest("p", src, l.each)
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		if p, err := policy.Load("p", s.Policy); err != nil || !strings.Contains(p.Rules()[0].If, text) {
			t.Errorf("%s became\n%s: %v", form, s.Policy, err)
		}
	}
	for name, src := range sources {
		l := log{}
		for _, session := range []string{"a", "a", "b"} {
			m := mail(session)
			m.label.Private, m.facts = true, map[string]any{"call.content.from": []string{"private"}, "tool.declared.openWorldHint": true}
			l.add(t, m)
		}
		s, err := trial.Suggest(name, src, l.each)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		asks := len(l.changes(t, src, []byte("version: 1\nrules: []\n"))) > 0
		if changed := l.changes(t, src, s.Policy); len(changed) != 3*len(s.Proposals) || asks && name != "read-only" && name != "strict" && name != "headless" && len(changed) != 3 {
			t.Errorf("%s: %d proposals, %d changes", name, len(s.Proposals), len(changed))
		}
	}
	for name, src := range map[string]string{
		"flow": `{"version": 1, "rules": [{"name": "ask-before-mail", "when": "call", "if": "tool.name == 'send'", "effect": "ask"}]}`,
		"SEP":  `{"rules": [{"name": "ask-before-mail", "effect": "escalate", "conditions": {"fact": "tool.annotations.openWorldHint", "equals": true}}]}`,
	} {
		l := log{}
		for _, session := range []string{"a", "a", "b"} {
			l.add(t, mail(session))
		}
		if s, err := trial.Suggest(name, []byte(src), l.each); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	broken := errors.New("disk")
	if _, err := trial.Suggest("p", []byte(asksAlways), func(func(*record.Event) error) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("an error of the log: %v", err)
	}
}
