package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// days is the value of a flag that takes a number of days.
type days struct{ d *time.Duration }

func (v days) String() string {
	switch {
	case v.d == nil:
		return ""
	case *v.d == 0:
		return "forever"
	}
	return fmt.Sprintf("%dd", *v.d/(24*time.Hour))
}

func (v days) Type() string { return "DAYS" }

func (v days) Set(s string) (err error) {
	*v.d, err = config.ParseDays(s)
	return err
}

func newStatePrune(env *home.Env, place *string) *cobra.Command {
	r := config.NewDraft("").Config.Retention
	r.Events, r.Size = 0, 0 // events that a configuration keeps longer are not erased unasked
	var dry bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove sessions, events and content that are kept longer than retention says",
		Long: `Remove sessions, events and captured content that are kept longer than the flags say, whose defaults
are those of retention in weir.yaml but for events, and questions and labels of resources that have
expired. weir run and weir wrap do that by themselves, by their own configuration. The leaf of an event
stays: the log verifies as before, and an event of its own tells how many were erased.`,
		Example: "  weir state prune --events 365d --dry-run\n  weir state prune --events 365d --content 7d",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLedger(cmd.Context(), env, *place, func(_ *sqlstore.DB, l *ledger.Ledger) error {
				return pruneStore(cmd.Context(), env, l, r, dry)
			})
		},
	}
	cmd.Flags().Var(days{&r.Sessions}, "sessions", "keep a session so long after it was heard of last")
	cmd.Flags().Var(days{&r.Events}, "events", "keep events so long")
	cmd.Flags().Var(days{&r.Content}, "content", "keep captured content so long")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only count, and remove nothing")
	return cmd
}

func pruneStore(ctx context.Context, env *home.Env, l *ledger.Ledger, r config.Retention, dry bool) (err error) {
	var o ledger.Overdue
	verb := "would remove"
	if dry {
		if o, err = l.Overdue(ctx, app.RetentionOf(r), time.Now()); err == nil {
			err = o.Events.Left()
		}
	} else {
		verb = "removed"
		o, _, err = l.Prune(ctx, app.RetentionOf(r), time.Now())
	}
	if err != nil {
		return app.DeniedHint(err)
	}
	_, err = fmt.Fprintf(env.Stdout, "%s %d sessions, %d events and the content of %d\n", verb, o.Sessions, len(o.Events.Events),
		len(o.Events.Contents)+len(o.Content.Contents))
	return err
}
