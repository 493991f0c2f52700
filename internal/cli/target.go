package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/survey"
	"github.com/weir-mcp/weir/internal/upstream"
)

// targetFlags name the servers that a command looks at: those of a configuration, or one that is given as for weir
// wrap.
type targetFlags struct {
	path  string
	named serverFlags
}

func (f *targetFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "config", "", "look at the servers of this `FILE` (default ./weir.yaml, else ./.mcp.json)")
	f.named.add(cmd)
}

// A target is servers to look at, and the part of weir's own environment that their processes get.
type target struct {
	*setup.Setup
	baseEnv []string
}

// listing says which tools of a server hosts are told of.
func (t *target) listing(e guard.Exposure) *guard.Listing {
	return &guard.Listing{Exposure: e, Policy: t.Policy(), Mode: t.Config.Mode}
}

// target returns the servers that the flags and arguments name.
func (f *targetFlags) target(env *home.Env, args []string) (*target, error) {
	switch {
	case len(args) > 0:
		s, err := wrapped(env, &f.named, "", args)
		return &target{s, env.Environ}, err
	case len(f.named.overlays) > 0:
		return nil, remedy.Usage(errors.New("--overlay without a command or a URL"), "name the file below overlays: of the configuration")
	}
	s, err := setup.Load(env, f.path, "")
	return &target{s, env.BaseEnv()}, err
}

// surveyTarget asks the servers for their definitions, and shows its progress on a terminal.
func surveyTarget(ctx context.Context, env *home.Env, t *target) []survey.Listing {
	var specs []upstream.Spec
	for _, s := range setup.NewKeychain(env, t.Setup).Upstreams(t.Config) {
		specs = append(specs, s.Spec)
	}
	opts := survey.Options{BaseEnv: t.baseEnv, MaxMessage: t.Config.Limits.Message}
	if len(specs) > 1 && home.IsTerminal(env.Stderr) {
		opts.Progress = func(done, all int, server string) {
			fmt.Fprintf(env.Stderr, "\r\x1b[Kasked %d of %d servers: %s", done, all, server)
			if done == all {
				fmt.Fprint(env.Stderr, "\r\x1b[K")
			}
		}
	}
	return survey.Ask(ctx, specs, opts)
}
