package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newLabels(env *home.Env) *cobra.Command {
	var place string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "labels [RESOURCE]",
		Short: "Show the labels of resources that agents wrote to",
		Long: `When a call writes to a resource that an overlay names, a file, a row or a page, the resource gets the
label of its session, and so does each session that reads it back. Show these labels, of a resource and
all below it, or all.`,
		Example: "  weir labels\n  weir labels file:///home/ann/notes\n  weir labels clear file:///home/ann/notes --why 'reviewed'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return readStore(cmd.Context(), env, place, func(db *sqlstore.DB, _ string) error {
				all := []taintReport{}
				for t, err := range db.Tainting(cmd.Context(), strings.Join(args, "")) {
					if err != nil {
						return err
					}
					all = append(all, taintReport{t.Resource, t.Label, t.Written, t.Expires})
				}
				if asJSON {
					return writeJSON(env.Stdout, map[string]any{"labels": all})
				}
				return printTaints(env, all)
			})
		},
	}
	cmd.PersistentFlags().StringVar(&place, "store", "", "the store at this `PLACE` (default state.db in weir's state directory)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the labels as JSON")
	cmd.AddCommand(newLabelsClear(env, &place))
	return cmd
}

// A taintReport is the JSON form of the label of a resource.
type taintReport struct {
	Resource string      `json:"resource"`
	Label    label.Label `json:"label"`
	Written  time.Time   `json:"written"`
	Expires  time.Time   `json:"expires,omitzero"`
}

func printTaints(env *home.Env, all []taintReport) error {
	var b strings.Builder
	for _, t := range all {
		fmt.Fprintf(&b, "%s: %s, written %s\n", plain.Text(t.Resource, 200), labelWords(t.Label), app.Moment(t.Written, time.Now()))
	}
	if len(all) == 0 {
		b.WriteString("no resource has a label\n")
	}
	_, err := env.Stdout.Write([]byte(b.String()))
	return err
}

func newLabelsClear(env *home.Env, place *string) *cobra.Command {
	var d deed
	cmd := &cobra.Command{
		Use:     "clear RESOURCE --why REASON",
		Short:   "Forget the labels of a resource and of all below it",
		Long:    "Forget the labels of a resource and of all below it: whoever reads it gets no label from there any more.",
		Example: "  weir labels clear file:///home/ann/notes --why 'reviewed'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := app.NeedsReason(d.why); err != nil {
				return err
			}
			if strings.Trim(args[0], "/") == "" {
				return usage(cmd, errors.New("RESOURCE names everything"))
			}
			return withLedger(cmd.Context(), env, *place, func(db *sqlstore.DB, l *ledger.Ledger) error {
				if err := d.pass(cmd.Context(), env, "clear labels", "Forget the labels of "+plain.Text(args[0], 200)+" and of all below it?"); err != nil {
					return err
				}
				e := record.New(record.Declassify, time.Now())
				e.Name, e.Message, e.Where = args[0], d.why, env.Person()
				if err := l.Record(cmd.Context(), e); err != nil {
					return err
				}
				n, err := db.Clear(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(env.Stdout, "cleared %d\n", n)
				return err
			})
		},
	}
	d.flags(cmd, env, "clear them")
	return cmd
}
