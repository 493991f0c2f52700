package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// age writes how long ago something was, in its greatest unit.
func age(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int64(d / u.unit); n == 1 {
			return "1 " + u.name
		} else if n > 1 {
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	return "less than a minute"
}

// A renewal is the wish of a person that a new agent session begins.
type renewal struct {
	gate
	place, key, folder, why string
}

func newSessionNew(env *home.Env, place *string) *cobra.Command {
	r := renewal{}
	cmd := &cobra.Command{
		Use:   "new [KEY]",
		Short: "Begin a new agent session, without a label, where one goes on",
		Long: `Begin a new agent session in a conversation of a host on stdio: of the hosts in this folder that do not
name their conversations, or of the session with a key. Its label, approvals and end stay with the
one until then. A weir that is running goes on in the new one with its next call.

Do so when you have begun a new conversation, as with /clear. Content of the one before that the
agent still has in its context counts for nothing from then on.`,
		Example: "  weir session new\n  weir session new --folder ~/code/site\n  weir session new local/claude-code:6f1c8e52",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.place = *place
			if len(args) > 0 {
				r.key = conversation.KeyOf(args[0])
			}
			return renew(cmd.Context(), env, &r)
		},
	}
	cmd.Flags().StringVar(&r.folder, "folder", ".", "the `FOLDER` of the conversations")
	cmd.Flags().StringVar(&r.why, "why", "a new conversation", "the `REASON`, for the log")
	r.flag(cmd, env, "yes", "begin it")
	return cmd
}

// renew begins a new agent session in a conversation.
func renew(ctx context.Context, env *home.Env, r *renewal) error {
	notes := env.Conversations()
	n, err := renewed(env, notes, r)
	if err != nil {
		return err
	}
	if err := r.pass(ctx, env, "begin a new agent session", "Begin a new agent session, without a label, of "+n.Of()+"?"); err != nil {
		return err
	}
	return withLedger(ctx, env, r.place, func(db *sqlstore.DB, l *ledger.Ledger) error {
		next, err := notes.Renew(n.Key, time.Now(), func(next conversation.Note) error {
			ev := app.UserEvent(env, record.Begin, store.Session{Key: n.Session(), Principal: agentsession.LocalPrincipal}, r.why)
			ev.Name = next.Session()
			if err := l.Record(ctx, ev); err != nil {
				return err
			}
			refOf := func(n conversation.Note) session.Ref {
				return session.Ref{Key: n.Session(), Principal: agentsession.LocalPrincipal}
			}
			return app.NewBook(db, l).Begin(ctx, refOf(n), refOf(next))
		})
		if err != nil {
			return fmt.Errorf("beginning a new agent session: %w", err)
		}
		_, err = fmt.Fprintf(env.Stdout, "began %s, of %s\n", plain.Text(next.Session(), 0), n.Of())
		return err
	})
}

// renewed returns the conversation in which a new agent session is to begin.
func renewed(env *home.Env, notes *conversation.Book, r *renewal) (conversation.Note, error) {
	folder, err := app.RealFolder(r.folder)
	if err != nil {
		return conversation.Note{}, err
	}
	key := r.key
	if key == "" {
		key = agentsession.FolderSession(folder)
	}
	n, ok, err := notes.Find(key)
	switch {
	case err != nil:
		return n, remedy.Failure(err, "remove that file, and run this again after the next call")
	case ok:
		return n, nil
	case r.key == "":
		err = fmt.Errorf("no agent session goes on in %s", plain.Text(folder, maxError))
		return n, remedy.Usage(err, "name the --folder, or a KEY of weir session list")
	}
	err = fmt.Errorf("%.200q is no conversation of a host on stdio here", key)
	return n, remedy.Usage(err, "have its host name another one, or see weir session forget")
}
