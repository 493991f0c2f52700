package approval

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/policy"
)

// plan describes the calls of a plan, each with all of its arguments.
func (p *Prompt) plan(q *guard.Question) {
	var worst contract.Contract
	for i := range q.Later.Plan {
		s := &q.Later.Plan[i]
		if worst = contract.Join(worst, s.Contract); i == 0 {
			worst = s.Contract
		}
		p.Arguments = append(p.Arguments, Argument{plain.Quote(s.ID, maxName), change(s, q.Later.Amends) + planned(s, q.Later.Plan)})
	}
	p.Also = append(p.Also, asking(q.Later.Plan)...)
	p.Lead = fmt.Sprintf("Allow the calls of this plan, %d steps?", len(q.Later.Plan))
	if a := q.Later.Amends; a != nil {
		p.Lead = fmt.Sprintf("Allow this change of a plan, now %d steps?", len(q.Later.Plan))
		for i := range a.Removed {
			s := &a.Removed[i]
			p.Arguments = append(p.Arguments, Argument{plain.Quote(s.ID, maxName), fmt.Sprintf("Removed, with %d calls left: %s", s.Calls, written(s))})
		}
	}
	p.Effect = effects(worst)
	p.Subject = "Plan, in the words of the agent: " + plain.Quote(q.Later.Goal, maxValue)
	if q.Later.Template != "" {
		p.Subject = "Plan of the operator, template " + plain.Quote(q.Later.Template, maxName) + ": " + plain.Quote(q.Later.Goal, maxValue)
	}
	p.Listed = true
	p.Note = "Each call is allowed as often as its step says, with exactly these arguments, for twelve hours. " +
		"A plan that was approved before is over. Other calls are " + map[bool]string{true: "blocked", false: "asked about"}[q.Later.Strict] +
		". No answer means no."
}

// asking tells each rule that asks about a step which a yes covers, with these steps.
func asking(steps []guard.PlannedStep) []string {
	var why []string
	ids := map[string][]string{}
	for i := range steps {
		s := &steps[i]
		if s.Effect != policy.Ask || s.Open != "" {
			continue
		}
		for _, m := range s.Asks {
			text := reason(m.Message, m.Rule)
			if ids[text] == nil {
				why = append(why, text)
			}
			ids[text] = append(ids[text], plain.Text(s.ID, maxName))
		}
	}
	for i, text := range why {
		step := "step "
		if len(ids[text]) > 1 {
			step = "steps "
		}
		why[i] = step + strings.Join(ids[text], ", ") + ": " + text
	}
	return why
}

// change describes how a step differs from the plan before.
func change(s *guard.PlannedStep, a *guard.Amendment) string {
	switch {
	case a == nil:
		return ""
	case s.Kept:
		return fmt.Sprintf("Kept, with %d calls left: ", s.Calls)
	case s.Was != nil:
		return "Changed, from " + written(s.Was) + ", up to " + strconv.Itoa(s.Was.Times()) + " times, to: "
	}
	return "Added: "
}

// written is the call of a step as the agent wrote it.
func written(s *guard.PlannedStep) string {
	return fmt.Sprintf("%s of server %s with %s", plain.Quote(s.Name, maxName), plain.Text(s.Server, maxName), plain.Text(string(s.Arguments), 0))
}

// planned describes a step of a plan, of which all steps are given.
func planned(s *guard.PlannedStep, all []guard.PlannedStep) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of server %s, ", plain.Quote(s.Name, maxName), plain.Text(s.Server, maxName))
	switch {
	case s.Times() > 1:
		fmt.Fprintf(&b, "up to %d times", s.Times())
	case s.Optional:
		b.WriteString("perhaps")
	default:
		b.WriteString("once")
	}
	b.WriteString(". " + effects(s.Contract))
	if s.Assumed {
		b.WriteString(" No contract is known for it, so the worst is assumed.")
	}
	for i, to := range s.To {
		fmt.Fprintf(&b, " %s%s", map[bool]string{true: "Goes to: ", false: ", "}[i == 0], plain.Quote(to.Text, 0))
	}
	if s.Open != "" {
		b.WriteString(" Not covered by a yes: " + plain.Text(s.Open, maxValue) + ".")
	}
	b.WriteString(" Arguments: " + plain.Text(string(s.Arguments), 0))
	for _, at := range s.Placeholders() {
		fmt.Fprintf(&b, "; in %s, %s", plain.Quote(cmp.Or(at.Place, at.Member), maxName), source(&at.Placeholder, all))
	}
	return b.String()
}

// source describes the value of a placeholder.
func source(at *plan.Placeholder, all []guard.PlannedStep) string {
	kind := "any " + string(at.Type)
	switch {
	case at.Options != nil:
		kind = "one of these options"
	case at.Type == plan.Handle:
		kind = "hidden text"
	case at.Path != "":
		kind = "the " + string(at.Type) + " at " + plain.Quote(at.Path, maxName)
	}
	text := kind + " from the result of step " + plain.Text(at.From, maxName)
	if slices.ContainsFunc(all, func(s guard.PlannedStep) bool { return s.ID == at.From && s.Contract.Label().Untrusted }) {
		text += ", which outsiders may write"
	}
	return text
}
