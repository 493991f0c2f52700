package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	agents "github.com/weir-mcp/weir/internal/program"
	"github.com/weir-mcp/weir/internal/remedy"
)

func newExec(env *home.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "exec",
		Short:   "Check the programs of agents",
		Long:    "Check programs: texts in Starlark that an agent has weir_exec run, with the tools as functions.",
		Example: "  weir exec check answer.star",
		Args:    cobra.ArbitraryArgs,
		RunE:    needsSubcommand,
	}
	cmd.AddCommand(newExecCheck(env), newExecChild(env))
	return cmd
}

func newExecCheck(env *home.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE [TOOL…]",
		Short: "Tell whether a program can be run",
		Long: `Read a program from a file, and tell whether it can be run where the named tools are functions.
Nothing is called. The exit status is 1 if it cannot. docs/patterns.md describes programs.`,
		Example: `  weir exec check answer.star list_inbox send_email`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			src, err := home.ReadFile(args[0])
			if err != nil {
				return remedy.Usage(fmt.Errorf("reading the program: %w", err), "")
			}
			end := agents.Check(&agents.Program{Source: string(src), Tools: args[1:]})
			if end == nil {
				_, err := fmt.Fprintf(env.Stdout, "%s: ok\n", args[0])
				return err
			}
			if _, err := fmt.Fprintf(env.Stdout, "%s:%d: %s: %s\n", args[0], end.Line, end.Kind, plain.Text(end.Message, 0)); err != nil {
				return err
			}
			return remedy.Silent(remedy.Failed) // said above
		},
	}
}

// newExecChild returns the command of the processes in which programs run.
func newExecChild(env *home.Env) *cobra.Command {
	return &cobra.Command{
		Use: "child", Hidden: true, Args: cobra.NoArgs,
		Short: "Run the program that weir sends",
		RunE:  func(cmd *cobra.Command, _ []string) error { return agents.Serve(cmd.Context(), env.Stdin, env.Stdout) },
	}
}
