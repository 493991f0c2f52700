// Package cli is the command line of weir: one file a subcommand. It is the only floor that knows everything
// below; it reads flags and files, builds what they ask for, and runs it.
//
//	status := cli.Main(ctx, cli.Env{
//		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(),
//	})
//
// Promises to whoever starts weir:
//
//   - Exit status 0 is success, 1 a failure while running, 2 a mistake in usage or configuration, with nothing started.
//   - Standard output belongs to the answer: the protocol, JSON, or the text that was asked for. Logs, warnings and
//     errors go to standard error. An error is a line "weir: error: …", followed by "weir: hint: …" where there is a remedy.
//   - When ctx ends, servers are stopped and their processes are gone before Main returns.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
)

// Env is the world of one command.
type Env struct {
	Args    []string // without the name of the program
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string // NAME=value; the last of a name counts
}

// Main runs the command that env.Args names until it is done or ctx ends, and returns the exit status.
func Main(ctx context.Context, env Env) int {
	stderr := newSpill(env.Stderr)
	defer stderr.flush(lastWords)
	env.Stderr = stderr
	root := newRoot(&env)
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	return finish(env.Stderr, root.ExecuteContext(ctx))
}

func newRoot(env *Env) *cobra.Command {
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
	for _, make := range []func(*Env) *cobra.Command{
		newRun,
		newWrap,
		newInstall,
		newUninstall,
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
		newTools,
		newLint,
		newDetect,
		newAnnotate,
		newAnalyze,
		newPolicy,
		newOverlay,
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

// needsSubcommand runs a command that only groups others.
func needsSubcommand(cmd *cobra.Command, args []string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if len(args) == 0 {
		return remedy.Usage(fmt.Errorf("%s needs a command", cmd.CommandPath()), "use "+strings.Join(names, ", "))
	}
	hint := "use " + strings.Join(names, ", ")
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	return remedy.Usage(fmt.Errorf("unknown command %q of %s", args[0], cmd.CommandPath()), hint)
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, not %.64q", cmd.CommandPath(), args[0])
	}
	return nil
}

// needsArg refuses to do without arguments.
func needsArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// usage returns the error of a command that was called in a wrong way.
func usage(cmd *cobra.Command, err error) error {
	return remedy.Usage(err, "see "+cmd.CommandPath()+" --help")
}

// finish prints an error and returns the exit status that belongs to it. This is the one place that maps the two.
func finish(w io.Writer, err error) int {
	var f *remedy.Error
	var problems config.Errors
	var rules policy.Errors
	var overlays overlay.Errors
	switch {
	case err == nil:
		return remedy.OK
	case errors.As(err, &problems):
		for _, p := range problems {
			printError(w, p.String(), p.Hint)
		}
		return remedy.Misused
	case errors.As(err, &rules):
		for _, p := range rules {
			printError(w, p.String(), p.Hint)
		}
		return remedy.Misused
	case errors.As(err, &overlays):
		for _, p := range overlays {
			printError(w, p.String(), p.Hint)
		}
		return remedy.Misused
	case errors.As(err, &f):
		if f.Err != nil {
			printError(w, f.Err.Error(), f.Hint)
		}
		return f.Status
	}
	printError(w, err.Error(), "")
	return remedy.Failed
}

// maxError is how many characters of an error are printed.
const maxError = 4000

// printError prints an error, each part on one line. It may quote what a server wrote.
func printError(w io.Writer, msg, hint string) {
	line := strings.NewReplacer("\r", " ", "\n", " ")
	fmt.Fprintf(w, "weir: error: %s\n", plain.Text(line.Replace(msg), maxError))
	if hint != "" {
		fmt.Fprintf(w, "weir: hint: %s\n", plain.Text(line.Replace(hint), maxError))
	}
}

// getenv returns the value of a variable and whether it is set.
func (e *Env) getenv(name string) (string, bool) {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if n, v, ok := strings.Cut(e.Environ[i], "="); ok && n == name {
			return v, true
		}
	}
	return "", false
}
