package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
)

func newRun(env *home.Env) *cobra.Command {
	var flags serveFlags
	var path, listen string
	var vars []string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Serve the servers of a configuration, on stdio or HTTP",
		Long: `Serve one or many MCP servers as one, on standard input and output or over streamable
HTTP. The configuration is a weir.yaml, or any JSON file with mcpServers; without --config
it is ./weir.yaml, else ./.mcp.json. Flags override it.

A server gets the variables that its configuration gives it and a few of weir's own, such as
PATH and HOME.

When the configuration or the policy changes, and on SIGHUP, they are read again and taken
over, if there is no mistake in them. Connections to servers that stay the same stay.`,
		Example: `  weir run
  weir run --config weir.yaml --listen 127.0.0.1:8080
  weir run --config .mcp.json --policy policy.yaml --mode audit`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			with := *env
			with.Environ = slices.Concat(env.Environ, vars)
			env := &with
			load := func() (*setup.Setup, error) {
				s, err := setup.Load(env, path, flags.policy)
				if err != nil {
					return s, err
				}
				if err := flags.apply(s.Config); err != nil {
					return s, usage(cmd, err)
				}
				if err := setup.CheckSecured(env, s); err != nil {
					return s, err
				}
				s.Config.Warnings = append(s.Config.Warnings, setup.MissingCommands(s.Config)...)
				return s, setListen(s.Config, listen)
			}
			s, err := load()
			if err != nil {
				return err
			}
			path = s.Path // it stays the same file
			words, err := flags.words()
			if err != nil {
				return err
			}
			return app.Serve(cmd.Context(), env, &app.Service{
				Setup: s, BaseEnv: env.BaseEnv(), Reload: load, Log: flags.logger(env), TrustText: words, Session: flags.session,
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&path, "config", "", "read this `FILE` (default ./weir.yaml, else ./.mcp.json)")
	cmd.Flags().StringVar(&listen, "listen", "", "serve HTTP at this `ADDRESS`, host:port, path "+app.Endpoint+" (default stdio)")
	cmd.Flags().StringArrayVar(&vars, "env", nil, "take the variable `NAME=VALUE`, not that of the environment; may be given several times")
	return cmd
}

// setListen sets the address of --listen, "" leaving the configuration as it is.
func setListen(c *config.Config, listen string) error {
	if listen == "" {
		return nil
	}
	addr, _, ok := config.ParseListen(listen)
	if !ok {
		return remedy.Usage(errors.New("--listen: bad address"), "write HOST:PORT, like 127.0.0.1:8080")
	}
	c.Listen = addr
	return nil
}
