package guard

import (
	"context"
	"slices"
	"strconv"
)

// An Amendment is how a plan differs from the one that was approved before in the agent session, whose place it takes
// once it is approved: no grant of that stays.
type Amendment struct {
	Goal    string
	Removed []PlannedStep // those of its steps that had calls left
}

// amend compares a plan with one that was approved before, and says so in its steps: those that are kept go on with the
// calls that they have left. It returns nil if there is nothing left of the plan before. A step is kept if it is the
// same call of the same tool, definition and contract, as often, with values of kept steps alone in its placeholders.
func amend(before *approvedPlan, used []int, steps []PlannedStep) *Amendment {
	if before == nil || before.over(used) {
		return nil
	}
	out := &Amendment{Goal: before.plan.Goal}
	for i := range steps {
		s := &steps[i]
		j := slices.IndexFunc(before.steps, func(b PlannedStep) bool { return b.ID == s.ID })
		if j < 0 {
			continue
		}
		was := &before.steps[j]
		if s.Kept = s.Binding != "" && s.follows(was, steps); s.Kept {
			s.Calls = max(was.Calls-used[j], 0)
		} else {
			s.Was = was
		}
	}
	for j := range before.steps {
		b := before.steps[j]
		if b.Calls -= used[j]; b.Calls <= 0 || b.Binding == "" {
			continue
		}
		if !slices.ContainsFunc(steps, func(s PlannedStep) bool { return s.ID == b.ID }) {
			out.Removed = append(out.Removed, b)
		}
	}
	return out
}

// over reports whether none of the steps has calls left.
func (a *approvedPlan) over(used []int) bool {
	for i := range a.steps {
		if a.steps[i].Binding != "" && a.steps[i].Calls > used[i] {
			return false
		}
	}
	return true
}

// follows reports whether a step is the same as one of the plan before, as far as a person was shown that and beyond.
func (s *PlannedStep) follows(was *PlannedStep, steps []PlannedStep) bool {
	if s.identity != was.identity || s.Times() != was.Times() || s.Optional != was.Optional {
		return false
	}
	for _, at := range s.Placeholders() {
		if !slices.ContainsFunc(steps, func(from PlannedStep) bool { return from.ID == at.From && from.Kept }) {
			return false
		}
	}
	return true
}

// state stands for the amended plan and the calls that it has left; "" for none.
func (a *Amendment) state() string {
	if a == nil {
		return ""
	}
	parts := []string{a.Goal}
	for i := range a.Removed {
		parts = append(parts, a.Removed[i].Binding, strconv.Itoa(a.Removed[i].Calls))
	}
	return bind(parts...)
}

// replace takes back all that is left of the plan before, and leaves kept steps no more calls than that.
func replace(
	ctx context.Context, redeem func(context.Context, string) (bool, error), before *approvedPlan, steps []PlannedStep,
) error {
	if before == nil {
		return nil
	}
	left := map[string]int{} // calls, by identity
	for j := range before.steps {
		b := &before.steps[j]
		for k, binding := range b.Bindings() {
			for range b.Calls {
				ok, err := redeem(ctx, binding)
				if err != nil {
					return err
				}
				if ok && k == 0 {
					left[b.identity]++
				}
			}
		}
	}
	for i := range steps {
		if s := &steps[i]; s.Kept {
			s.Calls = min(s.Calls, left[s.identity])
			left[s.identity] -= s.Calls
		}
	}
	return nil
}
