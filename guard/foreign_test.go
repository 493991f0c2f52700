package guard_test

import (
	"context"
	"testing"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// A lateStore counts calls when it is told to, as a store of several processes does a little later.
type lateStore struct {
	store.Store
	late []string
}

func (s *lateStore) Tally(_ context.Context, key string) error {
	s.late = append(s.late, key)
	return nil
}

func (s *lateStore) flush(t *testing.T) {
	t.Helper()
	for _, key := range s.late {
		if _, err := s.Count(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	s.late = nil
}

// TestLateCountsHideNoProcess has another process of the conversation read private data while calls of this one are not counted yet. What
// the agent then says may be that data, from the first call on and for good.
func TestLateCountsHideNoProcess(t *testing.T) {
	kept := store.NewMemory(nil)
	process := func() (*fixture, *lateStore) {
		late := &lateStore{Store: kept}
		return newFixture(t, func(o *guard.Options) {
			o.Policy, o.State = reveal(t), guard.NewState(session.New(session.Options{Store: late}), record.Discard())
		}), late
	}
	here, counts := process()
	says := func() provenance.Kinds {
		t.Helper()
		v := here.g.Before(t.Context(), stated(t, "mail", `{"to":"x","body":"nobody has read such words here"}`, ""))
		for _, value := range v.Question.Values {
			if value.Path == "body" {
				return value.From
			}
		}
		t.Fatal("there is no body")
		return 0
	}
	list := func() { here.run(t, stated(t, "list", `{}`, ""), textResult("nothing of interest")) }
	here.run(t, stated(t, "profile", `{}`, ""), textResult("passport HGK137803"))
	list()
	if from := says(); from&provenance.Private != 0 {
		t.Fatalf("before anything is unknown: from %s", from)
	}
	counts.flush(t)

	there, _ := process()
	there.run(t, stated(t, "profile", `{}`, ""), textResult("salary 96000"))
	for i := range 4 {
		list() // counted later
		if from := says(); from&provenance.Private == 0 {
			t.Errorf("after %d calls of this process: from %s", i+1, from)
		}
	}
	counts.flush(t)
	if from := says(); from&provenance.Private == 0 {
		t.Errorf("when all is counted: from %s", from)
	}
	state, err := kept.Get(t.Context(), "s")
	if want := (label.Label{Private: true}); err != nil || !state.Label.Covers(want) || state.Calls != 7 {
		t.Errorf("%+v, %v", state, err)
	}
}

// TestFactsOfOtherProcesses holds the facts about the number of calls, in two processes of one conversation: each knows
// the calls of both, its own also before the store has counted them, and takes those of the other as ones that carried
// something out in this moment.
func TestFactsOfOtherProcesses(t *testing.T) {
	for _, c := range []struct {
		condition string
		own       int // further calls of this process, which the store has not counted
	}{
		{"session.calls == 3 && session.sent == 2 && session.recent == 3", 0},
		{"session.calls == 4 && session.sent == 2 && session.recent == 4", 1},
	} {
		kept := store.NewMemory(nil)
		rules, err := policy.Load("p.yaml", []byte("version: 1\ndefault: allow\nrules:\n  - {name: many, when: call, effect: block, if: '"+
			c.condition+"', message: m}\n"))
		if err != nil {
			t.Fatal(err)
		}
		process := func() (*fixture, *lateStore) {
			late := &lateStore{Store: kept}
			return newFixture(t, func(o *guard.Options) {
				o.Policy, o.State = rules, guard.NewState(session.New(session.Options{Store: late}), record.Discard())
			}), late
		}
		here, counts := process()
		there, elsewhere := process()
		list := func(f *fixture) { f.run(t, stated(t, "list", `{}`, ""), textResult("nothing of interest")) }
		list(here)
		counts.flush(t)
		list(there)
		list(there)
		elsewhere.flush(t)
		for range c.own {
			list(here)
		}
		if v := here.g.Before(t.Context(), stated(t, "list", `{}`, "")); v.Rule != "many" {
			t.Errorf("%s does not hold", c.condition)
		}
	}
}
