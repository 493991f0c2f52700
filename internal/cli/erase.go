package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// An eraseFlags selects the events that weir audit erase erases.
type eraseFlags struct {
	deed
	session, principal, since, until string
	entry                            int64
	content                          bool
}

func newAuditErase(env *home.Env, place *string) *cobra.Command {
	var f eraseFlags
	cmd := &cobra.Command{
		Use:   "erase",
		Short: "Erase the events of a session, a principal or a span of time",
		Long: `Erase the events of an agent session and of all that descend from it, of a principal, or of a span of
time, with the captured arguments and results; with --content-only, those alone. The leaf of an event
stays in the log and says nothing: the log verifies, and proofs of other entries and of the leaf stay
valid. The sessions that are selected, with their labels and questions, are forgotten too, unless a
span of time is given.

Without --yes it reports the selected events, and erases nothing. The log keeps who erased how much and
why, and not whose it was. Files of --record and copies elsewhere are not touched.`,
		Example: "  weir audit erase --principal alice\n  weir audit erase --principal alice --yes --why 'her request of 3 May'\n" +
			"  weir audit erase --session local/agent:42 --content-only --yes --why 'not needed'",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.selection(cmd)
			if err != nil {
				return usage(cmd, err)
			}
			if err := f.check(); err != nil {
				return err
			}
			return withLedger(cmd.Context(), env, *place, func(_ *sqlstore.DB, l *ledger.Ledger) error {
				return eraseSelected(cmd.Context(), env, l, s, &f)
			})
		},
	}
	cmd.Flags().StringVar(&f.session, "session", "", "of this agent session, by its `KEY`")
	cmd.Flags().StringVar(&f.principal, "principal", "", "of this `PRINCIPAL`")
	cmd.Flags().StringVar(&f.since, "since", "", "from this `DAY` on, as 2026-11-21, or a time as 2026-11-21T10:00:00Z")
	cmd.Flags().StringVar(&f.until, "until", "", "before this `DAY` or time")
	cmd.Flags().Int64Var(&f.entry, "entry", -1, "the entry of this `NUMBER`")
	cmd.Flags().BoolVar(&f.content, "content-only", false, "erase captured content, and keep the events")
	f.flags(cmd, env, "erase them")
	return cmd
}

// selection returns the selection of the flags.
func (f *eraseFlags) selection(cmd *cobra.Command) (s ledger.Selection, err error) {
	s = ledger.Selection{Session: f.session, Principal: f.principal}
	if s.Since, err = parseDay("--since", f.since); err != nil {
		return s, err
	}
	if s.Until, err = parseDay("--until", f.until); err != nil {
		return s, err
	}
	if cmd.Flags().Changed("entry") {
		s.Entry = &f.entry
	}
	if s == (ledger.Selection{}) {
		return s, errors.New("nothing is selected: give --session, --principal, --since, --until or --entry")
	}
	return s, nil
}

// by names the criterion of the flags.
func (f *eraseFlags) by() string {
	switch {
	case f.session != "":
		return "session"
	case f.principal != "":
		return "principal"
	case f.entry >= 0:
		return "entry"
	}
	return "time"
}

// eraseSelected erases the selection, or prints it.
func eraseSelected(ctx context.Context, env *home.Env, l *ledger.Ledger, s ledger.Selection, f *eraseFlags) error {
	c, err := l.Select(ctx, s)
	if err != nil {
		return err
	}
	verb := "would erase"
	if f.wanted {
		if err := f.pass(ctx, env, "erase events", "Erase "+c.Figures(f.content)+"?"); err != nil {
			return err
		}
		ev := record.New(record.Erase, time.Now())
		ev.Rule, ev.Message, ev.Where = f.by(), f.why, env.Person()
		if err := l.Erase(ctx, c, f.content, ev); err != nil {
			return app.DeniedHint(err)
		}
		verb = "erased"
	}
	_, err = fmt.Fprintln(env.Stdout, verb, c.Figures(f.content))
	return errors.Join(err, c.Left())
}
