package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/survey"
	"github.com/weir-mcp/weir/internal/upstream"
)

// targetFlags name the servers that a command looks at: those of a configuration, or one that is given as for weir wrap.
type targetFlags struct {
	path  string
	named serverFlags
}

func (f *targetFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "config", "", "look at the servers of this `FILE` (default ./weir.yaml, else ./.mcp.json)")
	f.named.add(cmd)
}

// A target is servers to look at, and what their processes get of weir's own environment.
type target struct {
	*setup
	baseEnv []string
}

// target returns the servers that the flags and arguments name.
func (f *targetFlags) target(e *Env, args []string) (*target, error) {
	switch {
	case len(args) > 0:
		s, err := e.wrapped(&f.named, "", args)
		return &target{s, e.Environ}, err
	case len(f.named.overlays) > 0:
		return nil, remedy.Usage(errors.New("--overlay without a command or a URL"), "name the file below overlays: of the configuration")
	}
	s, err := e.load(f.path, "")
	return &target{s, e.baseEnv()}, err
}

// survey asks the servers what they offer, and says on a terminal how far it is.
func (e *Env) survey(ctx context.Context, t *target) []survey.Listing {
	var specs []upstream.Spec
	for _, s := range e.keychain(t.setup).upstreams(t.config) {
		specs = append(specs, s.Spec)
	}
	opts := survey.Options{BaseEnv: t.baseEnv, MaxMessage: t.config.Limits.Message}
	if len(specs) > 1 && isTerminal(e.Stderr) {
		opts.Progress = func(done, all int, server string) {
			fmt.Fprintf(e.Stderr, "\r\x1b[Kasked %d of %d servers: %s", done, all, server)
			if done == all {
				fmt.Fprint(e.Stderr, "\r\x1b[K")
			}
		}
	}
	return survey.Ask(ctx, specs, opts)
}
