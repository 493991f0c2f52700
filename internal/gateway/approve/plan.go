package approve

import (
	"context"
	"errors"
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
// Each is recorded first. If another process keeps a plan of the session at the same time, neither counts.
func (b *Book) KeepPlan(ctx context.Context, ref session.Ref, steps []guard.PlannedStep) error {
	if err := b.dropPlans(ctx, ref); err != nil {
		return err
	}
	kept := map[string]int{}
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
			kept[binding]++
		}
	}
	all, err := b.plansOf(ctx, ref)
	if err != nil {
		return err
	}
	for _, binding := range all {
		if kept[binding]--; kept[binding] < 0 {
			return errors.Join(errTwoPlans, b.dropPlans(ctx, ref))
		}
	}
	return nil
}

var errTwoPlans = errors.New("two processes kept a plan of one agent session at the same time, and none counts")

// plansOf returns the bindings of the approvals that are left of plans of an agent session, also of those that other
// processes kept.
func (b *Book) plansOf(ctx context.Context, ref session.Ref) (all []string, err error) {
	for q, err := range b.opts.Store.Questions(ctx, store.QuestionQuery{Principal: ref.Principal}) {
		if err != nil {
			return nil, fmt.Errorf("reading the approvals of plans: %w", err)
		}
		if q.Session == ref.Key && q.Answer == store.Accepted && strings.HasPrefix(q.Binding, planPrefix) {
			all = append(all, q.Binding)
		}
	}
	return all, nil
}

// dropPlans uses up the approvals that are left of plans of an agent session.
func (b *Book) dropPlans(ctx context.Context, ref session.Ref) error {
	all, err := b.plansOf(ctx, ref)
	if err != nil {
		return err
	}
	for _, binding := range all {
		if _, err := b.opts.Store.Redeem(ctx, binding); err != nil {
			return fmt.Errorf("dropping the approval of a plan: %w", err)
		}
	}
	return nil
}

// Holds reports whether an acceptance of the binding was not redeemed yet.
func (b *Book) Holds(ctx context.Context, binding string) (bool, error) {
	return b.stands(ctx, binding)
}
