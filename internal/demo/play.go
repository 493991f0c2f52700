package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/demo/agent"
	"github.com/weir-mcp/weir/label"
)

// userMessage is the member by which a host tells Weir the user's words.
const userMessage = "dev.weir/user-message"

// play lets an agent do the task of the scenario in a world and writes down each call.
func (s *stage) play(ctx context.Context, w *World, telling *Telling) (err error) {
	way, err := s.connect(ctx, w)
	if err != nil {
		return err
	}
	if way.Close != nil {
		defer func() { err = errors.Join(err, way.Close()) }()
	}
	a, err := agent.Connect(ctx, way.Transports, agent.Options{
		Protocol: s.opts.Protocol, Person: person(s.scenario.Wishes), Alone: s.opts.Hidden,
		Meta: mcp.Meta{userMessage: s.scenario.Task},
	})
	if err != nil {
		if way.Log != nil {
			err = fmt.Errorf("%w\n%s", err, way.Log())
		}
		return err
	}
	defer func() { _ = a.Close() }() // how the processes end proves nothing here
	telling.Protocol = a.Protocol()

	var task []agent.Call
	plan := s.scenario.Plan
	for _, p := range plan {
		task = append(task, p.Call)
	}
	for _, step := range a.Do(ctx, task) {
		c, err := note(step)
		if err != nil {
			return err
		}
		if step.Planned >= 0 {
			c.Harmless = plan[step.Planned].Guarded != DoesNotPass
			c.guarded = plan[step.Planned].Guarded
		}
		telling.Calls = append(telling.Calls, c)
	}
	return ctx.Err()
}

// note writes down the visible parts of a step.
func note(step agent.Step) (Call, error) {
	c := Call{
		Tool: step.Tool, Arguments: step.Arguments, Planned: step.Planned >= 0, Because: step.Because,
		Questions: step.Answered, Text: step.Text, Skipped: step.Skipped,
	}
	if step.Err != nil {
		c.Broken = step.Err.Error()
	}
	if step.Result == nil {
		return c, nil
	}
	c.Passed, c.Hidden = !step.Result.IsError, agent.Hidden(step.Result) != ""
	var err error
	if c.Label, err = labelOf(step.Result); err != nil {
		return c, err
	}
	c.Verdict, err = verdictOf(step.Result)
	return c, err
}

// labelOf returns the label that a result claims in _meta.annotations.
func labelOf(res *mcp.CallToolResult) (label.Label, error) {
	raw, err := json.Marshal(map[string]any{"_meta": res.Meta})
	if err != nil {
		return label.Label{}, fmt.Errorf("reading the annotations of a result: %w", err)
	}
	claim, _ := annotation.ReadResult(raw) // malformed annotations claim nothing
	return claim.Label, nil
}

// verdictOf returns the verdict that a guard left in a result, or nil.
func verdictOf(res *mcp.CallToolResult) (*Verdict, error) {
	said, ok := res.Meta["dev.weir/verdict"]
	if !ok {
		return nil, nil
	}
	raw, err := json.Marshal(said)
	if err != nil {
		return nil, fmt.Errorf("reading a verdict: %w", err)
	}
	var v Verdict
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("reading a verdict: %w", err)
	}
	return &v, nil
}
