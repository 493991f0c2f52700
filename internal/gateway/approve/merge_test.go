package approve_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/store"
)

// TestEqualQuestionsOfProcesses holds that processes which share a store ask about a call once, that an answer then
// allows it once, and that only a question which shows the same call is taken for it.
func TestEqualQuestionsOfProcesses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(first *guard.Question) // another question, which has the same binding all the same
		held   *approve.Held
		merged bool
	}{
		{"the same", func(*guard.Question) {}, nil, true},
		{"with another origin", func(q *guard.Question) { q.UserWords = "mail Mallory" }, nil, true},
		{"of another agent session", func(q *guard.Question) { q.Session.Key = "other" }, nil, false},
		{"of another principal", func(q *guard.Question) { q.Session.Principal = "bob" }, nil, false},
		{"of another tool", func(q *guard.Question) { q.Name = "read_email" }, nil, false},
		{"of another server", func(q *guard.Question) { q.Server = "post" }, nil, false},
		{"of another rule", func(q *guard.Question) { q.Rule = "ask-when-review-is-required" }, nil, false},
		{"with other arguments", func(q *guard.Question) { q.Arguments = json.RawMessage(`{"arguments":{"to":"ben@ours.example"}}`) }, nil, false},
		{"with another contract", func(q *guard.Question) { q.Contract.Outcomes = contract.Possible(contract.Benign) }, nil, false},
		{"about a result", func(q *guard.Question) { q.Phase = policy.OnResult }, nil, false},
		{"with an answer that waits", func(*guard.Question) {}, &approve.Held{}, false},
	} {
		st, lines := store.NewMemory(nil), &counter{}
		first, second := approve.NewBook(approve.Options{Record: lines, Store: st}), approve.NewBook(approve.Options{Record: lines, Store: st})
		q := question()
		c.change(q)
		a, err := first.Open(t.Context(), q, c.held)
		if err != nil {
			t.Fatal(err)
		}
		asked := question()
		if q.Phase == policy.OnResult {
			asked.Phase = q.Phase
		}
		b, err := second.Open(t.Context(), asked, c.held)
		if err != nil {
			t.Fatal(err)
		}
		if merged := a.ID == b.ID; merged != c.merged {
			t.Errorf("%s: merged %v", c.name, merged)
		}
		if !c.merged {
			continue
		}
		if len(lines.events) != 1 || second.Count() != 1 {
			t.Errorf("%s: %d events, %d open", c.name, len(lines.events), second.Count())
		}
		if again, err := second.Open(t.Context(), asked, nil); err != nil || again != b {
			t.Errorf("%s: asked again, it is %v, %v", c.name, again, err)
		}
		if err := second.Answer(t.Context(), approve.Reply{ID: b.ID, Principal: "ann", Answer: approve.Accepted, Via: "test"}); err != nil {
			t.Fatal(err)
		}
		allowed := 0
		for _, book := range []*approve.Book{first, second, first} {
			if ok, _ := book.Redeem(t.Context(), asked.Binding); ok {
				allowed++
			}
		}
		if allowed != 1 {
			t.Errorf("%s: allowed %d times", c.name, allowed)
		}
		if fresh, err := first.Open(t.Context(), question(), nil); err != nil || fresh.ID == a.ID {
			t.Errorf("%s: after an answer the old question is asked: %v", c.name, err)
		}
	}
}

// A question of another process keeps its own time.
func TestAMergedQuestionExpires(t *testing.T) {
	now := time.Now()
	st := store.NewMemory(&store.MemoryOptions{Now: func() time.Time { return now }})
	first, second := approve.NewBook(approve.Options{Record: &counter{}, Store: st}), approve.NewBook(approve.Options{Record: &counter{}, Store: st})
	a, err := first.Open(t.Context(), question(), nil)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(approve.DefaultTimeout + time.Minute)
	if b, err := second.Open(t.Context(), question(), nil); err != nil || b.ID == a.ID {
		t.Errorf("an expired question is asked: %v", err)
	}
}

// A question that a call asks again was put again: an answer is as fast as the time since then.
func TestAQuestionIsPutAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory(nil)
		for _, b := range []*approve.Book{
			approve.NewBook(approve.Options{Record: &counter{}, Store: st}), approve.NewBook(approve.Options{Record: &counter{}, Store: st}),
		} {
			for range 2 {
				time.Sleep(time.Minute)
				p, err := b.Open(t.Context(), question(), nil)
				if err != nil || time.Since(b.Put(p)) != 0 {
					t.Errorf("put %s ago, %v", time.Since(b.Put(p)), err)
				}
			}
		}
	})
}
