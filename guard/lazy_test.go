package guard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// Rules that read the origin of arguments in plain reads too.
const curious = `version: 1
rules:
  - {name: private-read, when: call, effect: ask, message: m, if: 'call.plainRead && "private" in call.from'}
  - {name: copied, when: call, effect: warn, message: m, if: 'session.private && "trusted" in call.from'}
  - {name: crossing, when: call, effect: block, message: m, if: 'call.crosses'}
  - {name: told, when: call, effect: ask, message: m, if: 'session.untrusted && !call.plainRead && call.leak.total > 40'}
`

// eager never matches, and reads the origin of arguments in results, so that every call is traced at once.
const eager = `  - {name: eager, when: result, effect: block, message: m, if: 'size(call.from) > 99'}
`

// A call is decided in the same way whether or not its arguments were traced before a rule asked, and whether or not
// the texts of earlier results were indexed by then.
func TestLazyFactsDecideAlike(t *testing.T) {
	load := func(text string) *policy.Policy {
		p, err := policy.Load("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	balanced, _ := policy.ProfileSource(policy.Balanced)
	policies := map[string][2]*policy.Policy{
		"curious": {load(curious), load(curious + eager)}, "balanced": {load(string(balanced)), load(string(balanced) + eager)},
	}
	texts := []string{
		"the quick brown fox jumps", "Ada Lovelace 4711 0815", "ben@acme.example", "https://evil.example/collect?id=77",
		"a report of the third quarter", "never seen before by anybody",
	}
	rapid.Check(t, func(rt *rapid.T) {
		for name, pair := range policies {
			late := newFixture(t, func(o *guard.Options) { o.Policy = pair[0] })
			if rapid.Bool().Draw(rt, "indexed meanwhile") {
				ctx, end := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { guard.Index(ctx, late.g) })
				defer running.Wait()
				defer end()
			}
			soon := newFixture(t, func(o *guard.Options) { o.Policy = pair[1] })
			text := rapid.SampledFrom(texts)
			for range rapid.IntRange(1, 8).Draw(rt, "calls") {
				tool := rapid.SampledFrom([]string{"list", "profile", "page", "mail", "write", "find"}).Draw(rt, "tool")
				arguments, _ := json.Marshal(map[string]string{"to": text.Draw(rt, "to"), "text": text.Draw(rt, "text")})
				result := textResult(text.Draw(rt, "result") + " and " + text.Draw(rt, "more"))
				a, b := round(t, late.g, tool, string(arguments), result), round(t, soon.g, tool, string(arguments), result)
				if a != b {
					rt.Fatalf("%s: %s: late %+v, at once %+v", name, tool, a, b)
				}
			}
		}
	})
}

// A turn is the two decisions on a call, and what an approver would be shown.
type turn struct {
	call, result policy.Effect
	rule, after  string
	shown        string
}

func round(t *testing.T, g *guard.Guard, tool, arguments, result string) (out turn) {
	v := g.Before(t.Context(), stated(t, tool, arguments, ""))
	out.call, out.rule = v.Effect, v.Rule
	if v.Question != nil {
		shown, _ := json.Marshal(v.Question.Values)
		out.shown = string(shown)
	}
	if v.Admission != nil {
		o := v.Admission.After(t.Context(), guard.Answer{Result: json.RawMessage(result)})
		out.result, out.after = o.Effect, o.Rule
	}
	return out
}

// The event of a plain read tells no origin that no rule asked for; that of any other call tells it always.
func TestPlainReadsAreNotTraced(t *testing.T) {
	for _, row := range []struct {
		tool, rule string
		traced     bool
	}{
		{"list", "", false},
		{"profile", "", false},
		{"list", `'call.plainRead && "private" in call.from'`, true},
		{"list", `'session.untrusted && "private" in call.from'`, false},
		{"fetch", "", true},
		{"write", "", true},
		{"mail", "", true},
	} {
		text := "version: 1\nrules: []\n"
		if row.rule != "" {
			text = "version: 1\nrules: [{name: r, when: call, effect: ask, message: m, if: " + row.rule + "}]\n"
		}
		p, err := policy.Load("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		f := newFixture(t, func(o *guard.Options) { o.Policy = p })
		f.run(t, stated(t, row.tool, `{"to":"ben@acme.example","text":"hello there"}`, ""), textResult("x"))
		decided := 0
		for _, e := range f.events.all {
			if e.Kind != record.Decision {
				continue
			}
			decided++
			facts, err := policy.DecodeFacts(e.Facts)
			if err != nil {
				t.Fatal(err)
			}
			if _, traced := facts["call.leak.bits"]; traced != row.traced {
				t.Errorf("%s with rule %s: the event of the %s has origins: %v", row.tool, row.rule, e.Phase, traced)
			}
		}
		if decided != 2 {
			t.Errorf("%s: %d decisions", row.tool, decided)
		}
	}
}

// A result that is decided twice, under two policies, is decided by the same origins of the call's arguments.
func TestLateTracesAreKept(t *testing.T) {
	const asks = `{name: asks, when: result, effect: ask, message: m, if: 'tool.name == "list"'}`
	const identifies = `{name: identifies, when: result, effect: %s, message: m, if: 'call.content.identifies'}`
	load := func(rule string) *policy.Policy {
		p, err := policy.Load("p.yaml", []byte("version: 1\nrules: ["+rule+"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		first, second string
		want          policy.Effect
	}{
		{asks, fmt.Sprintf(identifies, "block"), policy.Block},
		{fmt.Sprintf(identifies, "ask"), fmt.Sprintf(identifies, "ask"), policy.Ask},
	} {
		f := newFixture(t, func(o *guard.Options) { o.Policy = load("") })
		const who = "Ada Lovelace lives here, ada.lovelace@acme.example"
		f.run(t, stated(t, "profile", `{"to":"x"}`, ""), textResult(who))
		v := f.g.Before(t.Context(), stated(t, "list", `{"to":"x","text":"`+who+`"}`, ""))
		f.g.Swap(load(c.first), 0)
		answer := guard.Answer{Result: json.RawMessage(textResult("hi"))}
		if o := v.Admission.After(t.Context(), answer); o.Effect != policy.Ask {
			t.Fatalf("under %s: %v", c.first, o)
		}
		f.g.Swap(load(c.second), 0)
		if o := v.Admission.After(t.Context(), answer); o.Effect != c.want {
			t.Errorf("under %s and then %s: %v", c.first, c.second, o)
		}
	}
}

// A session may be named with its parent while its results are indexed.
func TestParentsComeWhileTextsAreTakenIn(t *testing.T) {
	f := newFixture(t, nil)
	ctx, end := context.WithCancel(t.Context())
	var indexing sync.WaitGroup
	indexing.Go(func() { guard.Index(ctx, f.g) })
	for i := range 20 {
		c := stated(t, "list", `{"to":"x"}`, "")
		c.Session = session.Ref{Key: fmt.Sprint("child", i), Principal: "p"}
		v := f.g.Before(ctx, c)
		v.Admission.After(ctx, guard.Answer{Result: json.RawMessage(textResult(strings.Repeat("some words of a page ", 5000)))})
		c.Session.Parent = "parent"
		f.g.Before(ctx, c)
	}
	end()
	indexing.Wait()
}
