package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// pruneEvery is how often what is kept too long is looked for.
const pruneEvery = time.Hour

// ownerErases says who erases entries that Weir's own role in a database may not.
const ownerErases = "the owner of the tables erases entries: weir state prune --events DAYS or weir audit erase, with --store postgres://OWNER@HOST/DATABASE"

// deniedHint gives an error of erasing a remedy if the role of the database may not.
func deniedHint(err error) error {
	if errors.Is(err, sqlstore.ErrDenied) {
		return remedy.Failure(err, ownerErases)
	}
	return err
}

// exceptDenied returns the error of retention, unless it is that the role of the database may not erase events: that is told once.
func (o *stateOpener) exceptDenied(err error) error {
	if !errors.Is(err, sqlstore.ErrDenied) {
		return err
	}
	if !o.denied {
		o.log.Warn("events are kept longer than retention says", "error", err, "hint", ownerErases)
	}
	o.denied = true
	return nil
}

// retentionOf returns how long things are kept, as a ledger takes it.
func retentionOf(r config.Retention) ledger.Retention {
	return ledger.Retention{Sessions: r.Sessions, Events: r.Events, Content: r.Content, Bytes: r.Size}
}

// keepLabels returns how long resources keep labels.
func keepLabels(r config.Retention) time.Duration {
	if r.Labels == 0 {
		return session.KeepForever
	}
	return r.Labels
}

func pruneAll(ctx context.Context, l *ledger.Ledger, r config.Retention, now time.Time) error {
	_, _, err := l.Prune(ctx, retentionOf(r), now)
	return err
}

// expireOnly removes old sessions where there is no log.
func expireOnly(ctx context.Context, db *sqlstore.DB, r config.Retention, now time.Time) error {
	var seen time.Time
	if r.Sessions > 0 {
		seen = now.Add(-r.Sessions)
	}
	_, err := db.Expire(ctx, seen)
	return err
}

// pruneNotes removes what is known of the conversations of old sessions.
func (e *Env) pruneNotes(r config.Retention, now time.Time) error {
	if r.Sessions == 0 {
		return nil
	}
	return e.conversations().Prune(now.Add(-r.Sessions))
}

// closer closes by a function.
type closer func() error

func (c closer) Close() error { return c() }

// keepPruned has what is kept too long removed, now and each hour, until it is closed. No call waits for it.
func keepPruned(ctx context.Context, prune func(context.Context, time.Time) error, log *slog.Logger) io.Closer {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticks := time.NewTicker(pruneEvery)
		defer ticks.Stop()
		for {
			if err := prune(ctx, time.Now()); err != nil && ctx.Err() == nil {
				log.Error("what is kept too long was not removed", "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
		}
	}()
	return closer(func() error { cancel(); <-done; return nil })
}

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

func newStatePrune(env *Env, place *string) *cobra.Command {
	r := config.NewDraft("").Config.Retention
	r.Events, r.Size = 0, 0 // what a configuration keeps longer is not erased unasked
	var dry bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove what is kept longer than retention says",
		Long: `Remove sessions, events and captured content that are kept longer than the flags say, whose defaults
are those of retention in weir.yaml but for events, and questions and labels of resources that have expired. weir
run and weir wrap do that by themselves, by their own configuration. What is left of an event is its
leaf: the log verifies as before, and an event of its own tells how many were erased.`,
		Example: "  weir state prune --events 365d --dry-run\n  weir state prune --events 365d --content 7d",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withLedger(cmd.Context(), *place, func(_ *sqlstore.DB, l *ledger.Ledger) error {
				return env.prune(cmd.Context(), l, r, dry)
			})
		},
	}
	cmd.Flags().Var(days{&r.Sessions}, "sessions", "keep a session so long after it was heard of last")
	cmd.Flags().Var(days{&r.Events}, "events", "keep events so long")
	cmd.Flags().Var(days{&r.Content}, "content", "keep captured content so long")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be removed, and remove nothing")
	return cmd
}

func (e *Env) prune(ctx context.Context, l *ledger.Ledger, r config.Retention, dry bool) (err error) {
	var o ledger.Overdue
	verb := "would remove"
	if dry {
		o, err = l.Overdue(ctx, retentionOf(r), time.Now())
	} else {
		verb = "removed"
		o, _, err = l.Prune(ctx, retentionOf(r), time.Now())
	}
	if err != nil {
		return deniedHint(err)
	}
	_, err = fmt.Fprintf(e.Stdout, "%s %d sessions, %d events and the content of %d\n", verb, o.Sessions, len(o.Events.Events),
		len(o.Events.Contents)+len(o.Content.Contents))
	return err
}
