package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/replay"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// verifyState compares the state of a store with its log, both as they are at one time.
func verifyState(ctx context.Context, db *sqlstore.DB) (report *replay.Report, err error) {
	err = db.Log().Snapshot(ctx, func(st audit.Store) error {
		kept, ok := st.(replay.Kept)
		if !ok {
			return errors.New("this store shows no state")
		}
		report, err = replay.Verify(ctx, kept, time.Now())
		return err
	})
	return report, err
}

// printStateReport prints the rows of the state that differ from the log.
func printStateReport(w io.Writer, r *replay.Report) {
	if !r.Proved {
		fmt.Fprintln(w, "state: the log proves none: there is none yet, or an older version wrote it and weir run takes it over")
	} else {
		fmt.Fprintf(w, "%d rows of the state compared with the log\n", r.Rows)
	}
	for _, f := range r.Findings {
		where := "state"
		if f.Table != "" {
			where = f.Table + " " + plain.Text(f.Key, 200)
		}
		by := ""
		if f.Entry >= 0 {
			by = fmt.Sprintf(" (entry %d)", f.Entry)
		}
		fmt.Fprintf(w, "%s: %s%s\n", where, plain.Text(f.What, 0), by)
	}
	if r.More > 0 {
		fmt.Fprintf(w, "and %d more\n", r.More)
	}
}
