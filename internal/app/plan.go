package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// A PlanReport is the decision on a plan, as an agent is told it.
type PlanReport struct {
	Steps []StepReport `json:"steps"`
}

// A StepReport is the decision on a step.
type StepReport struct {
	ID     string `json:"id"`
	Effect string `json:"effect"`
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
	Asked  string `json:"asked,omitempty"` // why an approval of the plan does not cover it
}

// CheckPlan returns the decision on a plan of an agent session that has read nothing but definitions, by the gateway
// that a service would have. Its servers are asked for their definitions; nothing is called, recorded or pinned.
func CheckPlan(ctx context.Context, env *home.Env, s *Service, p *plan.Plan) (report PlanReport, err error) {
	dir, err := os.MkdirTemp("", "weir-plan-")
	if err != nil {
		return report, fmt.Errorf("making a folder for a copy of the pins: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if s.locked, err = copiedPins(env, s.Config, dir); err != nil {
		return report, err
	}
	s.Config.Plan = config.OfferPlans
	s.ground.Set(setup.GroundOf(env, s.Setup, s.Log))
	people := newNotifier(env, config.Notify{}, slog.New(slog.DiscardHandler))
	defer people.Close()
	kept := &state{state: guard.NewState(nil, record.Discard()), backend: store.NewMemory(nil)}
	quiet := *env
	quiet.Stderr = io.Discard // for the words of servers
	g, err := newGateway(&quiet, s, kept, people, readBeside(s, setup.NewKeychain(env, s.Setup)))
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	checked := *p
	checked.Check = true
	answer, err := callOnce(ctx, g.ServeStdio, "weir_plan", checked)
	if err != nil {
		return report, err
	}
	if failure := answer.Failure(); failure != nil {
		return report, failure
	}
	var result struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent *PlanReport
	}
	switch err := json.Unmarshal(answer.Result, &result); {
	case err != nil:
		return report, fmt.Errorf("reading the decision: %w", err)
	case result.StructuredContent != nil && len(result.StructuredContent.Steps) == len(p.Steps):
		return *result.StructuredContent, nil
	case len(result.Content) == 0:
		return report, errors.New("weir_plan told no decision")
	}
	text := result.Content[0].Text
	for i := range p.Steps {
		if why, ok := strings.CutPrefix(text, "step "+p.Steps[i].ID+": "); ok {
			return report, &plan.StepError{Step: i, Err: errors.New(why)}
		}
	}
	return report, errors.New(text)
}

// copiedPins returns a copy of the pins of a configuration in a folder; nil if it wants none.
func copiedPins(env *home.Env, c *config.Config, dir string) (*pins.File, error) {
	f, err := OpenPins(env, c, nil)
	if err != nil || f == nil {
		return nil, err
	}
	src, err := os.ReadFile(f.Path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the pins: %w", err)
	}
	path := filepath.Join(dir, "weir.lock")
	if err == nil {
		if err := os.WriteFile(path, src, 0o600); err != nil {
			return nil, fmt.Errorf("copying the pins: %w", err)
		}
	}
	return pins.Open(path, pins.Options{Mutex: filepath.Join(dir, "mutex"), Mode: f.Options().Mode})
}

// callOnce has a server of hosts answer one call of a tool.
func callOnce(ctx context.Context, serve func(context.Context, rpc.Conn) error, tool string, arguments any) (*rpc.Message, error) {
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments, "_meta": map[string]any{
		protocol.MetaVersion: protocol.Modern, protocol.MetaCapabilities: map[string]any{},
		protocol.MetaClientInfo: map[string]string{"name": "weir", "version": home.Version()},
	}})
	if err != nil {
		return nil, err
	}
	in, toHost := io.Pipe()
	fromHost, out := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- serve(ctx, rpc.NewStream(fromHost, toHost, nil)) }()
	host := rpc.NewStream(in, out, nil)
	defer func() {
		cancel()
		<-served
	}()
	defer host.Close()
	id := json.RawMessage("1")
	if err := host.Write(ctx, rpc.NewRequest(id, "tools/call", params)); err != nil {
		return nil, err
	}
	for {
		m, err := host.Read(ctx)
		if err != nil || m.IsResponse() && string(m.ID) == string(id) {
			return m, err
		}
	}
}
