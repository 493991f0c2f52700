package guard_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// lastCall returns the findings that the event of the last decision on a call has.
func (r *events) lastCall() (found []record.Finding) {
	for i := len(r.all) - 1; i >= 0; i-- {
		if e := r.all[i]; e.Kind == record.Decision && e.Phase == "call" {
			if e.Content.Detection != nil {
				found = e.Content.Detection.Findings
			}
			break
		}
	}
	return found
}

// A secret in the arguments is held, also in a session that has read none, unless it cannot get out or the user wrote it.
func TestASecretInArguments(t *testing.T) {
	searched := guard.Detection{Detector: detect.New()}
	const said = `"_meta":{"dev.weir/user-message":"mail ` + foundKey + ` to a@example.com"},`
	for _, c := range []struct {
		name, meta, body string
		tool             contract.Contract
		detection        guard.Detection
		held             bool
		recorded         int
	}{
		{"a key", "", "key " + foundKey, sendMail, searched, true, 1},
		{"a key in base64", "", "a2V5IEFLSUFRWUxQTU41SEZJUVI3WFlB", sendMail, searched, true, 1},
		{"a key in escapes", "", `\u0041KIAQYLPMN5HFIQR7XYA`, sendMail, searched, true, 1},
		{"no key", "", "nothing", sendMail, searched, false, 0},
		{"a card number", "", "card 4539578763621486", sendMail, searched, false, 1},
		{"a key to a tool of a closed world", "", "key " + foundKey, keepNote, searched, false, 1},
		{"the user's key", said, foundKey, sendMail, searched, false, 1},
		{"notes", "", "key " + foundKey, sendMail, guard.Detection{Detector: detect.New(), Notes: true}, false, 1},
		{"off", "", "key " + foundKey, sendMail, guard.Detection{}, false, 0},
		{"a broken detector", "", "key " + foundKey, sendMail, guard.Detection{Detector: broken{}}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, searching(c.detection))
			params := `{` + c.meta + `"name":"post","arguments":{"to":"a@example.com","body":"` + c.body + `"}}`
			if _, err := f.g.Resolve(t.Context(), call("post", c.tool, params)); err != nil {
				t.Fatal(err)
			}
			v := f.g.Before(t.Context(), call("post", c.tool, params))
			if held := v.Effect == policy.Ask && v.Rule == "ask-before-a-found-secret-leaves"; held != c.held || !held && !v.Allowed() {
				t.Errorf("the call is %v by %q", v.Effect, v.Rule)
			}
			found := f.events.lastCall()
			if len(found) != c.recorded {
				t.Fatalf("recorded %+v", found)
			}
			if c.recorded > 0 && found[0].Path != "/arguments/body" {
				t.Errorf("recorded %+v", found[0])
			}
			if line, _ := json.Marshal(f.events.all[len(f.events.all)-1]); strings.Contains(string(line), foundKey) {
				t.Errorf("the event holds the key: %s", line)
			}
		})
	}
}

// A decision that would be made is the decision that is made.
func TestASecretInArgumentsOfAPlannedCall(t *testing.T) {
	f := newFixture(t, searching(guard.Detection{Detector: detect.New()}))
	params := `{"name":"post","arguments":{"to":"a@example.com","body":"` + foundKey + `"}}`
	r, err := f.g.Resolve(t.Context(), call("post", sendMail, params))
	if err != nil || r.Verdict.Effect != policy.Ask {
		t.Errorf("the call would be %v: %v", r.Verdict.Effect, err)
	}
}

// A question of a server is searched as its results are.
func TestQuestionsAreSearched(t *testing.T) {
	f := newFixture(t, searching(guard.Detection{Detector: detect.New()}))
	inquiry := call("lookup", lookUp, `{}`).Inquiry(guard.Sampling, json.RawMessage(
		`{"messages":[{"role":"user","content":{"type":"text","text":"`+order+` Key: `+foundKey+`"}}],"maxTokens":9}`))
	o := f.g.Ask(t.Context(), inquiry)
	if !o.Allowed() || !o.Label.Untrusted || !f.label(t).Sensitivity.Has(label.Credentials) {
		t.Errorf("outcome %+v, session %+v", o, f.label(t))
	}
	if v := f.g.Before(t.Context(), noteCall()); v.Effect != policy.Ask || !strings.Contains(strings.Join(v.Question.Alerts, " "), "the question of mcp://srv/") {
		t.Errorf("the next effect is %v: %+v", v.Effect, v.Question)
	}
}

// Rules read the findings in a result.
func TestRulesReadFindings(t *testing.T) {
	p, err := policy.Load("p.yaml", []byte(`version: 1
default: allow
rules:
  - {name: cards, when: result, effect: block, if: '"financial" in response.findings.likely && response.findings.paths == ["/content/0/text"]'}
  - {name: unread, when: result, effect: block, if: 'response.findings.incomplete'}
`))
	if err != nil {
		t.Fatal(err)
	}
	for text, rule := range map[string]string{
		"nothing": "", "id 4539578763621486": "cards", strings.Repeat(foundKey+" ", 100): "unread",
	} {
		f := newFixture(t, func(o *guard.Options) { o.Policy, o.Contents.Detection.Detector = p, detect.New() })
		if o := f.run(t, lookUpCall(), answerOf(text)); o.Rule != rule || o.Allowed() != (rule == "") {
			t.Errorf("%.30q is %v by %q", text, o.Effect, o.Rule)
		}
	}
}

// The effect of a finding is that of its rule, else of its class, else of the mode.
func TestEffectsOfFindings(t *testing.T) {
	scanner := detect.New()
	type effects = map[string]guard.FindingEffect
	for _, c := range []struct {
		name      string
		detection guard.Detection
		raised    bool
		recorded  int
	}{
		{"default", guard.Detection{}, true, 1},
		{"class noted", guard.Detection{Effects: effects{"credentials": guard.Note}}, false, 1},
		{"class ignored", guard.Detection{Effects: effects{"credentials": guard.Ignore}}, false, 0},
		{"another class ignored", guard.Detection{Effects: effects{"pii": guard.Ignore}}, true, 1},
		{"rule before class", guard.Detection{Effects: effects{"credentials": guard.Ignore, "aws-access-key-id": guard.Raise}}, true, 1},
		{"class before mode", guard.Detection{Notes: true, Effects: effects{"credentials": guard.Raise}}, true, 1},
	} {
		c.detection.Detector = scanner
		f := newFixture(t, searching(c.detection))
		o := f.run(t, lookUpCall(), answerOf("key "+foundKey))
		if got := o.Label.Sensitivity.Has(label.Credentials); got != c.raised {
			t.Errorf("%s: raised %t", c.name, got)
		}
		recorded := 0
		if d := f.events.last().Content.Detection; d != nil {
			recorded = len(d.Findings)
		}
		if recorded != c.recorded {
			t.Errorf("%s: recorded %d", c.name, recorded)
		}
	}
}

// In strict mode findings of medium confidence, one person and instructions of level untrusted count.
func TestStrictDetection(t *testing.T) {
	for _, strict := range []bool{false, true} {
		f := newFixture(t, searching(guard.Detection{Detector: detect.New(), Strict: strict}))
		o := f.run(t, lookUpCall(), answerOf("id 4539578763621486, ann.miller@acme-corp.com. "+hint))
		for _, class := range []label.Class{label.Financial, label.PII} {
			if o.Label.Sensitivity.Has(class) != strict {
				t.Errorf("strict %t: the label is %+v", strict, o.Label)
			}
		}
		if v := f.g.Before(t.Context(), noteCall()); (v.Effect == policy.Ask) != strict {
			t.Errorf("strict %t: the next effect is %v", strict, v.Effect)
		}
	}
}

// A message of a server that works on a call is searched as its result is.
func TestMessagesAreSearched(t *testing.T) {
	f := newFixture(t, searching(guard.Detection{Detector: detect.New()}))
	message := json.RawMessage(`{"level":"info","data":"` + order + ` Key: ` + foundKey + `"}`)
	if err := f.g.Told(t.Context(), lookUpCall(), label.Label{}, message); err != nil {
		t.Fatal(err)
	}
	if l := f.label(t); !l.Untrusted || !l.Sensitivity.Has(label.Credentials) {
		t.Errorf("the session is %+v", l)
	}
	if v := f.g.Before(t.Context(), noteCall()); v.Effect != policy.Ask || !strings.Contains(strings.Join(v.Question.Alerts, " "), "a message of mcp://srv/lookup") {
		t.Errorf("the next effect is %v: %+v", v.Effect, v.Question)
	}
}
