package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// pruneEvery is the time between two runs of retention.
const pruneEvery = time.Hour

// ownerErases says who erases entries that Weir's own role in a database may not.
const ownerErases = "the owner of the tables erases entries: weir state prune --events DAYS or weir audit erase, " +
	"with --store postgres://OWNER@HOST/DATABASE"

// DeniedHint gives an error of erasing a remedy if the role of the database may not.
func DeniedHint(err error) error {
	if errors.Is(err, sqlstore.ErrDenied) {
		return remedy.Failure(err, ownerErases)
	}
	return err
}

// RetentionOf returns how long things are kept, as a ledger takes it.
func RetentionOf(r config.Retention) ledger.Retention {
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
	_, _, err := l.Prune(ctx, RetentionOf(r), now)
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

// pruneNotes removes the notes on conversations of old sessions.
func pruneNotes(env *home.Env, r config.Retention, now time.Time) error {
	if r.Sessions == 0 {
		return nil
	}
	before := now.Add(-r.Sessions)
	return errors.Join(env.Conversations().Prune(before), env.Begun().Prune(before))
}

// closer closes by a function.
type closer func() error

func (c closer) Close() error { return c() }

// keepPruned runs retention now and each hour, until it is closed. No call waits for it.
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
