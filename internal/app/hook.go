package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/hook"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// A Hook is an event of a host, and how it is decided on.
type Hook struct {
	Config  string   // the path of the configuration; "" for the built-in one
	Entries []string // names of the host's entries that run Weir
	Event   *hook.Event
}

// DecideHook decides on an event. It opens the state for that, if it takes a decision.
func DecideHook(ctx context.Context, env *home.Env, h Hook) (a hook.Answer, err error) {
	s, err := hookSetup(env, h.Config)
	if err != nil {
		return a, err
	}
	d := &hook.Decider{
		Entries: h.Entries, Key: agentsession.HostSession, Principal: agentsession.LocalPrincipal, Now: time.Now,
		Conversations: env.Conversations(), Begun: env.Begun(), NoHost: s.Config.Approval.NoHost,
	}
	if !h.Event.Decides(h.Entries) {
		return d.Decide(ctx, h.Event)
	}
	kept, err := openBriefly(ctx, env, s.Config)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	if d.Overlay, err = hostOverlay(s, h.Event.Host); err != nil {
		return a, err
	}
	d.Questions = approve.NewBook(approve.Options{
		Timeout: s.Config.Approval.Timeout, Record: kept.state, Store: kept.backend, Sessions: kept.state.Sessions(),
	})
	if d.Guard, err = hookGuard(env, s, kept, d.Questions, h.Event); err != nil {
		return a, err
	}
	return d.Decide(ctx, h.Event)
}

// hookGuard returns the guard of one event.
func hookGuard(env *home.Env, s *setup.Setup, kept *state, approvals guard.Approvals, told *hook.Event) (*guard.Guard, error) {
	words, err := setup.Words(s.Config.Words)
	if err != nil {
		return nil, err
	}
	var ground files.Current
	ground.Set(hostGround(env, s, told))
	return guard.New(guard.Options{
		Policy: s.Policy, Mode: s.Config.Mode, State: kept.state, Approvals: approvals, Words: words,
		Domains: s.Config.Domains, Files: &ground,
		Taints:   session.NewTaints(session.TaintOptions{Store: kept.backend, Keep: keepLabels(s.Config.Retention)}),
		Contents: guard.Contents{Fields: s.Config.Capture.Fields, All: s.Config.Capture.Content, Detection: setup.Detection(s)},
	})
}

// ofEntry finds the variables that only Weir's entry in a list of servers has: see package install.
var ofEntry = regexp.MustCompile(`WEIR_VALUE_[0-9]+`)

// hookSetup reads the configuration at a path, or returns the built-in one for "". No server of it is started.
func hookSetup(env *home.Env, path string) (*setup.Setup, error) {
	s := setup.New(path)
	if path == "" {
		draft := config.NewDraft("")
		draft.Config.Servers = []config.Server{{Name: hook.Server, Command: hook.Server}} // a configuration has one at least
		var err error
		s.Config, err = draft.Finish(config.Options{Lookup: env.Getenv})
		return s, err
	}
	text, err := home.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w; run weir install again, or weir uninstall", err)
	}
	for _, name := range ofEntry.FindAllString(string(text), -1) {
		env.Environ = append(env.Environ, name+"=https://host.invalid/")
	}
	if s, err = setup.Load(env, path, ""); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(s.Config.Servers, func(c config.Server) bool { return c.Name == hook.Server }) {
		return nil, remedy.Usage(fmt.Errorf("a server of %s is called %s, as the tools of the host itself are", path, hook.Server), "rename it")
	}
	return s, setup.CheckSecured(env, s)
}

// hostOverlay returns the description of the tools of a host, by the operator and by Weir.
func hostOverlay(s *setup.Setup, h *hook.Host) (*overlay.Overlay, error) {
	known, err := h.Overlay()
	if err != nil {
		return nil, err
	}
	who := overlay.Server{Name: hook.Server}
	return overlay.Stack(s.Overlays.For(who), known.For(who)), nil
}

// hostGround returns the files of this machine for the tools of a host.
func hostGround(env *home.Env, s *setup.Setup, told *hook.Event) *files.Ground {
	with, c := *s, *s.Config
	c.Servers = append(slices.Clip(c.Servers), config.Server{Name: hook.Server, Command: told.Host.ID, Dir: told.Folder})
	with.Config = &c
	return setup.GroundOf(env, &with, slog.New(slog.DiscardHandler))
}

// openBriefly opens the state for one decision: nothing is pruned or published.
func openBriefly(ctx context.Context, env *home.Env, c *config.Config) (kept *state, err error) {
	if c.Store == config.MemoryStore {
		return nil, remedy.Usage(errors.New("hooks need a store, and this configuration keeps everything in memory"), "leave store out")
	}
	kept = &state{}
	log := slog.New(slog.DiscardHandler)
	o := &stateOpener{Env: env, config: c, log: log, kept: kept}
	defer func() {
		if err != nil {
			err = errors.Join(err, kept.Close())
		}
	}()
	if err := o.openDatabase(ctx); err != nil {
		return kept, err
	}
	var also record.Recorder
	switch c.Record {
	case config.NoRecord:
		kept.record = record.Discard()
		kept.state = guard.NewState(session.New(session.Options{Store: kept.db}), kept.record)
		return kept, nil
	case "":
	default:
		if also, err = openRecord(env, c, kept, log); err != nil {
			return kept, err
		}
	}
	seal, err := sealer(env, c.Capture, o.target)
	if err != nil {
		return kept, err
	}
	l, err := ledger.New(ctx, ledger.Options{
		DB: kept.db, Anchor: o.anchor, Also: also, Logger: log, Strict: c.Durability == config.Strict, Seal: seal})
	if err != nil {
		return kept, err
	}
	kept.record, kept.state = l, l.State()
	kept.closers = append(kept.closers, l)
	return kept, nil
}
