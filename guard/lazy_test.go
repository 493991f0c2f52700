package guard_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
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
