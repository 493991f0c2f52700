package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newState(env *home.Env) *cobra.Command {
	var place string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "state",
		Short:   "Show the places and sizes of the state",
		Long:    "Show the places of the state, its size, and the number of rows of each kind.",
		Example: "  weir state\n  weir state --store postgres://weir@db.example.com/weir --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return readStore(cmd.Context(), env, place, func(db *sqlstore.DB, target string) error {
				usage, err := db.Usage(cmd.Context())
				if err != nil {
					return err
				}
				r := stateReport{Kind: db.Kind(), Store: app.ShowTarget(target), Usage: usage}
				if r.Anchor, err = env.AnchorDir(target); err != nil {
					return err
				}
				if r.CaptureKey, err = env.CapturePath(target); err != nil {
					return err
				}
				if _, err := os.Stat(r.CaptureKey); err != nil {
					r.CaptureKey = ""
				}
				if asJSON {
					return writeJSON(env.Stdout, r)
				}
				return printState(env, r)
			})
		},
	}
	cmd.PersistentFlags().StringVar(&place, "store", "", "the `PLACE`: a file or postgres://… (default state.db in weir's state\ndirectory)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	cmd.AddCommand(newStateBackup(env, &place), newStateRestore(env, &place), newStatePrune(env, &place), newStateRebuild(env, &place),
		newStateInit(env, &place))
	return cmd
}

// A stateReport is the report of weir state.
type stateReport struct {
	Kind       string         `json:"kind"`
	Store      string         `json:"store"`
	Anchor     string         `json:"anchor"`                // the directory of the log's key and last checkpoint
	CaptureKey string         `json:"capture_key,omitempty"` // if there is one beside the store
	Usage      sqlstore.Usage `json:"usage"`
}

func printState(env *home.Env, r stateReport) error {
	u := r.Usage
	capture := "none"
	if r.CaptureKey != "" {
		capture = plain.Text(r.CaptureKey, 0)
	}
	_, err := fmt.Fprintf(env.Stdout, `store     %s, %d bytes
anchor    %s
content   %s, the key of what was captured
schema    %d
sessions  %d
questions %d
pins      %d
labels    %d, of resources
entries   %d, the oldest of %s
captured  content of %d events, %d bytes
hidden    %d values of sessions, %d bytes
`, plain.Text(r.Store, 0), u.Bytes, plain.Text(r.Anchor, 0), capture, u.Schema,
		u.Sessions, u.Questions, u.Pins, u.Taints, u.Entries, firstOf(u), u.Captured, u.Beside, u.Hidden, u.Sealed)
	return err
}

func firstOf(u sqlstore.Usage) string {
	if u.First.IsZero() {
		return "never"
	}
	return u.First.Format(time.RFC3339)
}
