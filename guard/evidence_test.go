package guard_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
)

const theirs = `{"type":"ifc.fides.v1","digest":"sha256:` +
	`0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a","canonicalization":"jcs/rfc8785","ref":"https://evidence.example/1"}`

// A result whose label a finding raises refers to the findings in the event, which the reference proves, and tells
// nothing of them. The server's own reference stays alone.
func TestFoundLabelsReferToTheFindings(t *testing.T) {
	none, err := annotation.NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	withOwn := `{"content":[{"type":"text","text":"` + foundKey + `"}],"_meta":{"io.modelcontextprotocol/trust-annotations":{"evidenceRef":` + theirs + `}}}`
	for _, c := range []struct {
		name, answer string
		change       func(*guard.Options)
		want         string // the type of the reference
	}{
		{"a key", answerOf("key " + foundKey), nil, guard.Findings},
		{"with annotations", `{"content":[{"type":"text","text":"` + foundKey + `"}],"_meta":{"x":1}}`, nil, guard.Findings},
		{"an order", answerOf(order), nil, guard.Findings},
		{"nothing", answerOf("a line"), nil, ""},
		{"nothing that raises", answerOf("id 4539578763621486"), nil, ""},
		{"noted only", answerOf(foundKey), func(o *guard.Options) { o.Contents.Detection.Notes = true }, ""},
		{"redacted", answerOf("key " + foundKey), func(o *guard.Options) {
			o.Contents.Detection.Effects = map[string]guard.FindingEffect{"credentials": guard.Redact}
		}, guard.Findings},
		{"the server's own", withOwn, nil, "ifc.fides.v1"},
		{"no dialect", answerOf(foundKey), func(o *guard.Options) { o.Words.ToHosts = none }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, func(o *guard.Options) {
				o.Contents.Detection.Detector = detect.New()
				if c.change != nil {
					c.change(o)
				}
			})
			o := f.run(t, lookUpCall(), c.answer)
			if !o.Allowed() {
				t.Fatalf("outcome %s", o)
			}
			if c.change == nil && c.want != "ifc.fides.v1" && !json.Valid(o.Answer.Result) {
				t.Fatalf("the answer is %s", o.Answer.Result)
			}
			claim, defects := annotation.ReadResult(o.Answer.Result)
			var got string
			if len(claim.Evidence) == 1 {
				got = claim.Evidence[0].Type
			}
			if got != c.want || len(claim.Evidence) > 1 || len(defects) > 0 {
				t.Fatalf("the answer refers to %+v, defects %v", claim.Evidence, defects)
			}
			if got != guard.Findings {
				return
			}
			e := f.events.last()
			kept, _ := json.Marshal(e.Content.Detection)
			if err := claim.Evidence[0].Check(kept); err != nil || claim.Evidence[0].Ref != "urn:weir:call:"+e.Call && e.Call != "" {
				t.Errorf("reference %+v to %s: %v", claim.Evidence[0], kept, err)
			}
			for _, secret := range []string{"aws-access-key-id", e.Content.Salt, e.Content.Detection.Findings[0].Digest} {
				if said := string(o.Answer.Result); secret != "" && strings.Contains(said[strings.Index(said, `"_meta"`):], secret) {
					t.Errorf("the annotations tell %s: %s", secret, said)
				}
			}
		})
	}
}
