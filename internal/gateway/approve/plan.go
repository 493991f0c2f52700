package approve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// KeepPlan keeps the approval of each step of a plan that a person has accepted, as often as the step may be called.
// Each is recorded first.
func (b *Book) KeepPlan(ctx context.Context, ref session.Ref, steps []guard.PlannedStep) error {
	for i := range steps {
		s := &steps[i]
		if s.Binding == "" {
			continue
		}
		e := record.New(record.Approval, time.Now())
		e.Session, e.Principal, e.Server, e.Method, e.Name = ref.Key, ref.Principal, s.Server, "tools/call", s.Name
		e.Phase, e.Rule, e.Effect, e.Binding = "call", guard.RulePlan, string(Granted), s.Binding
		e.Message = fmt.Sprintf("step %s of a plan, %d times", s.ID, s.Times())
		if err := b.opts.Record.Record(ctx, e); err != nil {
			return fmt.Errorf("recording the approval of a plan: %w", err)
		}
		for _, binding := range slices.Repeat(s.Bindings(), s.Times()) {
			q := store.Question{Principal: ref.Principal, Session: ref.Key, Binding: binding}
			if err := b.keep(ctx, q, grantLife); err != nil {
				return err
			}
		}
	}
	return nil
}
