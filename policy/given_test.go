package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// Destinations are recorded if that is wanted, within their bounds, and then a replay reads them.
func TestDestinationsAreRecorded(t *testing.T) {
	many := make([]policy.Argument, 17)
	for i := range many {
		many[i].Text = fmt.Sprint(i)
	}
	one := func(to string) []policy.Argument { return []policy.Argument{{Text: to}} }
	for name, c := range map[string]struct {
		to     []policy.Argument
		hidden bool
	}{
		"a page": {one("https://a.example/b"), false}, "a query": {one("https://a.example/?token=x"), true},
		"a user": {one("https://u:p@a.example/"), true}, "a fragment": {one("https://a.example/#x"), true},
		"two":      {[]policy.Argument{{Text: "b\n\u2028\"<"}, {Text: "a"}}, false},
		"none":     {nil, false},
		"too long": {[]policy.Argument{{Text: strings.Repeat("x", 257)}}, true},
		"no UTF-8": {[]policy.Argument{{Text: "\xff"}}, true},
		"too many": {many, true},
	} {
		f := &policy.Facts{Roles: policy.Roles{Known: true, Destinations: c.to}}
		if size, unsearched := string(f.Encode()), string(f.EncodeDestinations()); unsearched != size {
			t.Errorf("%s: not searched, and recorded: %s", name, unsearched)
		}
		f.Call.Traced = true
		f.Call.Found.Likely = label.SetOf("credentials")
		if size, found := string(f.Encode()), string(f.EncodeDestinations()); found != size {
			t.Errorf("%s: a secret was found, and is recorded: %s", name, found)
		}
		f.Call.Found.Likely = label.Set[string]{}
		for _, encoded := range [][]byte{f.Encode(), f.EncodeDestinations()} {
			v, err := policy.DecodeFacts(encoded)
			if err != nil {
				t.Fatal(err)
			}
			g, err := policy.ParseFacts(policy.OnCall, v)
			if err != nil {
				t.Fatal(err)
			}
			hidden := c.hidden || len(c.to) > 0 && string(encoded) == string(f.Encode())
			if slices.Contains(g.Hidden, "call.destinations") != hidden || !g.Roles.Known {
				t.Errorf("%s: hidden %v in %s", name, g.Hidden, encoded)
			}
			if !hidden && len(g.Roles.Destinations) != len(c.to) || !hidden && len(c.to) == 2 && g.Roles.Destinations[1].Text != c.to[0].Text {
				t.Errorf("%s: %v", name, g.Roles.Destinations)
			}
		}
	}
}

func TestGiveRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		v    policy.Values
		want string
	}{
		{"a misspelt name", policy.Values{"session.untrused": true}, "unknown fact session.untrused (did you mean session.untrusted?)"},
		{"a derived fact", policy.Values{"call.egress": true}, "call.egress follows from other facts"},
		{"another type", policy.Values{"session.untrusted": "yes"}, "session.untrusted is not true or false"},
		{"another value", policy.Values{"call.from": []string{"usr"}}, `call.from is never "usr" (did you mean user?)`},
		{"a number of kinds", policy.Values{"call.from": 2}, "call.from is not a list of texts"},
		{"less than nothing", policy.Values{"call.reads": -1}, "call.reads is not a number of elements"},
		{"an unknown trust", policy.Values{"server.trust": "much"}, "server.trust is "},
		{"a result on a call", policy.Values{"response.isError": true}, "response.isError is known of results only"},
		{"two mistakes", policy.Values{"a": 1, "b": 2}, "unknown fact b"},
	} {
		_, err := policy.ParseFacts(policy.OnCall, c.v)
		problems, _ := err.(policy.Errors)
		var got strings.Builder
		for _, p := range problems {
			fmt.Fprintf(&got, "%s (%s)\n", p.Msg, p.Hint)
		}
		if !strings.Contains(got.String(), c.want) {
			t.Errorf("%s: %q, want %q", c.name, got.String(), c.want)
		}
	}
}

func TestGiveFollows(t *testing.T) {
	g, err := policy.ParseFacts(policy.OnCall, policy.Values{
		"server.trust": "trusted", "tool.declared.readOnlyHint": true, "tool.annotations.destructiveHint": true,
		"session.sensitivity": []string{"pii"}, "call.destination.values": 2, "call.hasArguments": true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if a := g.Tool.Annotations; a.ReadOnly != contract.Yes || a.Destructive != contract.Yes || a.OpenWorld != contract.Yes {
		t.Errorf("the contract is %v", a)
	}
	if !g.Session.Label.Private || !g.Call.Traced || g.Call.Destinations.Len() != 2 {
		t.Errorf("%+v", g.Facts)
	}
	if diff := cmp.Diff([]string{"call.destination.values", "call.arguments"}, g.Hidden); diff != "" {
		t.Error(diff)
	}
}

// readers reads facts that records keep away, in ways in which that matters and in which it does not.
const readers = `version: 1
default: allow
rules:
- {name: sized, when: call, effect: ask, if: 'size(call.destination.values) > 1 && session.untrusted'}
- {name: named, when: call, effect: block, if: '"a@example.com" in call.destination.values'}
- {name: argued, when: call, effect: warn, if: 'has(call.arguments.to)'}
- {name: stated, when: call, effect: ask, if: 'has(call.writes) && call.writes.size() > 1'}
- {name: looped, when: call, effect: ask, if: 'has(call.reads) && call.reads.exists(r, r.startsWith("file:"))'}
- {name: told, when: call, effect: warn, if: 'has(session.sinceUser) && session.sinceUser > 60'}
`

// A decision on recorded facts is the decision that was made, or is left open around it; and it is exact where no
// rule reads a value that was kept.
func TestEncodingIsExact(t *testing.T) {
	var policies []*policy.Policy
	for _, name := range policy.Profiles() {
		p, _ := policy.Profile(name)
		policies = append(policies, p)
	}
	hiding := load(t, readers)
	rapid.Check(t, func(t *rapid.T) {
		f := drawTraced(t)
		text := f.Encode()
		if strings.Contains(string(text), "example") {
			t.Fatalf("an argument is in %s", text)
		}
		v, err := policy.DecodeFacts(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		v["call.method"], v["tool.name"], v["server.name"] = f.Method, f.Tool.Name, f.Server.Name
		g, err := policy.ParseFacts(f.Phase, v)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		g.Session.Label = f.Session.Label
		for _, p := range policies {
			d, e := p.Decide(f), p.Explain(g)
			if !e.Sure() || e.Strictest != d.Effect || e.Rule != d.Rule {
				t.Fatalf("%s: decided %v by %q, and from the record %v to %v by %q", text, d.Effect, d.Rule, e.Strictest, e.Mildest, e.Rule)
			}
		}
		d, e := hiding.Decide(f), hiding.Explain(g)
		if d.Effect < e.Strictest || d.Effect > e.Mildest || (e.Sure() && e.Rule != "" && e.Rule != d.Rule) {
			t.Fatalf("%s: decided %v by %q, and from the record %v to %v by %q", text, d.Effect, d.Rule, e.Strictest, e.Mildest, e.Rule)
		}
		for _, r := range e.Rules {
			matched := slicesHas(d.Matched, r.Rule)
			if r.State == policy.Matched && !matched || r.State == policy.Unmatched && matched {
				t.Fatalf("%s: %s is %v, and matched is %v", text, r.Rule, r.State, matched)
			}
			if r.State == policy.Undecided && (r.Rule == "sized" || r.Rule == "stated" || r.Rule == "told") {
				t.Fatalf("%s is left open", r.Rule)
			}
		}
	})
}

// Whether a plain read goes to the own machine is in the record, and its host is not.
func TestEncodingOfHosts(t *testing.T) {
	calm, _ := policy.Profile("calm")
	for _, local := range []bool{false, true} {
		host := map[bool]string{false: "example.com", true: "localhost"}[local]
		f := &policy.Facts{
			Method: "tools/call", Arguments: []byte(`{"url":"http://` + host + `/"}`),
			Tool:    policy.ToolFacts{Annotations: contract.Contract{ReadOnly: contract.Yes}, Declared: contract.Contract{ReadOnly: contract.Yes}},
			Session: policy.SessionFacts{Label: label.Label{Private: true, Untrusted: true}.Normal()},
			Call: policy.CallFacts{
				Traced: true, Stated: true, DestinationFrom: label.SetOf("novel"), Destinations: label.SetOf("http://" + host + "/"),
				Hosts: label.SetOf(host), Local: local,
			},
		}
		v, err := policy.DecodeFacts(f.Encode())
		if err != nil {
			t.Fatal(err)
		}
		g, err := policy.ParseFacts(policy.OnCall, v)
		if err != nil {
			t.Fatal(err)
		}
		g.Method, g.Session.Label = f.Method, f.Session.Label
		want := map[bool]policy.Effect{false: policy.Ask, true: policy.Allow}[local]
		if d, e := calm.Decide(f), calm.Explain(g); d.Effect != want || !e.Sure() || e.Strictest != want || e.Rule != d.Rule {
			t.Errorf("%s: decided %v by %q, and from the record %v to %v by %q", host, d.Effect, d.Rule, e.Strictest, e.Mildest, e.Rule)
		}
	}
}

func slicesHas(matches []policy.Match, rule string) bool {
	for _, m := range matches {
		if m.Rule == rule {
			return true
		}
	}
	return false
}

// drawTraced draws a call, or a result, with all that is known of its arguments.
func drawTraced(t *rapid.T) *policy.Facts {
	f := drawFacts(t)
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	set := func(name string, of ...string) label.Set[string] {
		return label.SetOf(rapid.SliceOfDistinct(rapid.SampledFrom(of), func(s string) string { return s }).Draw(t, name)...)
	}
	kinds := []string{"user", "trusted", "private", "untrusted", "novel"}
	places := []string{"a@example.com", "b@example.com", "https://example.org/"}
	f.Server.Trust = contract.Trust(rapid.IntRange(0, 2).Draw(t, "trust"))
	if flag("effective") {
		f.Tool.Annotations = contract.Effective(f.Tool.Declared, f.Server.Trust)
	}
	f.Session.Calls, f.Session.Recent, f.Session.Sent = rapid.IntRange(0, 90).Draw(t, "calls"), rapid.IntRange(0, 90).Draw(t, "recent"), 1
	if f.Session.UserWords = flag("words"); f.Session.UserWords {
		f.Session.SinceUser = time.Duration(rapid.IntRange(0, 120).Draw(t, "since")) * time.Second
	}
	if flag("traced") {
		f.Call = policy.CallFacts{
			Traced: true, Stated: flag("stated"), From: set("from", kinds...), SmallFrom: set("small", kinds...),
			Destinations: set("values", places...), Hosts: set("hosts", "example.com"), DestinationFrom: set("to", kinds...),
			ContentFrom: set("content", kinds...), Own: flag("own"), Local: flag("local"), First: flag("first"), Strange: flag("strange"), Links: flag("links"), Orders: flag("orders"), Identifies: flag("identifies"), MadeLinks: flag("made"), Named: flag("named"), Verbatim: flag("verbatim"), Crosses: flag("crosses"),
			Leak: rapid.IntRange(0, 300).Draw(t, "leak"), Total: rapid.IntRange(0, 300).Draw(t, "total"),
		}
	}
	if flag("overlaid") {
		f.Resources = policy.Resources{Known: true, Reads: set("reads", "file:///example").Slice(), Writes: set("writes", places...).Slice()}
		f.Roles = policy.Roles{Known: true, Cut: flag("cut"), Destinations: []policy.Argument{{Path: "to", Text: places[0]}}}
	}
	if flag("result") {
		l := label.Label{Untrusted: flag("r.untrusted"), Malicious: flag("r.malicious"), Sensitivity: label.SetOf(label.PII)}.Normal()
		f.Phase, f.Response, f.ResponseError = policy.OnResult, &l, flag("r.error")
	}
	return f
}

// A folded policy decides as the whole one.
func TestFoldIsExact(t *testing.T) {
	policies := []*policy.Policy{policy.Default(), load(t, readers), load(t, string(manyRules(20))), load(t, looping)}
	rapid.Check(t, func(t *rapid.T) {
		tool, f := drawTraced(t), drawTraced(t)
		tool.Tool, tool.Server, tool.Method = f.Tool, f.Server, f.Method
		for _, p := range policies {
			if diff := cmp.Diff(p.Decide(f), p.Specialize(tool).Decide(f)); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// looping has rules whose cost is counted while they run.
const looping = `version: 1
rules:
- {name: a, when: call, effect: block, if: 'call.arguments.exists(k, call.arguments.exists(m, k + m == "x")) && tool.annotations.readOnlyHint'}
- {name: b, when: call, effect: ask, if: '!tool.annotations.readOnlyHint'}
`

func FuzzDecodeFacts(f *testing.F) {
	f.Add([]byte(`{"session.calls":1,"call.reads":3,"tool.declared.readOnlyHint":null,"call.from":["user"]}`))
	f.Add(benchmarkFacts().Encode())
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := policy.DecodeFacts(text)
		if err != nil {
			return
		}
		g, err := policy.ParseFacts(policy.OnResult, v)
		if err != nil {
			return
		}
		policy.Default().Explain(g)
		if again, err := policy.DecodeFacts(g.Encode()); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	f := benchmarkFacts()
	b.ReportAllocs()
	for b.Loop() {
		f.Encode()
	}
}

// BenchmarkFolded decides with 200 rules of which most are about tools by their names.
func BenchmarkFolded(b *testing.B) {
	var src strings.Builder
	src.WriteString("version: 1\nrules:\n")
	for i := range 200 {
		fmt.Fprintf(&src, "- {name: r%d, when: call, effect: ask, if: 'tool.name == \"t%d\" && session.untrusted'}\n", i, i)
	}
	f := benchmarkFacts()
	for _, c := range []struct {
		name string
		p    *policy.Policy
	}{{"names", load(b, src.String())}, {"mixed", load(b, string(manyRules(200)))}} {
		for _, folded := range []bool{false, true} {
			p := c.p
			if folded {
				p = p.Specialize(f)
			}
			b.Run(fmt.Sprintf("%s/folded=%v", c.name, folded), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.Decide(f)
				}
			})
		}
	}
}
