package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/interceptors"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/streamable"
	"github.com/weir-mcp/weir/label"
)

// ServeInterceptors decides for an invoker of interceptors on standard input and output, or for several at the
// address of the configuration, until they leave or ctx ends. No server is started.
func ServeInterceptors(ctx context.Context, env *home.Env, s *setup.Setup, log *slog.Logger) (err error) {
	servers, served, err := interceptedServers(env, s)
	if err != nil {
		return err
	}
	var ground files.Current
	ground.Set(setup.GroundOf(env, s, log))
	d, err := openDesk(ctx, env, s, log, &ground)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	log.Info("starting interceptors", "config", s.Path, "mode", s.Config.Mode, "policy", setup.PolicyName(s.Config), "on", setup.ListenName(s.Config))
	for _, p := range slices.Concat(s.Config.Warnings, s.Config.ListenProblems()) {
		log.Warn(p.String(), "hint", p.Hint)
	}
	decider, err := interceptors.New(interceptors.Options{
		Guard: d.guard, Questions: d.book, Servers: servers, Redacts: changesTexts(s), Version: home.Version(), Logger: log,
		Trust: trustIn(approve.NewConduct(d.kept.backend, d.kept.state), served),
	})
	if err != nil {
		return err
	}
	if s.Config.Listen == "" {
		limits := &rpc.StreamOptions{MaxMessage: s.Config.Limits.Message}
		conn := rpc.NewStream(readCloser(env.Stdin), writeCloser(env.Stdout), limits)
		err = decider.Serve(ctx, conn, agentsession.LocalPrincipal)
	} else {
		err = serveInterceptorsHTTP(ctx, env, s, log, decider)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // told to stop, and stopped
	}
	return err
}

func serveInterceptorsHTTP(ctx context.Context, env *home.Env, s *setup.Setup, log *slog.Logger, d *interceptors.Decider) error {
	h := streamable.New(streamable.Options{
		Serve: func(ctx context.Context, info streamable.Info, conn rpc.Conn) error {
			principal := info.Principal
			if principal == "" {
				principal = agentsession.LocalPrincipal
			}
			return d.Serve(ctx, conn, principal)
		},
		MaxBody: int64(s.Config.Limits.Message), Budget: budgetOf(s.Config), Logger: log,
		AllowedHosts: s.Config.HTTP.Hosts, AllowedOrigins: s.Config.HTTP.Origins,
	})
	defer h.Close()
	return serveHTTP(ctx, env, listener{config: s.Config, log: log, handler: h, serves: func(string) {}})
}

// interceptedServers returns the servers of a setup as interceptors take them. Nobody has reviewed the definitions of
// untrusted servers that agents were shown.
func interceptedServers(env *home.Env, s *setup.Setup) (all []interceptors.Server, served []gateway.Server, err error) {
	servers, err := s.Servers(setup.NewKeychain(env, s))
	if err != nil {
		return nil, nil, err
	}
	for _, u := range servers {
		if len(u.Hide) > 0 {
			return nil, nil, fmt.Errorf("server %s: results: hide needs weir run: interceptors cannot put handles in place of results", u.Name)
		}
		if len(u.Expose) > 0 {
			return nil, nil, fmt.Errorf("server %s: expose needs weir run: interceptors do not see the lists of tools", u.Name)
		}
		shown := label.Label{}
		if u.Trust == contract.Untrusted {
			shown = guard.Definitions(u.Name)
		}
		all = append(all, interceptors.Server{Name: u.Name, Trust: u.Trust, Overlay: u.Overlay, Readers: u.Readers, Context: shown})
	}
	return all, servers, nil
}

// trustIn returns how far servers are trusted after the breaches of their contracts that gateways on the same store
// have found. Interceptors find none: they see no declarations.
func trustIn(kept *approve.Conduct, servers []gateway.Server) func(ctx context.Context, server string) (contract.Trust, error) {
	return func(ctx context.Context, server string) (contract.Trust, error) {
		for i := range servers {
			if servers[i].Name == server {
				return kept.Trust(ctx, gateway.ServedOf(&servers[i]))
			}
		}
		return contract.Untrusted, nil
	}
}

// changesTexts reports whether findings of a setup are redacted, stripped or marked.
func changesTexts(s *setup.Setup) bool {
	for _, e := range setup.Detection(s).Effects {
		if e == guard.Redact || e == guard.Strip || e == guard.Spotlight {
			return true
		}
	}
	return false
}
