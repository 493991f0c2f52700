package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newSessionEnd(env *home.Env, place *string) *cobra.Command {
	cmd := newSessionWhy(env, place, "ended", func(ctx context.Context, k keptSession, why string) ([]string, error) {
		err := app.NewBook(k.db, k.ledger).End(ctx, approve.Ending{Session: app.RefOf(k.session), Why: why, By: env.Person(), Via: commandLine})
		return []string{k.session.Key}, err
	})
	cmd.Use = "end KEY --why REASON"
	cmd.Short = "End an agent session and all that descend from it"
	cmd.Long = `Have an agent session, and all that descend from it, do nothing more for 30 days: each call is refused,
and its open questions are denied. It keeps its label. The same as weir deny --end and the
button of the console.`
	cmd.Example = "  weir session end local/agent:42 --why 'it was led astray'"
	return cmd
}

func newSessionForget(env *home.Env, place *string) *cobra.Command {
	var yes gate
	cmd := newSessionWhy(env, place, "forgot", func(ctx context.Context, k keptSession, why string) ([]string, error) {
		question := "Forget session " + plain.Text(k.session.Key, 120) + ", with its label: " + labelWords(k.session.Label) + "?"
		if err := yes.pass(ctx, env, "forget a session", question); err != nil {
			return nil, err
		}
		e := app.UserEvent(env, record.Forget, k.session, why)
		e.Label = &k.session.Label
		return k.ledger.End(ctx, k.session.Key, e)
	})
	cmd.Use = "forget KEY --why REASON"
	cmd.Short = "Forget an agent session and all that descend from it"
	cmd.Long = `Forget an agent session and all that descend from it, with their labels. If a host goes on with one, it
begins without a label, unless it was ended: that is not forgotten.`
	cmd.Example = "  weir session forget local/agent:42 --why 'conversation is over'"
	yes.flag(cmd, env, "yes", "forget it")
	return cmd
}

// A keptSession is a session in a store, with the log.
type keptSession struct {
	db      *sqlstore.DB
	ledger  *ledger.Ledger
	session store.Session
}

// newSessionWhy returns a command that does something to the session that its argument names, because of --why, and
// prints to which sessions that was done.
func newSessionWhy(env *home.Env, place *string, done string, do func(context.Context, keptSession, string) ([]string, error)) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := app.NeedsReason(why); err != nil {
				return err
			}
			return withLedger(cmd.Context(), env, *place, func(db *sqlstore.DB, l *ledger.Ledger) error {
				s, err := app.FindSession(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				keys, err := do(cmd.Context(), keptSession{db, l, s}, why)
				if err != nil {
					return err
				}
				for _, key := range keys {
					fmt.Fprintf(env.Stdout, "%s %s\n", done, plain.Text(key, 0))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&why, "why", "", "the `REASON`, for the log")
	return cmd
}
