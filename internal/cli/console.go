package cli

import (
	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// defaultConsole is where the console is served: this machine only, at any port.
const defaultConsole = "127.0.0.1:0"

func newConsole(env *home.Env) *cobra.Command {
	var a answerFlags
	var listen string
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Serve web pages that show agent sessions",
		Long: `Serve web pages on this machine: agent sessions with their labels, the sources and destinations of
their data, the questions that wait for an answer, and the events of the log. A link is printed
that logs one browser in, once; without a terminal, the name of a file that has it. Until
interrupted.

weir run --console and weir wrap --console, and console in weir.yaml, serve the same pages, with
their policy.`,
		Example: "  weir console\n  weir console --listen 127.0.0.1:7777",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return withLedger(ctx, env, a.store, func(db *sqlstore.DB, l *ledger.Ledger) error {
				place, err := env.StorePlace(a.store)
				if err != nil {
					return err
				}
				view := app.NewConsoleView(env, db, place, l, a.principal)
				stop, err := app.ServeConsole(ctx, env, view, listen)
				if err != nil {
					return err
				}
				<-ctx.Done()
				return stop()
			})
		},
	}
	a.add(cmd)
	cmd.Flags().StringVar(&listen, "listen", defaultConsole, "serve at this `ADDRESS` of this machine")
	return cmd
}
