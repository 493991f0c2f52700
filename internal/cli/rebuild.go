package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/replay"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newStateRebuild(env *Env, place *string) *cobra.Command {
	var d deed
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Restore the state from the log",
		Long: `Compare agent sessions, labels of resources and approval requests with what the log proves of them,
and say what differs. With --yes, write each row that differs as the log has it, and remove rows
that the log does not know. The log has to verify: what is wrong with it cannot prove anything. An
approval request whose text is lost is removed, as nobody could tell what it was about. An event of
the log says that it was done. The ends of the log's chains, and the hashes of them that the seal
covers, are written as the log has them too.`,
		Example: "  weir state rebuild\n  weir state rebuild --yes --why 'restored after a disk error'",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := d.check(); err != nil {
				return err
			}
			if d.yes {
				if err := env.rebuildEnds(cmd.Context(), *place); err != nil {
					return err
				}
			}
			var different []replay.Difference
			err := env.readStore(cmd.Context(), *place, func(db *sqlstore.DB, target string) (err error) {
				different, err = env.differences(cmd.Context(), db, target)
				return err
			})
			if err != nil {
				return err
			}
			for _, row := range different {
				fmt.Fprintf(env.Stdout, "%s %s: %s\n", row.Table, plain.Text(row.Key, 200), plain.Text(row.What, 0))
			}
			if !d.yes || len(different) == 0 {
				_, err := fmt.Fprintf(env.Stdout, "%d rows differ from the log\n", len(different))
				return err
			}
			return env.withLedger(cmd.Context(), *place, func(db *sqlstore.DB, _ *ledger.Ledger) error {
				return env.rebuild(cmd.Context(), db, different, d.why)
			})
		},
	}
	d.flags(cmd, "do it; without, only say what differs")
	return cmd
}

// rowHint says how to go on with rows of the state that the log does not prove.
const rowHint = "see weir audit verify and weir state rebuild"

// rebuildEnds writes the ends of the chains as the log has them.
func (e *Env) rebuildEnds(ctx context.Context, place string) error {
	return e.withAnchor(ctx, place, func(db *sqlstore.DB, _ *audit.Anchor) error {
		changed, err := db.RebuildEnds(ctx)
		if errors.Is(err, audit.ErrDamaged) {
			return remedy.Failure(err, "see weir audit verify: only a log that verifies can prove the state")
		}
		if err == nil && changed > 0 {
			_, err = fmt.Fprintf(e.Stdout, "%d rows of the ends of chains written\n", changed)
		}
		return err
	})
}

// tellingDamage returns what is told of rows that are not as the log proves.
func tellingDamage(log *slog.Logger) func(error) {
	return func(err error) {
		log.Error("the state is not what the log proves; calls that need it are refused", "error", err, "hint", rowHint)
	}
}

// differences returns the rows that differ from a log that verifies.
func (e *Env) differences(ctx context.Context, db *sqlstore.DB, target string) (different []replay.Difference, err error) {
	opts, err := e.verifyOptions(target, "", false)
	if err != nil {
		return nil, err
	}
	report, err := audit.Verify(ctx, db.Log(), opts)
	if err != nil {
		return nil, err
	}
	if report.Result() != audit.OK {
		return nil, remedy.Failure(audit.ErrDamaged, "see weir audit verify: only a log that verifies can prove the state; weir state restore takes a backup")
	}
	err = db.Log().Snapshot(ctx, func(st audit.Store) error {
		kept, ok := st.(replay.Kept)
		if !ok {
			return errors.New("this store shows no state")
		}
		fold, err := replay.Read(ctx, kept)
		if err != nil {
			return err
		}
		if err := fold.Sound(); err != nil {
			return remedy.Failure(err, "see weir audit verify: only a log that verifies can prove the state")
		}
		different, _, err = fold.Differences(ctx, kept, time.Now().UnixMicro())
		return err
	})
	return different, err
}

func (e *Env) rebuild(ctx context.Context, db *sqlstore.DB, different []replay.Difference, why string) error {
	names := make([]record.Kept, len(different))
	for i := range different {
		names[i] = different[i].Row
	}
	done, err := db.Rebuild(ctx, names, func(done sqlstore.Rebuilt) (audit.Entry, error) {
		ev := record.New(record.Restore, time.Now())
		ev.Rule, ev.Where = "rebuild", e.person()
		ev.Message = fmt.Sprintf("%s (%d rows of the state written as the log proves them, %d removed)", why, done.Written, done.Removed)
		body, err := json.Marshal(ev)
		return audit.Entry{Time: ev.Time, Kind: string(ev.Kind), Body: body}, err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "%d rows written, %d removed\n", done.Written, done.Removed)
	return err
}
