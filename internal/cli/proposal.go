package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/status"
)

func newReload(env *home.Env) *cobra.Command {
	var a answerFlags
	var accept gate
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Show and accept configurations that loosen weir",
		Long: `Show the changes of a configuration that a running weir has not taken over, because they loosen its
enforcement: another mode, a rule that went, more trust, a new server, a new folder. With --accept
they are taken over. Changes that make it stricter are taken over at once, without this.`,
		Example: "  weir reload\n  weir reload --accept",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withBook(cmd.Context(), env, &a, func(book *approve.Book) error {
				open, err := proposed(cmd.Context(), env, book, a.principal)
				if err != nil {
					return err
				}
				if len(open) == 0 {
					_, err := io.WriteString(env.Stdout, "no configuration waits for a person\n")
					return err
				}
				if err := printQuestions(env, open); err != nil || !accept.wanted {
					return err
				}
				if err := accept.pass(cmd.Context(), env, "accept a configuration", "Take all of this over?"); err != nil {
					return err
				}
				var errs []error
				for _, p := range open {
					errs = append(errs, book.Answer(cmd.Context(), approve.Reply{ID: p.ID, Principal: p.Principal, Answer: approve.Accepted, Via: commandLine}))
				}
				return errors.Join(errs...)
			})
		},
	}
	a.add(cmd)
	accept.flag(cmd, env, "accept", "take the changes over")
	return cmd
}

// proposed returns the questions about configurations. A running weir whose question has expired is told to read its
// files again.
func proposed(ctx context.Context, env *home.Env, book *approve.Book, principal string) (open []*approve.Pending, err error) {
	for try := range 20 {
		all, err := book.List(ctx, principal)
		if err != nil {
			return nil, err
		}
		open = slices.DeleteFunc(all, func(p *approve.Pending) bool { return p.Method != approve.MethodReload })
		if len(open) > 0 || try == 0 && !nudge(ctx, env) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return open, nil
}

// nudge has every running weir that has not taken over its configuration read it again, and reports whether there is
// one.
func nudge(ctx context.Context, env *home.Env) (any bool) {
	dir, err := env.RunDir()
	if err != nil {
		return false
	}
	all, _ := status.List(ctx, dir)
	for _, p := range all {
		if p.Reload != nil && !p.Reload.Taken && hangUp(p.PID) == nil {
			any = true
		}
	}
	return any
}

func hangUp(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return process.Signal(syscall.SIGHUP)
}
