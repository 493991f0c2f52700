package cli

import (
	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
)

// A deed is something that a person has done with --yes alone, for a reason that the log keeps.
type deed struct {
	yes bool
	why string
}

// flags adds the flags of the deed. Yes is the help text of --yes.
func (d *deed) flags(cmd *cobra.Command, yes string) {
	cmd.Flags().BoolVar(&d.yes, "yes", false, yes)
	cmd.Flags().StringVar(&d.why, "why", "", "the `REASON`, for the log")
}

// check refuses a deed without a reason.
func (d *deed) check() error {
	if !d.yes {
		return nil
	}
	return app.NeedsReason(d.why)
}
