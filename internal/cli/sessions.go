package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newSession(env *home.Env) *cobra.Command {
	var place string
	cmd := &cobra.Command{
		Use:   "session",
		Short: "List agent sessions, begin new ones, end or forget them, or lower their labels",
		Long: `Agents, servers and hosts can only raise the label of an agent session. Only a person can
lower it, begin a new session, end it or forget it, here, and the log keeps that they did and why.`,
		Example: "  weir session list\n  weir session new\n" +
			"  weir session declassify KEY --drop pii --why 'test data'\n  weir session end KEY --why 'conversation is over'",
		Args: cobra.ArbitraryArgs,
		RunE: needsSubcommand,
	}
	cmd.PersistentFlags().StringVar(&place, "store", "",
		"the `PLACE` of the sessions: a file or postgres://… (default state.db in\nweir's state directory)")
	cmd.AddCommand(newSessionList(env, &place), newSessionNew(env, &place), newSessionEnd(env, &place),
		newSessionForget(env, &place), newSessionDeclassify(env, &place))
	return cmd
}

// A sessionReport is a session as JSON.
type sessionReport struct {
	Key       string      `json:"key"`
	Parent    string      `json:"parent,omitempty"`
	Principal string      `json:"principal"`
	Label     label.Label `json:"label"`
	Calls     int64       `json:"calls"`
	Created   time.Time   `json:"created"`
	Seen      time.Time   `json:"seen"`
	Ended     bool        `json:"ended,omitempty"` // a person has ended it
	Host      string      `json:"host,omitempty"`  // as it called itself first; of conversations of hosts on stdio
	Folder    string      `json:"folder,omitempty"`
	Past      bool        `json:"past,omitempty"` // a person has begun a new conversation since
}

func newSessionList(env *home.Env, place *string) *cobra.Command {
	var asJSON bool
	var principal string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List agent sessions and their labels",
		Long: `List agent sessions, the newest first: their age, when they were last seen, their calls and their labels. Those of
hosts on stdio have the name by which the host calls itself, and the folder in which it started weir.`,
		Example: "  weir session list\n  weir session list --principal alice --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return readStore(cmd.Context(), env, *place, func(db *sqlstore.DB, _ string) error {
				reports, err := sessionReports(cmd.Context(), env, db, principal)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(env.Stdout, map[string]any{"sessions": reports})
				}
				return printSessions(env, reports)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the sessions as JSON")
	cmd.Flags().StringVar(&principal, "principal", "", "of this `PRINCIPAL` only")
	return cmd
}

func sessionReports(ctx context.Context, env *home.Env, db *sqlstore.DB, principal string) ([]sessionReport, error) {
	book := approve.NewBook(approve.Options{Record: record.Discard(), Store: db, Sessions: session.New(session.Options{Store: db})})
	reports, notes := []sessionReport{}, env.Conversations()
	for s, err := range db.List(ctx, principal) {
		if err != nil {
			return nil, err
		}
		ended, err := book.HasEnded(ctx, session.Ref{Key: s.Key, Principal: s.Principal})
		if err != nil {
			return nil, err
		}
		r := sessionReport{
			Key: s.Key, Parent: s.Parent, Principal: s.Principal, Label: s.Label, Calls: s.Calls,
			Created: s.Created, Seen: s.Seen, Ended: ended,
		}
		if n, ok, err := notes.Find(conversation.KeyOf(s.Key)); err == nil && ok {
			r.Host, r.Folder, r.Past = n.Host, n.Folder, n.Session() != s.Key
		}
		reports = append(reports, r)
	}
	return reports, nil
}

func printSessions(env *home.Env, reports []sessionReport) error {
	var b strings.Builder
	for _, r := range reports {
		fmt.Fprintf(&b, "%s  %sseen %s, %d calls: %s\n", plain.Text(r.Key, 120), r.standing(), r.Seen.Format(time.RFC3339), r.Calls, labelWords(r.Label))
		if r.Folder != "" {
			fmt.Fprintf(&b, "    %s, %s old\n", (conversation.Note{Host: r.Host, Folder: r.Folder}).Of(), age(time.Since(r.Created)))
		}
	}
	if len(reports) == 0 {
		b.WriteString("no sessions\n")
	}
	_, err := env.Stdout.Write([]byte(b.String()))
	return err
}

// standing says whether anything more can happen in a session.
func (r *sessionReport) standing() string {
	switch {
	case r.Ended:
		return "ended, "
	case r.Past:
		return "past, "
	}
	return ""
}

// labelWords says a label in a few words.
func labelWords(l label.Label) string {
	var words []string
	for _, flag := range []struct {
		set  bool
		word string
	}{{l.Untrusted, "untrusted"}, {l.Private, "private"}, {l.Malicious, "malicious"}} {
		if flag.set {
			words = append(words, flag.word)
		}
	}
	for c := range l.Sensitivity.All() {
		words = append(words, plain.Text(string(c), 60))
	}
	if n := l.Attribution.Len(); n > 0 {
		words = append(words, fmt.Sprintf("from %d places", n))
	}
	if words == nil {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

func newSessionDeclassify(env *home.Env, place *string) *cobra.Command {
	var drop []string
	var d deed
	cmd := &cobra.Command{
		Use:   "declassify KEY --drop WORD --why REASON",
		Short: "Take something out of the label of an agent session",
		Long: `Take something out of the label of an agent session and of all that descend from it: untrusted,
private, malicious, or a class of sensitivity such as pii or regulated:GDPR. Dropping private
drops all that makes the session private, its classes included. Sessions above keep their labels.
Content that the agent reads from then on raises the label again.`,
		Example: "  weir session declassify local/agent:42 --drop pii --why 'synthetic test data'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := app.NeedsReason(d.why); err != nil {
				return err
			}
			if len(drop) == 0 {
				return usage(cmd, errors.New("--drop is missing"))
			}
			return withLedger(cmd.Context(), env, *place, func(db *sqlstore.DB, l *ledger.Ledger) error {
				s, err := app.FindSession(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				dropped := app.LabelToDrop(s.Label, drop)
				question := "Take " + labelWords(dropped) + " out of the label of session " + plain.Text(s.Key, 120) + "?"
				if err := d.pass(cmd.Context(), env, "lower a label", question); err != nil {
					return err
				}
				e := app.UserEvent(env, record.Declassify, s, d.why)
				e.Label = &dropped
				changes, err := l.Lower(cmd.Context(), s.Key, dropped, e)
				if err != nil {
					return err
				}
				return printLowered(env, changes)
			})
		},
	}
	cmd.Flags().StringSliceVar(&drop, "drop", nil, "the part to take out: untrusted, private, malicious or a `CLASS`")
	d.flags(cmd, env, "drop it")
	return cmd
}

func printLowered(env *home.Env, changes []store.Rise) error {
	if len(changes) == 0 {
		_, err := fmt.Fprintln(env.Stdout, "nothing of that is in its label")
		return err
	}
	for _, c := range changes {
		if _, err := fmt.Fprintf(env.Stdout, "%s: %s\n", plain.Text(c.Key, 0), labelWords(c.After)); err != nil {
			return err
		}
	}
	return nil
}
