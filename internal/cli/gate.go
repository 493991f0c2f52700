package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/terminal"
)

// ownTerminal is the hint where nobody can be asked.
const ownTerminal = "run it in a terminal of your own"

// gateMark marks the flags of gates among all flags.
const gateMark = "weir-gate"

// A gate is the yes that a command needs by which something counts for more than before, or is lost for good: of a
// person at the terminal, or of a script by a flag and the variable [files.Scripted]. A flag alone would be one that an
// agent tries, and that a person pastes: it is a wish, and the person is asked.
type gate struct{ wanted bool }

// flag adds the flag of the gate to its command. Without a terminal the command then does nothing, unless the script
// may say yes.
func (g *gate) flag(cmd *cobra.Command, env *home.Env, name, usage string) {
	cmd.Flags().BoolVar(&g.wanted, name, false, usage+", after a question at the terminal; scripts: docs/approvals.md")
	if err := cmd.Flags().SetAnnotation(name, gateMark, nil); err != nil {
		panic(err) // the flag is there
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if g.wanted && !g.scripted(env) && !home.IsTerminal(env.Stderr) {
			return unattended("agree to "+cmd.CommandPath()+" --"+name, errNoTerminal, ownTerminal+"; for scripts, see docs/approvals.md")
		}
		return nil
	}
}

// scripted reports whether a script says yes.
func (g *gate) scripted(env *home.Env) bool {
	by, _ := env.Getenv(files.Scripted)
	return g.wanted && by == "1"
}

// pass returns an error unless a person at the terminal says yes to a question, or a script does. Nobody is told more
// if a person has said no.
func (g *gate) pass(ctx context.Context, env *home.Env, todo, question string) error {
	if g.scripted(env) {
		return nil
	}
	ok, err := consents(ctx, env, todo, question, ownTerminal)
	if err == nil && !ok {
		return remedy.Silent(remedy.Failed) // said above
	}
	return err
}

// A deed is a change behind a gate, for a reason that the log keeps.
type deed struct {
	gate
	why string
}

// flags adds the flags of the deed. Yes is the help text of --yes.
func (d *deed) flags(cmd *cobra.Command, env *home.Env, yes string) {
	d.flag(cmd, env, "yes", yes)
	cmd.Flags().StringVar(&d.why, "why", "", "the `REASON`, for the log")
}

// check refuses a deed without a reason, if it is wanted.
func (d *deed) check() error {
	if !d.wanted {
		return nil
	}
	return app.NeedsReason(d.why)
}

var errNoTerminal = errors.New("standard error is no terminal")

// consents reports whether a person at the terminal says yes to a question. The terminal counts only if standard error
// goes to one: a program that a host runs for its agent has the terminal of the host, at which a person types to it.
func consents(ctx context.Context, env *home.Env, todo, question, hint string) (bool, error) {
	ok, err := false, errNoTerminal
	if home.IsTerminal(env.Stderr) {
		var t *terminal.Terminal
		if t, err = terminal.Open(config.DefaultPace); err == nil {
			defer t.Close()
			ok, err = t.Agrees(ctx, question)
		}
	}
	if ctx.Err() != nil {
		return false, remedy.Failure(errors.New("stopped before an answer"), "")
	}
	if err != nil {
		return false, unattended(todo, err, hint)
	}
	return ok, nil
}

func unattended(todo string, err error, hint string) error {
	return remedy.Failure(fmt.Errorf("nobody is at a terminal to %s: %w", todo, err), hint)
}
