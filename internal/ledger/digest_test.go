package ledger_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// TestDigestsFollowAnswers holds that events have the digests of the answers as their servers sent them, though these are
// made while the answers, with their labels in the same memory, go to the host.
func TestDigestsFollowAnswers(t *testing.T) {
	r := newRig(t, time.Millisecond, nil)
	g := r.guard()
	sent := map[string]string{}
	for n := range 10 {
		for name, c := range map[string]contract.Contract{"reads": reading, "writes": writing} {
			call := call(c)
			call.ID = fmt.Sprint(name, n)
			text := fmt.Sprintf(`{"content":[{"type":"text","text":"%s"}]%s}`, strings.Repeat("x", 150*n*n*n), strings.Repeat(" ", n%3))
			result := append(make(json.RawMessage, 0, len(text)+1000), text...)
			o := g.Before(t.Context(), call).Admission.After(t.Context(), guard.Answer{Result: result, Own: true})
			if !o.Allowed() || !json.Valid(o.Answer.Result) || &o.Answer.Result[0] != &result[0] || len(o.Answer.Result) <= len(text) {
				t.Fatalf("%s: %+v", call.ID, o.Refusal())
			}
			sent[call.ID] = text
		}
	}
	if err := r.db.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range r.events() {
		if e.Kind != record.Decision || e.Phase != policy.OnResult.String() {
			continue
		}
		salt, err := hex.DecodeString(e.Content.Salt)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("sha256:%x", sha256.Sum256(append(salt, sent[e.Call]...))); e.Content.Answer != want {
			t.Errorf("%s: digest %s, want %s", e.Call, e.Content.Answer, want)
		}
		delete(sent, e.Call)
	}
	if len(sent) > 0 {
		t.Errorf("%d answers have no event", len(sent))
	}
}
