// Package cli is the command line of weir: one file a subcommand. It is the only floor that knows everything
// below; it reads flags and files, builds the parts that they ask for, and runs them.
//
//	status := cli.Main(ctx, os.Args[1:], home.Env{
//		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(),
//	})
//
// Promises to whoever starts weir:
//
//   - Exit status 0 is success, 1 a failure while running, 2 a mistake in usage or configuration, with nothing started.
//   - Standard output belongs to the answer: the protocol, JSON, or the text that was asked for. Logs, warnings and
//     errors go to standard error. An error is a line "weir: error: …", followed by "weir: hint: …" where there is a
//     remedy.
//   - When ctx ends, servers are stopped and their processes are gone before Main returns.
package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/home"
)

// Main runs the command that the arguments name until it is done or ctx ends, and returns the exit status. The
// arguments do not begin with the name of the program.
func Main(ctx context.Context, args []string, env home.Env) int {
	stderr := newAsyncStderr(env.Stderr)
	defer stderr.flush(lastWords)
	env.Stderr = stderr
	root := newRoot(&env)
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	return finish(env.Stderr, root.ExecuteContext(ctx))
}

// Commands returns the table of commands, for programs that write manuals. They are not to be run.
func Commands() *cobra.Command { return newRoot(&home.Env{}) }

func newRoot(env *home.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "weir",
		Short: "A security gateway for the Model Context Protocol",
		Long: `weir stands between AI hosts and MCP servers. It labels what passes, remembers for
each agent session what the agent has seen, decides every call by policy before it
happens, asks a person where policy says so, and keeps a record.`,
		Example: `  weir demo                                watch a hijacked agent, without weir and with it
  weir install                             put the servers of your hosts behind weir
  weir wrap -- npx -y @example/server      stand in front of one server, on stdio
  weir run --config weir.yaml              stand in front of many`,
		Args:          cobra.ArbitraryArgs,
		RunE:          needsSubcommand,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	for _, make := range []func(*home.Env) *cobra.Command{
		newRun,
		newWrap,
		newInstall,
		newUninstall,
		newHook,
		newServe,
		newService,
		newInterceptor,
		newDoctor,
		newDemo,
		newLogin,
		newLogout,
		newConsole,
		newReport,
		newApprovals,
		newApprove,
		newDeny,
		newWatch,
		newStatus,
		newAudit,
		newSession,
		newLabels,
		newState,
		newReview,
		newFolders,
		newReload,
		newServers,
		newTools,
		newLint,
		newDetect,
		newAnnotate,
		newAnalyze,
		newPolicy,
		newPlan,
		newExec,
		newOverlay,
		newConformance,
		newBench,
		newConfig,
		newVersion,
	} {
		root.AddCommand(make(env))
	}
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, err) })
	for _, c := range root.Commands() {
		finishCommand(c)
	}
	return root
}

// finishCommand makes every complaint about arguments of a command, and of those below it, a usage error, and
// gives the completions, which cobra adds, their examples.
func finishCommand(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage(cmd, err)
			}
			return nil
		}
	}
	switch c.CommandPath() {
	case "weir completion":
		c.Example = "  weir completion bash\n  weir completion zsh --help"
		c.Args, c.RunE = cobra.ArbitraryArgs, needsSubcommand
	case "weir completion bash", "weir completion zsh", "weir completion fish":
		c.Example = "  source <(" + c.CommandPath() + ")"
		if c.Name() == "fish" {
			c.Example = "  weir completion fish | source"
		}
	case "weir completion powershell":
		c.Example = "  weir completion powershell | Out-String | Invoke-Expression"
	}
	for _, sub := range c.Commands() {
		finishCommand(sub)
	}
}
