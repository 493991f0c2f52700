package analyze_test

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/analyze"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// tool returns a tool of a trusted server.
func tool(name string, c contract.Contract) analyze.Tool {
	return analyze.Tool{Server: "s", Name: name, Trust: contract.Trusted, Declared: c, Effective: contract.Effective(c, contract.Trusted)}
}

var (
	web  = tool("web", contract.Contract{ReadOnly: contract.Yes, Destinations: contract.Possible(contract.Ephemeral), Sources: contract.Possible(label.UntrustedPublic), Returns: contract.Possible[label.Class]()})
	file = tool("file", contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.No, Sources: contract.Possible(label.Internal), Returns: contract.Possible(label.Credentials, label.PII)})
	send = tool("send", contract.Contract{ReadOnly: contract.No, OpenWorld: contract.Yes, Destinations: contract.Possible(contract.Public), Outcomes: contract.Possible(contract.Irreversible), Sources: contract.Possible(label.System), Returns: contract.Possible[label.Class]()})
	note = tool("note", contract.Contract{ReadOnly: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.Internal), Sources: contract.Possible(label.System), Returns: contract.Possible[label.Class]()})
)

func load(t testing.TB, src string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("p.yaml", []byte("version: 1\n"+src))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func explore(t testing.TB, p *policy.Policy, g analyze.Goal, tools ...analyze.Tool) analyze.Result {
	t.Helper()
	r, err := analyze.Explore(context.Background(), analyze.Question{Policy: p, Tools: tools, Goal: g})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func steps(r analyze.Result) string {
	var names []string
	for _, s := range r.Counterexample {
		names = append(names, strings.TrimPrefix(s.Tool, "s/"))
	}
	return strings.Join(names, " ")
}

func TestExplore(t *testing.T) {
	const everything = "default: allow\nrules: []\n"
	trifecta := "rules: [{name: never, when: call, if: 'session.untrusted && session.private && \"public\" in tool.annotations.inputMetadata.destination', effect: block}]\n"
	credentials := "rules: [{name: c, when: call, if: 'session.credentials && \"public\" in tool.annotations.inputMetadata.destination', effect: ask}]\n"
	withheld := "rules: [{name: w, when: result, if: response.annotations.openWorldHint, effect: block}]\n"
	byArgument := "rules: [{name: a, when: call, if: 'session.private && !(call.arguments.to == \"boss@example.com\")', effect: block}]\n"
	all := []analyze.Tool{note, web, file, send}
	for _, c := range []struct {
		name   string
		policy string
		goal   analyze.Goal
		tools  []analyze.Tool
		want   string // the counterexample; "" for a proof
	}{
		{"no policy", everything, analyze.Trifecta(), all, "web file send"},
		{"nothing of strangers", everything, analyze.Flow(label.PII, contract.Internal), []analyze.Tool{web, note}, ""},
		{"no way out", everything, analyze.Flow(label.PII, contract.Public), []analyze.Tool{file, note}, ""},
		{"the way to a place within", everything, analyze.Flow(label.PII, contract.Internal), all, "file note"},
		{"private data at all", everything, analyze.Flow(analyze.AnyPrivate, contract.Public), all, "file send"},
		{"the trifecta is blocked", trifecta, analyze.Trifecta(), all, ""},
		{"and private data alone is not", trifecta, analyze.Flow(label.PII, contract.Public), all, "file send"},
		{"credentials are asked about", credentials, analyze.Flow(label.Credentials, contract.Public), all, ""},
		{"and other data is not", credentials, analyze.Flow(label.PII, contract.Public), all, "file send"},
		{"strangers' text never enters", withheld, analyze.Trifecta(), all, ""},
		{"an argument may be the one that passes", byArgument, analyze.Flow(label.PII, contract.Public), all, "file send"},
		{"the default blocks", "default: block\nrules: []\n", analyze.Trifecta(), all, ""},
	} {
		r := explore(t, load(t, c.policy), c.goal, c.tools...)
		if got := steps(r); got != c.want || r.Proved != (c.want == "") || r.States == 0 {
			t.Errorf("%s: %q, proved %t in %d states, want %q", c.name, got, r.Proved, r.States, c.want)
		}
	}
}

func TestOpenRulesAreNamed(t *testing.T) {
	p := load(t, "rules: [{name: to-the-boss, when: call, if: 'call.arguments.to == \"x\"', effect: block}]\n")
	r := explore(t, p, analyze.Flow(label.PII, contract.Public), file, send)
	if last := r.Counterexample[len(r.Counterexample)-1]; len(last.Unless) != 1 || last.Unless[0] != "to-the-boss" {
		t.Errorf("the last step is %+v", last)
	}
}

// The refinements of a contract for a call are open too.
func TestVaryingContracts(t *testing.T) {
	p := load(t, "rules: [{name: n, when: call, if: 'session.private && \"public\" in tool.annotations.inputMetadata.destination', effect: block}]\n")
	if r := explore(t, p, analyze.Flow(label.PII, contract.Public), file, send); !r.Proved {
		t.Errorf("not proved: %s", steps(r))
	}
	varying := send
	varying.Varies = true
	if r := explore(t, p, analyze.Flow(label.PII, contract.Public), file, varying); r.Proved {
		t.Error("a contract that policy cannot know is taken for known")
	}
}

// A proof holds for every sequence of calls that is drawn, with any claims of the results.
func TestProofsHold(t *testing.T) {
	goal := analyze.Trifecta()
	p := policy.Default()
	rapid.Check(t, func(t *rapid.T) {
		var tools []analyze.Tool
		for i := range rapid.IntRange(1, 4).Draw(t, "tools") {
			tools = append(tools, drawTool(t, i))
		}
		r, err := analyze.Explore(context.Background(), analyze.Question{Policy: p, Tools: tools, Goal: goal})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Proved {
			return
		}
		var session label.Label
		for range rapid.IntRange(1, 8).Draw(t, "calls") {
			one := tools[rapid.IntRange(0, len(tools)-1).Draw(t, "tool")]
			f := &policy.Facts{
				Method: "tools/call", Tool: policy.ToolFacts{Name: one.Name, Annotations: one.Effective, Declared: one.Declared},
				Server: policy.ServerFacts{Name: one.Server, Trust: one.Trust}, Session: policy.SessionFacts{Label: session},
				Arguments: []byte(rapid.SampledFrom([]string{`{}`, `{"url":"https://x.example/"}`, `{"to":"a@b.example","body":"x"}`}).Draw(t, "arguments")),
			}
			if p.Decide(f).Effect < policy.Warn {
				continue
			}
			if goal.Holds(session) && one.MayReach(goal.Destination) {
				t.Fatalf("%s goes out of a session that is %+v, although that was proved impossible", one, session)
			}
			result := one.Effective.Label().Normal()
			f.Phase, f.Response = policy.OnResult, &result
			if p.Decide(f).Effect >= policy.Warn {
				session = label.Join(session, result)
			}
		}
	})
}

func drawTool(t *rapid.T, i int) analyze.Tool {
	hint := func(name string) contract.Hint { return contract.Hint(rapid.IntRange(0, 2).Draw(t, name)) }
	c := contract.Contract{ReadOnly: hint("readOnly"), OpenWorld: hint("openWorld"), Destructive: hint("destructive")}
	if rapid.Bool().Draw(t, "knows destination") {
		c.Destinations = contract.Possible(rapid.SampledFrom([]contract.Destination{contract.Ephemeral, contract.Internal, contract.Public}).Draw(t, "destination"))
	}
	if rapid.Bool().Draw(t, "knows source") {
		c.Sources = contract.Possible(rapid.SampledFrom([]label.Source{label.UntrustedPublic, label.Internal, label.System}).Draw(t, "source"))
	}
	trust := contract.Trust(rapid.IntRange(0, 2).Draw(t, "trust"))
	return analyze.Tool{Server: fmt.Sprintf("s%d", i), Name: "t", Trust: trust, Declared: c, Effective: contract.Effective(c, trust)}
}

func BenchmarkExplore(b *testing.B) {
	var tools []analyze.Tool
	for i := range 500 {
		t := []analyze.Tool{web, file, send, note}[i%4]
		t.Server, t.Name = fmt.Sprintf("s%d", i/10), fmt.Sprintf("t%d", i)
		tools = append(tools, t)
	}
	named := load(b, "rules: [{name: n, when: call, if: 'session.untrusted && tool.name == \"t3\"', effect: block}, "+
		"{name: never, when: call, if: 'session.private && \"public\" in tool.annotations.inputMetadata.destination', effect: block}]\n")
	for _, c := range []struct {
		name   string
		policy *policy.Policy
	}{{"default", policy.Default()}, {"by name", named}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				explore(b, c.policy, analyze.Trifecta(), tools...)
			}
		})
	}
}

// A policy that grows milder with a label is found out only if results may claim more.
func TestClaims(t *testing.T) {
	p := load(t, "default: block\nrules: [{name: r, when: result, if: 'true', effect: allow}, {name: read, when: call, if: 'tool.annotations.readOnlyHint', effect: allow}, "+
		"{name: odd, when: call, if: session.malicious, effect: allow}]\n")
	q := analyze.Question{Policy: p, Tools: []analyze.Tool{web, file, send}, Goal: analyze.Trifecta()}
	for _, claims := range []bool{false, true} {
		q.Claims = claims
		r, err := analyze.Explore(t.Context(), q)
		if err != nil || r.Proved == claims {
			t.Errorf("claims %t: proved %t, %v", claims, r.Proved, err)
		}
	}
}

// A picture of tools with hostile names is still one picture.
func TestPictures(t *testing.T) {
	evil := send
	evil.Name = "</text><script>alert(1)</script>\"];\n\x1b"
	r, err := analyze.Examine(t.Context(), policy.Default(), []analyze.Tool{web, file, evil, note})
	if err != nil {
		t.Fatal(err)
	}
	if r.Before.Proved || len(r.Out) != 1 || len(r.Untrusted) != 1 || len(r.Private) != 1 {
		t.Errorf("%+v", r)
	}
	for _, as := range []analyze.Picture{analyze.SVG, analyze.DOT, analyze.Mermaid} {
		var b strings.Builder
		if err := r.Draw(&b, as); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "<script") && as != analyze.DOT || strings.ContainsRune(b.String(), 0x1b) || !strings.Contains(b.String(), "s/web") {
			t.Errorf("%s:\n%s", as, b.String())
		}
		if as == analyze.SVG {
			if err := xml.Unmarshal([]byte(b.String()), new(struct{})); err != nil {
				t.Errorf("the SVG is no XML: %v", err)
			}
		}
	}
	if err := r.Draw(&strings.Builder{}, "png"); err == nil {
		t.Error("an unknown picture is drawn")
	}
	f := r.Findings()
	if f.All[0].Rule != "trifecta-guarded" && f.All[0].Rule != "trifecta-open" {
		t.Errorf("found %+v", f.All)
	}
}

// A destination that the user names may go; one that an attacker names may not.
func TestAttacker(t *testing.T) {
	p := load(t, "rules: [{name: n, when: call, if: 'session.private && !(call.from == [\"user\"])', effect: ask}]\n")
	q := analyze.Question{Policy: p, Tools: []analyze.Tool{web, file, send}, Goal: analyze.Trifecta()}
	for _, attacker := range []bool{false, true} {
		q.Attacker = attacker
		r, err := analyze.Explore(t.Context(), q)
		if err != nil || r.Proved != attacker {
			t.Errorf("attacker %t: proved %t, %v", attacker, r.Proved, err)
		}
	}
}

// The default policy keeps an attacker from completing the trifecta unasked, with any well-described tools.
func TestDefaultPolicyAgainstAttackers(t *testing.T) {
	fetch := tool("fetch", contract.Contract{ReadOnly: contract.Yes, Destinations: contract.Possible(contract.Public), Sources: contract.Possible(label.UntrustedPublic), Returns: contract.Possible[label.Class]()})
	unknown := analyze.Tool{Server: "x", Name: "unknown", Effective: contract.Effective(contract.Contract{}, contract.Untrusted)}
	r, err := analyze.Explore(t.Context(), analyze.Question{
		Policy: policy.Default(), Tools: []analyze.Tool{web, file, send, note, fetch, unknown}, Goal: analyze.Trifecta(), Attacker: true,
	})
	if err != nil || !r.Proved {
		t.Errorf("%v\n%s", err, strings.Join(r.Lines(), "\n"))
	}
}

// The policies that are shipped for keeping the trifecta apart are proved to do so against an attacker who chooses the arguments.
func TestExamplesKeepTheThreeApart(t *testing.T) {
	for _, name := range []string{"trifecta", "context-minimization"} {
		src, err := os.ReadFile("../../policy/examples/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Load(name, src)
		if err != nil {
			t.Fatal(err)
		}
		r, err := analyze.Explore(t.Context(), analyze.Question{
			Policy: p, Tools: []analyze.Tool{web, file, send, note}, Goal: analyze.Trifecta(), Attacker: true,
		})
		if err != nil || !r.Proved {
			t.Errorf("%s: %s, %v", name, steps(r), err)
		}
	}
}

// TestLeakIsProved holds that the proof of a profile names the bits that small values may tell a destination unasked.
func TestLeakIsProved(t *testing.T) {
	prove := func(p *policy.Policy) analyze.Result {
		r, err := analyze.Explore(t.Context(), analyze.Question{Policy: p, Tools: []analyze.Tool{web, file, send, note}, Goal: analyze.Trifecta(), Attacker: true})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for profile, want := range map[string]int{"balanced": 64, "calm": policy.MostBits} {
		p, ok := policy.Profile(profile)
		if r := prove(p); !ok || !r.Proved || r.Bits != want {
			t.Errorf("%s: %+v", profile, r)
		}
	}
	quiet := load(t, `rules: [{name: a, when: call, if: 'call.egress && !call.plainRead && "untrusted" in call.from', effect: ask, message: m}]`)
	if r := prove(quiet); !r.Proved || r.Bits != policy.MostBits {
		t.Errorf("a policy without a budget: %+v", r)
	}
}
