package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/remedy"
)

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
