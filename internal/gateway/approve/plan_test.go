package approve_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// The approvals of a plan's steps survive a restart, each for as many calls as the step has. They are recorded, and no open requests.
func TestPlansOutliveTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	open := func() (*approve.Book, *counter) {
		db, err := sqlstore.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		lines := &counter{}
		return approve.NewBook(approve.Options{Record: lines, Store: db}), lines
	}
	before, lines := open()
	err := before.KeepPlan(t.Context(), session.Ref{Key: "s", Principal: "ann"}, []guard.PlannedStep{
		{Step: &plan.Step{ID: "a", Repeat: 2}, Binding: "plan:sha256:a", Calls: 2}, {Step: &plan.Step{ID: "b"}, Open: "it steers"},
	})
	if err != nil || len(lines.events) != 1 || lines.events[0].Binding != "plan:sha256:a" {
		t.Fatalf("%v: %d events", err, len(lines.events))
	}
	after, _ := open()
	if open, err := after.List(t.Context(), "ann"); err != nil || len(open) != 0 {
		t.Errorf("%d requests are open, %v", len(open), err)
	}
	for i, want := range []bool{true, true, false} {
		if ok, err := after.Redeem(t.Context(), "plan:sha256:a"); ok != want || err != nil {
			t.Errorf("call %d: %v, %v", i+1, ok, err)
		}
	}
	broken := approve.NewBook(approve.Options{Record: &full{0}})
	steps := []guard.PlannedStep{{Step: &plan.Step{ID: "a"}, Binding: "plan:sha256:a", Calls: 1}}
	if err := broken.KeepPlan(t.Context(), session.Ref{Key: "s", Principal: "ann"}, steps); err == nil {
		t.Error("a plan counts that was not recorded")
	}
	if ok, _ := broken.Redeem(t.Context(), "plan:sha256:a"); ok {
		t.Error("an approval counts that was not recorded")
	}
}

// A plan takes the place of all that its agent session had, also of another process, and of no other session's.
func TestPlansTakeTheirPlace(t *testing.T) {
	st := store.NewMemory(nil)
	keep := func(ref session.Ref, id string) {
		steps := []guard.PlannedStep{{Step: &plan.Step{ID: id}, Binding: "plan:sha256:" + id, Calls: 2}}
		if err := approve.NewBook(approve.Options{Record: &counter{}, Store: st}).KeepPlan(t.Context(), ref, steps); err != nil {
			t.Fatal(err)
		}
	}
	keep(session.Ref{Key: "other", Principal: "ann"}, "other")
	keep(session.Ref{Key: "s", Principal: "bob"}, "bob")
	keep(session.Ref{Key: "s", Principal: "ann"}, "before")
	keep(session.Ref{Key: "s", Principal: "ann"}, "after")
	for id, want := range map[string]bool{"other": true, "bob": true, "before": false, "after": true} {
		if ok, err := st.Redeem(t.Context(), "plan:sha256:"+id); ok != want || err != nil {
			t.Errorf("%s: %v, %v", id, ok, err)
		}
	}
}

// amidst is a store in which something happens once, before a question is kept.
type amidst struct {
	store.Approvals
	do func()
}

func (a *amidst) Ask(ctx context.Context, q store.Question) error {
	if do := a.do; do != nil {
		a.do = nil
		do()
	}
	return a.Approvals.Ask(ctx, q)
}

// Plans that two processes keep for one agent session at the same time do not add up, whichever steps they have.
func TestPlansOfTwoProcesses(t *testing.T) {
	for name, other := range map[string]string{"the same step": "a", "another step": "b"} {
		st, ref := store.NewMemory(nil), session.Ref{Key: "s", Principal: "ann"}
		keep := func(st store.Approvals, id string) error {
			steps := []guard.PlannedStep{{Step: &plan.Step{ID: id}, Binding: "plan:sha256:" + id, Calls: 2}}
			return approve.NewBook(approve.Options{Record: &counter{}, Store: st}).KeepPlan(t.Context(), ref, steps)
		}
		err := keep(&amidst{st, func() {
			if err := keep(st, other); err != nil {
				t.Errorf("%s: the other one: %v", name, err)
			}
		}}, "a")
		if err == nil {
			t.Errorf("%s: both count", name)
		}
		for _, id := range []string{"a", "b"} {
			if ok, err := st.Redeem(t.Context(), "plan:sha256:"+id); ok || err != nil {
				t.Errorf("%s: %s is left, %v", name, id, err)
			}
		}
	}
}
