package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/trial"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// eventFlags name the place of recorded events, and a policy.
type eventFlags struct {
	store, record, policy string
}

func (f *eventFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.store, "store", "", "the `PLACE` of the log: a file or postgres://… (default state.db in\nweir's state directory)")
	cmd.Flags().StringVar(&f.record, "record", "", "read events from the record in this `FILE` instead")
	cmd.Flags().StringVar(&f.policy, "policy", "",
		"the policy in this `FILE`, or the profile of that name (default that of the\nconfiguration here, or the built-in one)")
	cmd.MarkFlagsMutuallyExclusive("store", "record")
}

// decisions calls do with the recorded decisions, the oldest first.
func decisions(ctx context.Context, env *home.Env, f *eventFlags, do func(iter.Seq2[*record.Event, error]) error) error {
	return events(ctx, env, f, record.Decision, do)
}

// events calls do with the recorded events of a kind, or of all kinds if that is "", the oldest first.
func events(ctx context.Context, env *home.Env, f *eventFlags, kind record.Kind, do func(iter.Seq2[*record.Event, error]) error) error {
	if f.record != "" {
		file, err := os.Open(f.record)
		if err != nil {
			return remedy.Usage(fmt.Errorf("reading the record: %w", err), "")
		}
		return errors.Join(do(recorded(file)), file.Close())
	}
	return readStore(ctx, env, f.store, func(db *sqlstore.DB, _ string) error {
		return do(func(yield func(*record.Event, error) bool) {
			for row, err := range db.Log().Rows(ctx, audit.Query{Kind: string(kind)}) {
				if err == nil && row.Erased() {
					continue
				}
				var event *record.Event
				if err == nil {
					event, err = trial.ReadEvent(row.Body)
				}
				if !yield(event, err) || err != nil {
					return
				}
			}
		})
	})
}

// maxEvent is how long a line of a record may be.
const maxEvent = 16 << 20

// recorded returns the events in a record. A line that a crash tore is passed over.
func recorded(file *os.File) iter.Seq2[*record.Event, error] {
	return func(yield func(*record.Event, error) bool) {
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, maxEvent)
		for lines.Scan() {
			e, err := trial.ReadEvent(lines.Bytes())
			if err != nil {
				continue
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, fmt.Errorf("reading the record: %w", err))
		}
	}
}

// policyOf returns the policy at path or of that name; for "" that of the configuration in the working directory, or
// the built-in one.
func policyOf(env *home.Env, path string) (*policy.Policy, error) {
	if path != "" {
		return setup.LoadPolicy(path)
	}
	if _, err := setup.Find(); err != nil {
		return policy.Default(), nil // nothing is configured here
	}
	s, err := setup.Load(env, "", "")
	if err != nil {
		return nil, err
	}
	return s.Policy(), nil
}
