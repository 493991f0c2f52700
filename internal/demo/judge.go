package demo

import (
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/internal/demo/agent"
)

// A manner is how a scenario is told.
type manner int

const (
	unguarded manner = iota
	guarded
	unattended // guarded, with results hidden, and nobody answers
)

// guardedBy returns how a scenario is told with a guard.
func guardedBy(hidden bool) manner {
	if hidden {
		return unattended
	}
	return guarded
}

// judge compares the outcome with the expected one, and writes down every difference as a problem.
func judge(s Scenario, t *Telling, how manner) {
	planned := 0
	for i := range t.Calls {
		c := &t.Calls[i]
		if c.Broken != "" {
			t.problem("%s was not answered: %s", c.Tool, c.Broken)
		}
		if c.Planned {
			planned++
			judgeCall(t, c, how)
		}
	}
	if planned != len(s.Plan) {
		t.problem("of %d planned calls %d were made", len(s.Plan), planned)
	}
	switch {
	case len(s.Attack) == 0:
	case how == unguarded && !t.succeeded():
		t.problem("the attack did not succeed although nobody stopped it")
	case how != unguarded && t.touched():
		t.problem("the attack was not stopped")
	case how != unguarded && !slices.ContainsFunc(t.Calls, func(c Call) bool { return c.stopped() || c.Hidden }):
		t.problem("the attack came to nothing, but not because the guard stopped it")
	}
}

// judgeCall judges one call of the plan. Without a guard every call should pass.
func judgeCall(t *Telling, c *Call, how manner) {
	fate := Passes
	if how != unguarded {
		fate = c.guarded
	}
	agreed := slices.ContainsFunc(c.Questions, func(q agent.Question) bool { return q.Agreed })
	switch {
	case fate == DoesNotPass && c.Passed:
		t.problem("%s passed although it should not", c.Tool)
	case fate == DoesNotPass && !c.stopped():
		t.problem("%s failed, but not because the guard stopped it", c.Tool)
	case fate == DoesNotPass:
	case how == unattended && c.stopped(): // somebody would have to be asked
	case !c.Passed:
		t.problem("%s did not pass: %s", c.Tool, c.reason())
	case fate == Passes && len(c.Questions) > 0:
		t.problem("%s passed only after a question that nobody should be bothered with", c.Tool)
	case fate == PassesOnYes && !agreed && how != unattended:
		t.problem("%s passed although nobody was asked", c.Tool)
	}
}

// reason returns why a call did not pass.
func (c *Call) reason() string {
	switch {
	case c.Skipped != "":
		return c.Skipped
	case c.Broken != "":
		return c.Broken
	}
	return c.Text
}

func (t *Telling) problem(format string, args ...any) {
	t.Problems = append(t.Problems, fmt.Sprintf(format, args...))
}
