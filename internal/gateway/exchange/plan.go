package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/policy"
)

// planTool is the name of the tool that takes plans.
const planTool = ownPrefix + "plan"

const planDefinition = `{"name":"weir_plan","title":"Plan calls","description":"Tells the decision of Weir on each call that you intend to ` +
	`make, and has the user approve all of them at once if some need it. Call it before the first of them. An argument is a constant or, for ` +
	`a value that an earlier step returns, {\"from\": its id, \"type\": ..., \"path\": JSON pointer}: for a text of a hidden result, type ` +
	`handle. Then make the calls with exactly these arguments. With check, nobody is asked.","inputSchema":{"type":"object","properties":` +
	`{"goal":{"type":"string"},"check":{"type":"boolean"},"steps":` +
	`{"type":"array","minItems":1,"maxItems":24,"items":{"type":"object","properties":{"id":{"type":"string"},"tool":{"type":"string"},` +
	`"arguments":{"type":"object"},"repeat":{"type":"integer","description":"calls at most, 1 if left out"},"optional":{"type":"boolean"}},` +
	`"required":["id","tool"]}}},"required":["goal","steps"]},"annotations":{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false}}`

// definitionOf returns the definition of a tool of Weir's own. That of plans names the templates of the operator; where
// only these are taken, it has nothing else.
func definitionOf(g *Engine, own ownEntry) (json.RawMessage, error) {
	if own.name == sanitizeTool {
		return sanitizeDefinitionOf(g)
	}
	r := g.Guard.Plans.Rules()
	if own.name != planTool || len(r.Templates) == 0 {
		return json.RawMessage(own.definition), nil
	}
	names := slices.Sorted(maps.Keys(r.Templates))
	about := " Plans of the operator, chosen by template and parameters:"
	for _, name := range names {
		t := r.Templates[name]
		about += fmt.Sprintf(" %s (%s", name, t.Goal)
		for _, p := range slices.Sorted(maps.Keys(t.Parameters)) {
			about += fmt.Sprintf("; %s: %s", p, t.Parameters[p])
		}
		about += ")."
	}
	var definition struct {
		Name        string          `json:"name"`
		Title       string          `json:"title"`
		Description string          `json:"description"`
		Annotations json.RawMessage `json:"annotations"`
		InputSchema struct {
			Type       string         `json:"type"`
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required,omitempty"`
		} `json:"inputSchema"`
	}
	if err := json.Unmarshal([]byte(own.definition), &definition); err != nil {
		return nil, fmt.Errorf("reading the definition of %s: %w", own.name, err)
	}
	definition.Description += about
	definition.InputSchema.Required = nil
	properties := definition.InputSchema.Properties
	properties["template"], properties["parameters"] = map[string]any{"type": "string", "enum": names}, map[string]any{"type": "object"}
	if r.Strict {
		definition.Description = "Has the calls of a plan of the operator approved. Only these go." + about
		definition.InputSchema.Required = []string{"template"}
		delete(properties, "goal")
		delete(properties, "steps")
	}
	return json.Marshal(&definition)
}

// ownPrefix begins the names of Weir's own tools.
const ownPrefix = "weir_"

// stepBits are the bits that the decision on a step may tell of hidden results: an agent that guesses hears whether it
// guessed right.
const stepBits = 2

// plan answers weir_plan: the decision on each step, after a person was asked about the plan as a whole if a step
// needs that.
func (f ownHost) plan(ctx context.Context, m *rpc.Message) *rpc.Message {
	x, refusal := f.open(ctx, m)
	if refusal != nil {
		return refusal
	}
	asking := x.route.call
	if asking.Held != "" {
		return x.refused(guard.Refusal{When: policy.OnCall, Rule: guard.RuleHeld, Message: asking.Held})
	}
	p, err := f.Engine.Guard.Plans.Read(asking.Arguments)
	if err != nil {
		return failed(x, err.Error())
	}
	if asking.Context, err = shown(ctx, f.Host, f.set, asking); err != nil {
		return f.InternalError(x.m, err)
	}
	var calls []*guard.Call
	for i := range p.Steps {
		call, rerr := f.stepCall(ctx, x, &p.Steps[i])
		if rerr != nil {
			return failed(x, "step "+p.Steps[i].ID+": "+rerr.Message)
		}
		calls = append(calls, call)
	}
	bits, err := f.planBits(ctx, asking, p, calls)
	if err != nil {
		return f.InternalError(x.m, err)
	}
	own := &ownCall{exchange: x}
	admission, refusal := own.permitLook(ctx, bits, 0, true)
	if refusal != nil {
		return refusal
	}
	commit := func() (guard.PlanVerdict, error) {
		return f.Engine.Guard.Plans.Commit(ctx, admission, p, calls, f.Engine.Book.KeepPlan)
	}
	v, err := commit()
	if err != nil {
		return f.InternalError(x.m, err)
	}
	if v.Question != nil {
		if refusal := x.ask(ctx, v.Question, nil); refusal != nil {
			return refusal
		}
		if v, err = commit(); err != nil {
			return f.InternalError(x.m, err)
		}
	}
	return own.answered(ctx, admission, planned(p, &v), nil)
}

// planBits returns the bits that the answer to weir_plan tells of hidden results. If the plan is approved, the decisions
// were told with the request.
func (f ownHost) planBits(ctx context.Context, asking *guard.Call, p *plan.Plan, calls []*guard.Call) (int, error) {
	if !f.Engine.Hiding() {
		return 0, nil
	}
	v, err := f.Engine.Guard.Plans.Decide(ctx, asking, p, calls)
	if err == nil && v.Question != nil {
		v.Approved, err = f.Engine.Book.Holds(ctx, v.Question.Binding)
	}
	if err != nil || v.Approved {
		return 1, err
	}
	return stepBits * len(p.Steps), nil
}

// stepCall returns the call of a step, with an example in each placeholder.
func (f ownHost) stepCall(ctx context.Context, x *exchange, s *plan.Step) (*guard.Call, *rpc.Error) {
	if strings.HasPrefix(s.Tool, ownPrefix) {
		return nil, rpc.Errorf(rpc.InvalidParams, "tools of Weir's own are no part of plans")
	}
	params := json.RawMessage(`{"name":` + string(rawjson.Quote(s.Tool)) + `,"arguments":` + string(s.Example()) + `}`)
	if meta, ok := rawjson.Get(x.m.Params, "_meta"); ok { // which may name the agent session
		var err error
		if params, err = rawjson.Set(params, meta, "_meta"); err != nil {
			return nil, rpc.Errorf(rpc.InternalError, "reading params._meta")
		}
	}
	m := *x.m
	m.Params, m.Odd = params, true
	r, rerr := f.byName(ctx, &m, f.set, catalog.Tools)
	if rerr != nil {
		return nil, rerr
	}
	return r.call, nil
}

// planned tells the agent of the decision on a plan.
func planned(p *plan.Plan, v *guard.PlanVerdict) map[string]any {
	var steps []map[string]any
	blocked := false
	for i := range v.Steps {
		s := &v.Steps[i]
		step := map[string]any{"id": s.ID, "effect": s.Effect.String()}
		if s.Effect != policy.Allow {
			step["rule"], step["reason"] = s.Rule, s.Message
		}
		if s.Effect == policy.Ask && s.Open != "" {
			step["asked"] = "when you make the call: " + s.Open
		}
		if s.Kept {
			step["calls"] = s.Calls // that it has left
		}
		blocked = blocked || s.Effect == policy.Block
		steps = append(steps, step)
	}
	said := "no call of the plan that it can cover needs an approval as things are"
	switch {
	case p.Check:
		said = "checked: nobody was asked, and nothing is approved"
	case v.Approved:
		said = "approved: make the calls with exactly these arguments"
	case blocked:
		said = "nobody was asked, since a step would be blocked: plan without it"
	case v.Question != nil:
		said = "the session changed while a person was asked, so the answer no longer fits: plan again"
	}
	return map[string]any{"approved": v.Approved, "plan": said, "steps": steps}
}
