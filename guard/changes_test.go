package guard_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

const asksToSend = `version: 1
default: allow
rules: [{name: send, when: call, effect: ask, if: 'tool.name == "send_draft"'}]
`

// editDraft changes what can be changed again.
var editDraft = contract.Contract{
	ReadOnly: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.User), Outcomes: contract.Possible(contract.Benign),
	Accepts: contract.Possible(label.User), Sources: contract.Possible(label.System), Returns: contract.Possible[label.Class](),
}

// TestApprovedAsShown holds that whatever the agent does, a draft goes out as it was when a person was asked about it: no
// other change went out since that nobody was asked about.
func TestApprovedAsShown(t *testing.T) {
	sent, p := 0, mustLoad(t, asksToSend)
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture(outer, func(o *guard.Options) { o.Policy = p })
		send := call("send_draft", sendMail, `{"arguments":{"id":42}}`)
		edits, shown := 0, map[string]int{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"edit", "read", "send", "accept"}).Draw(t, "step") {
			case "edit":
				text := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "text")
				if v := f.g.Before(t.Context(), call("edit_draft", editDraft, fmt.Sprintf(`{"arguments":{"text":%q}}`, text))); !v.Allowed() {
					t.Fatalf("an edit is not allowed: %+v", v)
				}
				edits++
			case "read":
				f.g.Before(t.Context(), call("read_file", readSalaries, `{}`))
			case "accept":
				for binding := range shown {
					f.accepted[binding] = true
				}
			case "send":
				v := f.g.Before(t.Context(), send)
				switch {
				case v.Effect == policy.Ask:
					if at, ok := shown[v.Question.Binding]; ok && at != edits {
						t.Fatalf("the question of draft %d is that of draft %d", edits, at)
					}
					shown[v.Question.Binding] = edits
				case !v.Allowed():
					t.Fatalf("a draft is not asked about: %+v", v)
				case shown[v.Redeemed] != edits:
					t.Fatalf("draft %d goes, and draft %d was shown", edits, shown[v.Redeemed])
				default:
					sent++
				}
			}
		}
	})
	t.Logf("%d drafts were sent", sent)
}
