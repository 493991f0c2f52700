package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	agents "github.com/weir-mcp/weir/internal/program"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
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

// execFlags are the flags of weir exec check.
type execFlags struct {
	targetFlags
	asJSON bool
}

func newExecCheck(env *home.Env) *cobra.Command {
	var flags execFlags
	cmd := &cobra.Command{
		Use:   "check FILE [-- COMMAND [ARGUMENT…] | -- URL]",
		Short: "Tell whether a program can be run",
		Long: `Read a program from a file, ask the servers of the configuration, or the one that is named as for
weir wrap, for their tools, and tell whether the program can be run with these as functions.
Nothing is called. The exit status is 1 if it cannot. docs/patterns.md describes programs.`,
		Example: `  weir exec check answer.star
  weir exec check --json answer.star -- ./bank-server`,
		Args: needsArg("the file of a program"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n > 1 || n < 0 && len(args) > 1 {
				return usage(cmd, fmt.Errorf("more than one file: %.64q", args[1]))
			}
			r, err := checkProgram(cmd.Context(), env, &flags, args[0], args[1:])
			if err != nil {
				return err
			}
			if flags.asJSON {
				err = writeJSON(env.Stdout, r)
			} else {
				_, err = fmt.Fprintln(env.Stdout, r)
			}
			if err == nil && !r.OK {
				return remedy.Silent(remedy.Failed) // said above
			}
			return err
		},
	}
	flags.add(cmd)
	cmd.Flags().SetInterspersed(true) // a command for a server comes after --
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print the answer as JSON")
	return cmd
}

// A programReport tells whether the program of a file can be run.
type programReport struct {
	File   string `json:"file"`
	OK     bool   `json:"ok"`
	Line   int    `json:"line,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (r *programReport) String() string {
	if r.OK {
		return r.File + ": ok"
	}
	return fmt.Sprintf("%s:%d: %s: %s", r.File, r.Line, r.Kind, plain.Text(r.Reason, 0))
}

// checkProgram checks the program of a file, for the servers that the flags and further arguments name.
func checkProgram(ctx context.Context, env *home.Env, flags *execFlags, path string, args []string) (*programReport, error) {
	src, err := home.ReadFile(path)
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("reading the program: %w", err), "")
	}
	t, err := flags.target(env, args)
	if err != nil {
		return nil, err
	}
	words, err := setup.Words(t.Config.Words)
	if err != nil {
		return nil, err
	}
	list, err := listTools(ctx, env, t, words)
	if err != nil {
		return nil, err
	}
	p := &agents.Program{Source: string(src)}
	for e := range list.All() {
		if agents.IsFunction(e.Shown) {
			p.Tools = append(p.Tools, e.Shown)
		}
	}
	r := &programReport{File: path, OK: true}
	if end := agents.Check(p); end != nil {
		r.OK, r.Line, r.Kind, r.Reason = false, end.Line, string(end.Kind), end.Message
	}
	return r, nil
}

// newExecChild returns the command of the processes in which programs run.
func newExecChild(env *home.Env) *cobra.Command {
	return &cobra.Command{
		Use: "child", Hidden: true, Args: cobra.NoArgs,
		Short: "Run the program that weir sends",
		RunE:  func(cmd *cobra.Command, _ []string) error { return agents.Serve(cmd.Context(), env.Stdin, env.Stdout) },
	}
}
