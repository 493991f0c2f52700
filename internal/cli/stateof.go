package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newState(env *Env) *cobra.Command {
	var place string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "state",
		Short:   "Say what is kept where, and how much",
		Long:    "Say where state is kept, how large it is, and how much of what is in it.",
		Example: "  weir state\n  weir state --store postgres://weir@db.example.com/weir --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withStore(cmd.Context(), place, func(db *sqlstore.DB, target string) error {
				usage, err := db.Usage(cmd.Context())
				if err != nil {
					return err
				}
				key, err := env.keyPath(target)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(env.Stdout, stateReport{db.Kind(), showTarget(target), key, usage})
				}
				return env.printState(stateReport{db.Kind(), showTarget(target), key, usage})
			})
		},
	}
	cmd.PersistentFlags().StringVar(&place, "store", "", "the `PLACE`: a file or postgres://… (default state.db in weir's state\ndirectory)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	cmd.AddCommand(newStatePrune(env, &place))
	return cmd
}

// A stateReport is what weir state says.
type stateReport struct {
	Kind  string         `json:"kind"`
	Store string         `json:"store"`
	Key   string         `json:"key"`
	Usage sqlstore.Usage `json:"usage"`
}

func (e *Env) printState(r stateReport) error {
	u := r.Usage
	_, err := fmt.Fprintf(e.Stdout, `store     %s, %d bytes
key       %s
schema    %d
sessions  %d
entries   %d, the oldest of %s
`, plain.Text(r.Store, 0), u.Bytes, plain.Text(r.Key, 0), u.Schema, u.Sessions, u.Entries, firstOf(u))
	return err
}

func firstOf(u sqlstore.Usage) string {
	if u.First.IsZero() {
		return "never"
	}
	return u.First.Format(time.RFC3339)
}
