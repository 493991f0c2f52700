package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/notify"
	"github.com/weir-mcp/weir/internal/program"
	"github.com/weir-mcp/weir/internal/quarantine"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/sanitize"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/session"
)

// beforeCalls is how long the rules of a policy wait to be compiled, unless one counts before: the first lists are told
// meanwhile, and agents need longer than that for their first call.
const beforeCalls = 200 * time.Millisecond

// Serve stands in front of the servers until the host leaves or ctx ends, on the address of the configuration
// or on standard input and output.
func Serve(ctx context.Context, env *home.Env, s *Service) (err error) {
	log := s.Log
	keys := setup.NewKeychain(env, s.Setup)
	read := readBeside(s, keys)
	people := newNotifier(env, s.Config.Notify, log)
	kept, end, err := s.state(ctx, env, people)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	defer people.Close() // before the book that takes its answers
	log.Info("starting", "config", s.Path, "mode", s.Config.Mode, "policy", setup.PolicyName(s.Config), "on", setup.ListenName(s.Config))
	for _, p := range slices.Concat(s.Config.Warnings, s.Config.ListenProblems()) {
		log.Warn(p.String(), "hint", p.Hint)
	}
	if s.locked, err = OpenPins(env, s.Config, kept.backend); err != nil {
		return err
	}
	g, err := newGateway(env, s, kept, people, read)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r := &reloader{
		load: s.Reload, settled: func(now *setup.Setup) { s.ground.Set(setup.GroundOf(env, now, log)) },
		proposals: newProposals(kept, people), gateway: g, log: log, started: s.Config, keys: keys, now: s.Setup,
	}
	t := &statusSource{
		Service: s, reloader: r, started: time.Now(), people: people,
		asked: newApprovalStats(kept), db: kept.db, refused: kept.refused, log: log,
	}
	defer tellStatus(env, log, t.process, func() any { return t.details() })()
	if s.Reload != nil {
		defer r.start(ctx)()
	}
	defer time.AfterFunc(beforeCalls, func() { s.Policy().Compile() }).Stop()
	shown, err := serveConsoleBeside(ctx, env, t, kept)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shown()) }()
	if err = serveHosts(ctx, env, t); ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // told to stop, and stopped
	}
	return err
}

// state returns the state of the service, and the function that writes down what is left and ends its use.
func (s *Service) state(ctx context.Context, env *home.Env, people *notify.Notifier) (kept *state, end func() error, err error) {
	if s.kept != nil {
		return s.kept, func() error { return s.kept.db.Flush(context.WithoutCancel(ctx)) }, nil
	}
	if kept, err = openState(ctx, env, s.Config, s.Log, people); err != nil {
		return nil, nil, err
	}
	return kept, kept.Close, nil
}

// serveHosts serves hosts until they leave or ctx ends.
func serveHosts(ctx context.Context, env *home.Env, t *statusSource) error {
	if t.Config.Listen != "" {
		return serveHTTP(ctx, env, listener{
			config: t.Config, log: t.log, handler: t.gateway.Handler(), metrics: http.HandlerFunc(t.serveMetrics),
			serves: func(url string) { t.serves.Store(&url) },
		})
	}
	t.serves.Store(new("stdio"))
	limits := &rpc.StreamOptions{MaxMessage: t.Config.Limits.Message}
	return t.gateway.ServeStdio(ctx, rpc.NewStream(readCloser(env.Stdin), writeCloser(env.Stdout), limits))
}

// A reading is the part of a setup that takes time and needs no state.
type reading struct {
	servers   func() ([]gateway.Server, error)
	detection func() guard.Detection
}

// readBeside begins to read, while the state is opened.
func readBeside(s *Service, keys *setup.Keychain) reading {
	r := reading{
		servers:   sync.OnceValues(func() ([]gateway.Server, error) { return s.servers(keys) }),
		detection: sync.OnceValue(func() guard.Detection { return setup.Detection(s.Setup) }),
	}
	go s.Policy() // all but its conditions
	go func() {
		_, _ = r.servers()
		_ = r.detection()
		_ = detect.Definitions() // for the first list
	}()
	return r
}

// servers returns the servers as the gateway takes them.
func (s *Service) servers(keys *setup.Keychain) ([]gateway.Server, error) {
	all, err := s.Servers(keys)
	for i := range all {
		all[i].Spec.Start = s.Start
	}
	return all, err
}

// newGateway returns the gateway of a service.
func newGateway(env *home.Env, s *Service, kept *state, people *notify.Notifier, read reading) (*gateway.Gateway, error) {
	words, err := setup.Words(s.Config.Words)
	if err != nil {
		return nil, err
	}
	servers, err := read.servers()
	if err != nil {
		return nil, err
	}
	local, err := localOf(env, s)
	if err != nil {
		return nil, err
	}
	opts := gateway.Options{
		Servers: servers, Mode: s.Config.Mode,
		State: kept.state, Approvals: kept.backend,
		Taints:   session.NewTaints(session.TaintOptions{Store: kept.backend, Keep: keepLabels(s.Config.Retention)}),
		Approval: s.Config.Approval.Timeout, Startup: s.Config.Startup, Asked: asked(people),
		Hiding: gateway.Hiding{
			Vault:      kept.vault,
			Quarantine: quarantineOf(s.Config.Quarantine), Plans: plansOf(s.Config), Interpreter: interpreter(), Sanitizers: sanitizersOf(s.Config),
		},
		Hosts: gateway.Hosts{
			Local: local, HostAnswers: hostAnswers(s.Config),
		},
		Version: home.Version(), BaseEnv: s.BaseEnv, Stderr: env.Stderr, Budget: budgetOf(s.Config), Logger: s.Log, Own: gateway.Own(s.Config.Own),
		Web: gateway.Web{
			AllowedHosts: s.Config.HTTP.Hosts, AllowedOrigins: s.Config.HTTP.Origins, Share: s.Config.HTTP.Share, Apart: s.Config.HTTP.Apart,
		},
		Remembering: gateway.Remembering{Shared: s.Shared, TrustText: s.TrustText, Neighbors: s.Neighbors, Keep: s.Keep}, Words: words,
		Pins: gatewayPins(s.locked), Review: s.reviewCommand(), Files: &s.ground,
	}
	if s.Config.Console != "" {
		if _, _, err := consoleLog(kept); err != nil {
			return nil, err
		}
	}
	if s.Config.Listen == "" { // for the one host, which needs them at once; no mistake in usage is found from here on
		kept.closers = append(kept.closers, gateway.StartAhead(&opts))
	}
	s.ground.Set(setup.GroundOf(env, s.Setup, s.Log))
	opts.Policy, opts.Contents = s.Policy(), contentsOf(s.Setup, kept, read.detection())
	return gateway.New(opts)
}

// plansOf returns how plans count by a configuration.
func plansOf(c *config.Config) gateway.Plans {
	return gateway.Plans{Offered: c.Plan != "", Programs: c.Exec, Isolates: c.Isolated, PlanRules: planRules(c)}
}

func planRules(c *config.Config) guard.PlanRules {
	return guard.PlanRules{Strict: c.Plan == config.StrictPlans, Templates: c.Templates}
}

// interpreter returns the runner of programs of agents: this program, as [program.Serve]; nil if its file is not known.
func interpreter() gateway.Interpreter {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	return &program.Process{Command: []string{exe, "exec", "child"}}
}

// hostAnswers returns which answers of hosts count, and how it goes on where none can.
func hostAnswers(c *config.Config) gateway.HostAnswers {
	a := gateway.HostAnswers{None: c.Approval.NoHost, Pace: c.Approval.Pace, Hold: c.Approval.Hold}
	if c.Console != "" {
		a.Console = "http://" + c.Console
	}
	return a
}

// budgetOf returns the limits of the configuration.
func budgetOf(c *config.Config) *budget.Budget {
	l := c.Limits
	return budget.New(budget.Limits{
		Message: int64(l.Message), Bytes: int64(l.InFlight), Connections: int64(l.Connections), Sessions: int64(l.Sessions),
		Processes: int64(l.Processes), Traces: int64(l.Traces),
	})
}

func readCloser(r io.Reader) io.ReadCloser {
	if f, ok := r.(*os.File); ok {
		return pollable(f, os.O_RDONLY)
	}
	if rc, ok := r.(io.ReadCloser); ok {
		return rc
	}
	return io.NopCloser(r)
}

func writeCloser(w io.Writer) io.WriteCloser {
	if f, ok := w.(*os.File); ok {
		return pollable(f, os.O_WRONLY)
	}
	if wc, ok := w.(io.WriteCloser); ok {
		return wc
	}
	return nopCloser{w}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// tellStatus lets weir status ask, until stop is called. A service that cannot be asked serves all the same.
func tellStatus(env *home.Env, log *slog.Logger, tell func() status.Process, details func() any) (stop func()) {
	dir, err := env.RunDir()
	if err != nil {
		log.Debug("weir status will not find this process", "error", err)
		return func() {}
	}
	l, err := status.Serve(dir, env.Process(), tell, details)
	if err != nil {
		log.Warn("weir status will not find this process", "error", err)
		return func() {}
	}
	return func() { l.Close() }
}

// sanitizersOf returns the ways of making hidden texts into others. They search for all that detection knows by
// itself, whatever its mode.
func sanitizersOf(c *config.Config) *sanitize.Sanitizers {
	if len(c.Sanitizers) == 0 {
		return nil
	}
	q := &c.Quarantine
	return &sanitize.Sanitizers{
		Rules: c.Sanitizers, Scanner: detect.NewWith(detect.Options{Canaries: c.Detect.Canaries}), Model: quarantineOf(c.Quarantine),
		Others: fmt.Sprintf("%q %q %q %q %q", c.Detect.Canaries, q.URL, q.Model, q.Command, q.Env),
	}
}

// quarantineOf returns the model that answers questions about hidden results; nil if there is none.
func quarantineOf(q config.Quarantine) gateway.Quarantine {
	switch {
	case len(q.Command) > 0:
		var env []string
		for name, value := range q.Env {
			env = append(env, name+"="+value)
		}
		return quarantine.NewCommand(q.Command, env, q.Timeout)
	case q.URL == "":
		return nil
	}
	return quarantine.New(quarantine.Options{URL: q.URL, Model: q.Model, Key: q.Key, Timeout: q.Timeout})
}
