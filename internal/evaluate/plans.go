package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/pattern"
)

// A planner is an agent that submits one plan for a task, before the first call at which a plan is worthwhile. It
// knows the user's words, the results until then and the definitions of the tools, and which step will return a value;
// it does not know the values. So a constant of its plan has no word but of these texts; the next call is all its own.
// A number or a day that only the result of a step before has is a placeholder, and so is a text that stands in a
// hidden result as a whole. Any other call is no part of the plan, and is made without it.
type planner struct {
	world   *world
	session string
	meta    mcp.Meta // of its calls
	hidden  bool
	known   string // in lower case
	goal    string // the user's words for this task
	done    bool   // a plan was submitted for this task
}

// begins notes the user's words for the next task. An agent without plans has submitted one.
func (p *planner) begins(goal string, plans bool) {
	p.goal, p.done = goal, !plans
	p.reads(goal)
}

// reads notes a text that the agent knows from now on.
func (p *planner) reads(text string) { p.known += " " + strings.ToLower(text) }

// worthwhile is how many calls that would be asked about a plan covers at least, for the agent to submit it.
const worthwhile = 2

// maxGoal bounds the user's words in a plan, and clearSteps and clearText a plan that a person understands: its steps,
// and the bytes of its request.
const (
	maxGoal    = 400
	clearSteps = 10
	clearText  = 4000
)

// A planStep is a step of weir_plan.
type planStep struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	number    int             // of the call in the task
}

// A planned is the plan of a task, as far as a person was asked about it.
type planned struct {
	requests int          // for which it counts: 1, or one a step if a person would not understand it
	steps    map[int]bool // the next calls that it asked about, from 0
}

// submit submits a plan of the next calls of a task if it is worthwhile.
func (p *planner) submit(ctx context.Context, calls []Call) (out planned, err error) {
	if p.done {
		return out, nil
	}
	steps := p.steps(calls)
	checked, m, err := p.send(ctx, steps, true)
	p.done = p.hidden // where each decision counts the bits that it may tell, the agent has one
	if err != nil || len(checked.Steps) != len(steps) {
		out.requests = len(m.asked)
		return out, err
	}
	asks := map[int]bool{}
	for i, s := range checked.Steps {
		if s.Effect == "block" {
			return out, nil // the agent goes on without a plan
		}
		if s.Effect == "ask" && s.Asked == "" {
			asks[steps[i].number] = true
		}
	}
	if len(asks) < worthwhile {
		return out, nil
	}
	p.done = true
	_, m, err = p.send(ctx, steps, false)
	if err != nil || len(m.asked) == 0 {
		return out, err
	}
	out = planned{1, asks}
	if len(steps) > clearSteps || len(m.request) > clearText || strings.Contains(m.request, "Nobody has said") {
		out.requests = len(asks)
	}
	return out, nil
}

// A planAnswer is the answer of weir_plan.
type planAnswer struct {
	Steps []struct{ ID, Effect, Asked string }
}

func (p *planner) send(ctx context.Context, steps []planStep, check bool) (planAnswer, made, error) {
	var answer planAnswer
	if len(steps) < worthwhile {
		return answer, made{}, nil
	}
	args, err := json.Marshal(map[string]any{"goal": p.goal[:min(len(p.goal), maxGoal)], "steps": steps, "check": check})
	if err != nil {
		return answer, made{}, err
	}
	m, err := p.world.call(ctx, p.session, Call{Tool: "weir_plan", Args: args}, p.meta)
	if err != nil {
		return answer, m, err
	}
	raw, err := json.Marshal(m.got.StructuredContent)
	if err == nil && check {
		err = json.Unmarshal(raw, &answer)
	}
	return answer, m, err
}

// maxPlan bounds the bytes of the steps of a plan, and maxPlanSteps their number.
const (
	maxPlan      = 4400
	maxPlanSteps = 24
)

// steps returns the steps of a plan of the next calls.
func (p *planner) steps(calls []Call) (steps []planStep) {
	size := 0
	for i, c := range calls {
		args := c.Args
		if i > 0 {
			var err error
			if args, err = p.arguments(c, calls[:i], steps); err != nil {
				continue
			}
		}
		s := planStep{"s" + strconv.Itoa(i+1), c.Tool, args, i}
		if size += len(args) + len(c.Tool) + len(`{"id":"s10","tool":"","arguments":},`); size > maxPlan || len(steps) == maxPlanSteps {
			break
		}
		steps = append(steps, s)
	}
	return steps
}

// errUnplanned says that the agent cannot know an argument before.
var errUnplanned = errors.New("the agent cannot know it before")

// arguments returns the arguments of a call as a plan has them.
func (p *planner) arguments(c Call, before []Call, steps []planStep) (json.RawMessage, error) {
	known := p.known + " " + strings.ToLower(p.definition(c.Tool))
	return rewritten(c.Args, func(v any) (any, error) { return p.value(v, known, before, steps) })
}

func (p *planner) definition(tool string) string {
	for _, raw := range p.world.suite.Tools {
		var t struct{ Name string }
		if json.Unmarshal(raw, &t) == nil && t.Name == tool {
			return string(raw)
		}
	}
	return ""
}

var (
	planWord = pattern.New(`[\p{L}\p{N}]+`)
	planDate = pattern.New(`^\d{4}-\d{2}-\d{2}$`)
)

// says reports whether a text has each word of another, but for short ones without digits.
func says(known, text string) bool {
	words := planWord().FindAllString(known, -1)
	for _, word := range planWord().FindAllString(strings.ToLower(text), -1) {
		if (len(word) > 3 || strings.ContainsAny(word, "0123456789") && len(word) > 1) && !slices.Contains(words, word) {
			return false
		}
	}
	return true
}

// value returns a value of arguments as a plan has it.
func (p *planner) value(v any, known string, before []Call, steps []planStep) (any, error) {
	switch x := v.(type) {
	case string:
		switch {
		case says(known, x):
		case planDate().MatchString(x):
			return source("date", before, steps, func(c Call) bool { return strings.Contains(c.Result, x) })
		case p.hidden:
			return source("handle", before, steps, func(c Call) bool {
				var doc any
				_ = json.Unmarshal([]byte(structured(c.Result)), &doc)
				_, whole := find(doc, pointer, func(v any) bool { return v == x })
				return whole
			})
		default:
			return nil, errUnplanned
		}
	case json.Number:
		if says(known, x.String()) {
			return v, nil
		}
		return source("number", before, steps, func(c Call) bool { return slices.Contains(planWord().FindAllString(c.Result, -1), x.String()) })
	}
	return v, nil
}

// source returns a placeholder for a value that the result of an earlier step has.
func source(kind string, before []Call, steps []planStep, has func(Call) bool) (any, error) {
	for _, s := range slices.Backward(steps) {
		if has(before[s.number]) {
			return map[string]string{"from": s.ID, "type": kind}, nil
		}
	}
	return nil, errUnplanned
}
