package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/replay"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newStateRebuild(env *home.Env, place *string) *cobra.Command {
	var d deed
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Restore the state from the log",
		Long: `Compare agent sessions, labels of resources and approval requests with the log, and print the rows
that differ. With --yes, write each row that differs as the log has it, and remove rows that the log
does not know. The log has to verify: a damaged log proves nothing. An approval request whose text is
lost is removed, as nobody could tell which call it was for. An event of the log says that it was done.
The ends of the log's chains, and the hashes of them that the seal covers, are written as the log has
them too.`,
		Example: "  weir state rebuild\n  weir state rebuild --yes --why 'restored after a disk error'",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := d.check(); err != nil {
				return err
			}
			if d.wanted {
				if err := d.pass(cmd.Context(), env, "rebuild the state", "Write the rows that differ from the log as it has them?"); err != nil {
					return err
				}
				if err := rebuildEnds(cmd.Context(), env, *place); err != nil {
					return err
				}
			}
			var different []replay.Difference
			err := readStore(cmd.Context(), env, *place, func(db *sqlstore.DB, target string) (err error) {
				different, err = stateDifferences(cmd.Context(), env, db, target)
				return err
			})
			if err != nil {
				return err
			}
			for _, row := range different {
				fmt.Fprintf(env.Stdout, "%s %s: %s\n", row.Table, plain.Text(row.Key, 200), plain.Text(row.What, 0))
			}
			if !d.wanted || len(different) == 0 {
				_, err := fmt.Fprintf(env.Stdout, "%d rows differ from the log\n", len(different))
				return err
			}
			return withLedger(cmd.Context(), env, *place, func(db *sqlstore.DB, _ *ledger.Ledger) error {
				return rebuildState(cmd.Context(), env, db, different, d.why)
			})
		},
	}
	d.flags(cmd, env, "write the rows that differ")
	return cmd
}

// rebuildEnds writes the ends of the chains as the log has them.
func rebuildEnds(ctx context.Context, env *home.Env, place string) error {
	return withAnchor(ctx, env, place, func(db *sqlstore.DB, _ *audit.Anchor) error {
		changed, err := db.RebuildEnds(ctx)
		if errors.Is(err, audit.ErrDamaged) {
			return remedy.Failure(err, "see weir audit verify: only a log that verifies can prove the state")
		}
		if err == nil && changed > 0 {
			_, err = fmt.Fprintf(env.Stdout, "%d rows of the ends of chains written\n", changed)
		}
		return err
	})
}

// stateDifferences returns the rows that differ from a log that verifies.
func stateDifferences(ctx context.Context, env *home.Env, db *sqlstore.DB, target string) (different []replay.Difference, err error) {
	opts, err := verifyOptions(env, target, "", false)
	if err != nil {
		return nil, err
	}
	report, err := audit.Verify(ctx, db.Log(), opts)
	if err != nil {
		return nil, err
	}
	if report.Result() != audit.OK {
		return nil, remedy.Failure(audit.ErrDamaged,
			"see weir audit verify: only a log that verifies can prove the state; weir state restore takes a backup")
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

func rebuildState(ctx context.Context, env *home.Env, db *sqlstore.DB, different []replay.Difference, why string) error {
	names := make([]record.Kept, len(different))
	for i := range different {
		names[i] = different[i].Row
	}
	done, err := db.Rebuild(ctx, names, func(done sqlstore.Rebuilt) (audit.Entry, error) {
		ev := record.New(record.Restore, time.Now())
		ev.Rule, ev.Where = "rebuild", env.Person()
		ev.Message = fmt.Sprintf("%s (%d rows of the state written as the log proves them, %d removed)", why, done.Written, done.Removed)
		body, err := json.Marshal(ev)
		return audit.Entry{Time: ev.Time, Kind: string(ev.Kind), Body: body}, err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "%d rows written, %d removed\n", done.Written, done.Removed)
	return err
}
