package replay

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
)

// maxFindings is how many findings a report holds; of more, it holds the first.
const maxFindings = 100

// Kept is a log with the state beside it, both as they are at one time.
type Kept interface {
	audit.Storage

	// State iterates over the rows of the state, in no order.
	State(ctx context.Context) iter.Seq2[record.Kept, error]
}

// A Report is the result of [Verify].
type Report struct {
	Proved   bool      `json:"proved"` // the log tells of the state: else an older version wrote both
	Rows     int       `json:"rows"`   // that are there
	Findings []Finding `json:"findings,omitempty"`
	More     int       `json:"more,omitempty"` // findings beyond those
}

// OK reports whether nothing is wrong.
func (r *Report) OK() bool { return len(r.Findings) == 0 }

// Verify compares the state with the log's proof, and empty entries with the erasures in the log. Rows that have
// expired by the time now may be missing.
func Verify(ctx context.Context, kept Kept, now time.Time) (*Report, error) {
	f, err := Read(ctx, kept)
	if err != nil {
		return nil, err
	}
	report := &Report{Proved: f.Proves}
	if f.Proves {
		if err := f.compare(ctx, kept, report, now.UnixMicro()); err != nil {
			return nil, err
		}
	}
	if n := len(f.Findings) - maxFindings; n > 0 {
		f.Findings, report.More = f.Findings[:maxFindings], n
	}
	report.Findings = f.Findings
	return report, nil
}

// Read returns the fold of a log.
func Read(ctx context.Context, log audit.Storage) (*Fold, error) {
	f := New()
	for row, err := range log.Rows(ctx, audit.Query{}) {
		if err != nil {
			return nil, fmt.Errorf("reading the log: %w", err)
		}
		f.Add(&row)
	}
	return f, nil
}

func (f *Fold) compare(ctx context.Context, kept Kept, report *Report, now int64) error {
	for _, run := range f.unnamed() {
		f.find(Finding{Entry: run[0], What: fmt.Sprintf("%d entries from here on are empty, and no erasure names them", run[1]-run[0]+1)})
	}
	different, rows, err := f.Differences(ctx, kept, now)
	report.Rows = rows
	for _, d := range different {
		f.find(d.Finding)
	}
	return err
}

// A Difference is a row that is not as the log proves.
type Difference struct {
	Finding
	Row record.Kept // as the log proves it; as it is there, if the log does not know it
}

// Differences returns all rows that are not as the log proves, and how many rows there are. Those that expire may be
// missing once they have, by the time now, in microseconds since 1970.
func (f *Fold) Differences(ctx context.Context, kept Kept, now int64) (different []Difference, rows int, err error) {
	there := map[id]bool{}
	for row, err := range kept.State(ctx) {
		if err != nil {
			return nil, rows, fmt.Errorf("reading the state: %w", err)
		}
		rows++
		name := id{row.Table, row.Key}
		there[name] = true
		if what, entry := f.differs(&row); what != "" {
			if proved, ok := f.rows[name]; ok {
				row = proved.Kept
			}
			different = append(different, Difference{Finding{row.Table, row.Key, entry, what}, row})
		}
	}
	for row := range f.Rows() {
		if !there[id{row.Table, row.Key}] && (row.Expires == 0 || row.Expires > now) {
			different = append(different, Difference{Finding{row.Table, row.Key, row.Entry, "it is missing"}, row.Kept})
		}
	}
	return different, rows, nil
}

// differs returns how a row is not as the log proves, and the entry that does; "" if it is.
func (f *Fold) differs(row *record.Kept) (what string, entry int64) {
	proved, ok := f.rows[id{row.Table, row.Key}]
	switch {
	case !ok:
		return "nothing in the log tells of it", -1
	case proved.Gone != "":
		return "it was removed (" + proved.Gone + "), and is there", proved.Entry
	case row.Table == record.SessionTable && !row.Label.Covers(proved.Label):
		return "its label is lower than it was written", proved.Entry
	case !row.Same(&proved.Kept):
		return "it is not as it was written last", proved.Entry
	}
	if told, ok := f.counted[row.Key]; ok && row.Calls != nil && *row.Calls != told.n {
		return fmt.Sprintf("it has %d calls, and the log tells of %d", *row.Calls, told.n), told.seq
	}
	return "", 0
}
