package approve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// KeepPlan keeps the approval of each step of a plan that a person has accepted, as often as the step may be called,
// and drops all that is left of plans of the agent session before.
// Each is recorded first.
func (b *Book) KeepPlan(ctx context.Context, ref session.Ref, steps []guard.PlannedStep) error {
	if err := b.dropPlans(ctx, ref); err != nil {
		return err
	}
	for i := range steps {
		s := &steps[i]
		if s.Binding == "" || s.Calls == 0 {
			continue
		}
		e := record.New(record.Approval, time.Now())
		e.Session, e.Principal, e.Server, e.Method, e.Name = ref.Key, ref.Principal, s.Server, "tools/call", s.Name
		e.Phase, e.Rule, e.Effect, e.Binding = "call", guard.RulePlan, string(Granted), s.Binding
		e.Message = fmt.Sprintf("step %s of a plan, %d times", s.ID, s.Calls)
		if err := b.opts.Record.Record(ctx, e); err != nil {
			return fmt.Errorf("recording the approval of a plan: %w", err)
		}
		for _, binding := range slices.Repeat(s.Bindings(), s.Calls) {
			q := store.Question{Principal: ref.Principal, Session: ref.Key, Binding: binding}
			if err := b.keep(ctx, q, grantLife); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropPlans uses up the approvals that are left of plans of an agent session, also those that other processes kept.
func (b *Book) dropPlans(ctx context.Context, ref session.Ref) error {
	for q, err := range b.opts.Store.Questions(ctx, store.QuestionQuery{Principal: ref.Principal}) {
		if err != nil {
			return fmt.Errorf("reading the approvals of plans: %w", err)
		}
		if q.Session != ref.Key || q.Answer != store.Accepted || !strings.HasPrefix(q.Binding, planPrefix) {
			continue
		}
		if _, err := b.opts.Store.Redeem(ctx, q.Binding); err != nil {
			return fmt.Errorf("dropping the approval of a plan: %w", err)
		}
	}
	return nil
}
