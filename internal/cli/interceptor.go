package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/setup"
)

func newInterceptor(env *home.Env) *cobra.Command {
	var flags serveFlags
	var path, listen string
	cmd := &cobra.Command{
		Use:   "interceptor",
		Short: "Decide for hosts and gateways that invoke interceptors (SEP-2624)",
		Long: `Offer Weir's decisions as interceptors, on standard input and output or over streamable HTTP: a host, a
gateway or a server that speaks the extension io.modelcontextprotocol/interceptors lists them and sends each
payload to them. Weir stands beside it, not between: nothing passes through it, and no server is started.

weir-call decides on requests, weir-result labels results and decides on them, weir-annotate adds the label to a
result, and weir-redact replaces findings, if the configuration has some redacted, stripped or marked.

The configuration is that of weir run. It says which servers there are and describes them; with more than one
the invoker has to name the server, as server in the config of each interceptor.`,
		Example: `  weir interceptor
  weir interceptor --config weir.yaml --policy strict
  weir interceptor --config weir.yaml --listen 127.0.0.1:8090`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := setup.Load(env, path, flags.policy)
			if err != nil {
				return err
			}
			if err := flags.apply(s.Config); err != nil {
				return usage(cmd, err)
			}
			if err := errors.Join(setListen(s.Config, listen), setup.CheckSecured(env, s)); err != nil {
				return err
			}
			return app.ServeInterceptors(cmd.Context(), env, s, flags.logger(env))
		},
	}
	flags.addDeciding(cmd)
	cmd.Flags().StringVar(&path, "config", "", "read this `FILE` (default ./weir.yaml, else ./.mcp.json)")
	cmd.Flags().StringVar(&listen, "listen", "", "serve HTTP at this `ADDRESS`, host:port, path "+app.Endpoint+" (default stdio)")
	return cmd
}
