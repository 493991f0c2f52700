package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/demo"
	"github.com/weir-mcp/weir/internal/demo/servers"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
)

func newDemo(env *home.Env) *cobra.Command {
	transport := choice{"stdio", []string{"stdio", "http"}}
	protocol := choice{"2026-07-28", []string{"2025-11-25", "2026-07-28"}}
	var asJSON, hidden bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a hijacked agent, without weir and with it",
		Long: `Play short stories with an agent that obeys every instruction it reads and with real MCP
servers that are started for it, each story twice: without weir, and with weir in between.
Nothing leaves this machine.

The exit status is 0 if every attack succeeded without weir and was stopped by it, and every
harmless call passed.

With --hidden, weir hides each result that anyone could have written: the agent passes it on by a
handle and never reads it. Then nobody answers questions, as with an agent that works unattended.`,
		Example: `  weir demo
  weir demo --hidden
  weir demo --transport http --protocol 2025-11-25
  weir demo --json | jq .totals`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			exe, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding this program: %w", err)
			}
			opts := demo.Options{Protocol: protocol.value, Exe: exe, Hidden: hidden, Guarded: throughWeir(exe, transport.value)}
			return playDemo(env, cmd, opts, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&hidden, "hidden", false, "have results hidden, and nobody answer")
	addChoice(cmd, &transport, "transport", "how the agent reaches weir")
	addChoice(cmd, &protocol, "protocol", "the revision of MCP that the agent speaks")
	cmd.AddCommand(newDemoServer(env))
	return cmd
}

// throughWeir returns the way to the servers of a story through this program.
func throughWeir(exe, transport string) demo.Connect {
	argv := []string{exe, "run", "--config", "{config}", "--record", "none", "--store", "memory", "--pins", "none", "--log-level", "error"}
	if transport == "http" {
		return demo.HTTPCommand(app.Endpoint, append(argv, "--listen", "{address}")...)
	}
	return demo.Command(argv...)
}

func playDemo(env *home.Env, cmd *cobra.Command, opts demo.Options, asJSON bool) error {
	text := &demo.Text{Out: env.Stdout, Color: wantsColor(env)}
	if !asJSON {
		text.Intro()
		opts.Observe = text.Story
	}
	report, err := demo.Run(cmd.Context(), opts)
	if cmd.Context().Err() != nil {
		return errors.New("interrupted")
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = report.WriteJSON(env.Stdout)
	} else {
		err = text.Totals(report)
	}
	if err == nil && !report.OK {
		err = remedy.Silent(remedy.Failed) // the report says why
	}
	return err
}

// wantsColor reports whether standard output is a terminal whose user has not asked for plain text (no-color.org).
func wantsColor(env *home.Env) bool {
	no, _ := env.Getenv("NO_COLOR")
	term, _ := env.Getenv("TERM")
	return no == "" && term != "dumb" && home.IsTerminal(env.Stdout)
}

// newDemoServer is how the demo starts its servers.
func newDemoServer(*home.Env) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:     "server NAME",
		Short:   "Run one MCP server of the demo, on stdio",
		Long:    "Run one of the MCP servers of the demo on standard input and output: " + strings.Join(servers.Names(), ", ") + ".",
		Example: "  weir demo server files --data ./files",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(servers.Names(), args[0]) {
				return remedy.Usage(fmt.Errorf("unknown server %q", args[0]), "use "+strings.Join(servers.Names(), ", "))
			}
			if data == "" {
				return usage(cmd, errors.New("--data is missing"))
			}
			err := servers.Run(cmd.Context(), args[0], servers.Options{Data: data})
			if cmd.Context().Err() != nil {
				return nil
			}
			return err
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "keep the server's state in this `DIRECTORY`")
	return cmd
}
