package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/terminal"
)

// ownTerminal is the hint where nobody can be asked.
const ownTerminal = "run it in a terminal of your own"

// attended returns an error unless a person at the terminal says that something may be done, or yes says so. Nobody is
// told more if a person has said no.
func attended(ctx context.Context, env *home.Env, yes bool, todo, question string) error {
	if yes {
		return nil
	}
	ok, err := consents(ctx, env, todo, question, ownTerminal+", or with --yes")
	if err == nil && !ok {
		return remedy.Silent(remedy.Failed) // said above
	}
	return err
}

// consents reports whether a person at the terminal says yes to a question. The terminal counts only if standard error
// goes to one: a program that a host runs for its agent has the terminal of the host, at which a person types to it.
func consents(ctx context.Context, env *home.Env, todo, question, hint string) (bool, error) {
	ok, err := false, errors.New("standard error is no terminal")
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
		return false, remedy.Failure(fmt.Errorf("nobody is at a terminal to %s: %w", todo, err), hint)
	}
	return ok, nil
}
