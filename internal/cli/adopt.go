package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newAuditAdopt(env *home.Env, place *string) *cobra.Command {
	var d deed
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Go on with a log that does not extend its anchor",
		Long: `Take over a log that weir refuses because it does not extend its anchor: after the database went back
to an earlier state, lost its newest transactions, or was moved in from elsewhere. The log has to have a
checkpoint of its key, and its head a seal of its anchor, or none; or neither a checkpoint nor a seal, as
when the first weir on it was killed within a second. From then on the log as it is counts as the right
one: missing entries stay missing, and weir audit verify still reports changed ones. The log keeps that
it was taken over, and why; checkpoints that were published elsewhere still tell. End every weir on the
store first.

Without --yes it verifies the log, and changes nothing.`,
		Example: "  weir audit adopt\n  weir audit adopt --yes --why 'the disk was restored from a snapshot'",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := d.check(); err != nil {
				return err
			}
			return withStore(cmd.Context(), env, *place, func(db *sqlstore.DB, target string) error {
				return adopt(cmd.Context(), env, db, target, &d)
			})
		},
	}
	d.flags(cmd, env, "take the log over")
	return cmd
}

// adopt verifies a log and, if the person says so, makes it as it is the one of its anchor.
func adopt(ctx context.Context, env *home.Env, db *sqlstore.DB, target string, d *deed) error {
	own, err := app.ReadAnchor(env, target)
	if err != nil {
		return err
	}
	if own == nil {
		return remedy.Usage(errors.New("the log has no anchor"), "move the anchor, or its key, to where weir state says that it is")
	}
	report, err := audit.Verify(ctx, db.Log(), audit.VerifyOptions{Anchor: own})
	if err != nil {
		return err
	}
	state, err := verifyState(ctx, db)
	if err != nil {
		return err
	}
	writeVerified(env, report, state)
	if !d.wanted {
		return nil
	}
	if err := d.pass(ctx, env, "take a log over", "Take the log over as it is?"); err != nil {
		return err
	}
	fresh, err := audit.WithSeal(own.Key(), own.SealKey())
	if err != nil {
		return err
	}
	if err := audit.Adopt(ctx, db.Log(), fresh); err != nil {
		return remedy.Failure(err, "see weir audit verify; what is damaged cannot be signed")
	}
	if err := takeOver(ctx, env, db, fresh, fmt.Sprintf("a log of %d entries: %s", report.Size, d.why)); err != nil {
		return err
	}
	return fresh.Replace(own.Dir())
}
