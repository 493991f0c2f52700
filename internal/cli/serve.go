package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
)

// ownerIdle is how long an owner waits for requests.
const ownerIdle = 30 * time.Minute

func newServe(env *home.Env) *cobra.Command {
	var idle time.Duration
	var stop bool
	var wraps string
	flags := serveFlags{level: choice{"warn", logLevels}}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Decide for weir hook, in one process for all agent sessions",
		Long: `Own the agent sessions of the state directory: weir hook has this process decide, over a socket in
the state directory that only its user may use. weir hook starts it when it needs it, so there is no
need to run it by hand. It ends when no event has come for a while, and when a newer weir asks for it.`,
		Example: "  weir serve --log-level debug\n  weir serve --stop",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wraps != "" {
				return serveWraps(cmd.Context(), env, wraps, &flags)
			}
			if !stop {
				return app.ServeOwner(cmd.Context(), env, idle, flags.logger(env))
			}
			was, err := retireOwner(cmd.Context(), env)
			if err == nil && !was {
				_, err = fmt.Fprintln(env.Stdout, "no weir serve runs")
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&idle, "idle", ownerIdle, "end after so long without an event; 0 is never")
	cmd.Flags().BoolVar(&stop, "stop", false, "have the one that runs end, and wait for that")
	cmd.Flags().StringVar(&wraps, "wraps", "", "decide for the wraps with this `KEY`, which start this by themselves")
	if err := cmd.Flags().MarkHidden("wraps"); err != nil {
		panic(err) // the flag exists
	}
	addChoice(cmd, &flags.level, "log-level", "the least level to log on standard error")
	return cmd
}

// retireOwner has the weir serve end that runs, and waits for that.
func retireOwner(ctx context.Context, env *home.Env) (was bool, err error) {
	client, err := app.Owner(env)
	if err != nil {
		return false, err
	}
	return client.Retire(ctx)
}
