package ledger_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/record"
)

// A store that is larger than it may be loses its oldest events, but none of the last week, and the log tells which.
func TestSizeIsKept(t *testing.T) {
	r := newRig(t, time.Millisecond, nil)
	now, day := time.Now(), 24*time.Hour
	const days, each = 40, 60
	for d := range days {
		for i := range each {
			e := record.New(record.Decision, now.Add(time.Duration(d-days)*day))
			e.Name, e.Effect, e.Message = fmt.Sprint(d), "allow", fmt.Sprint(i, strings.Join([]string{rand.Text(), rand.Text(), rand.Text(), rand.Text(), rand.Text(), rand.Text(), rand.Text(), rand.Text(), rand.Text()}, ""))
			if err := r.ledger.Later(t.Context(), func() *record.Event { return e }); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.db.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := r.used()
	for _, c := range []struct {
		most        int64
		least, last int // how many days are kept, at least and at most
	}{{before + 1, days, days}, {before * 3 / 4, days / 2, days * 3 / 4}, {1, 7, 8}} {
		if _, _, err := r.ledger.Prune(t.Context(), ledger.Retention{Bytes: c.most}, now); err != nil {
			t.Fatal(err)
		}
		kept := map[string]int{}
		for _, e := range r.left() {
			if e.Kind == record.Decision {
				kept[e.Name]++
			}
		}
		if len(kept) < c.least || len(kept) > c.last || kept[fmt.Sprint(days-1)] != each || kept[fmt.Sprint(days-7)] != each {
			t.Errorf("of %d bytes, %d may be used: %d days are kept, %d to %d should be: %v", before, c.most, len(kept), c.least, c.last, kept)
		}
	}
	if after := r.used(); after >= before*3/4 {
		t.Errorf("%d bytes are used, before %d", after, before)
	}
	told, named := 0, int64(0)
	for _, e := range r.left() {
		if e.Kind != record.Erase || e.Rule != "retention" {
			continue
		}
		ranges, err := record.ParseRanges(e.Binding)
		if told++; err != nil || len(ranges) == 0 {
			t.Errorf("an erasure of %q, %v", e.Binding, err)
		}
		for _, run := range ranges {
			named += run[1] - run[0] + 1
		}
	}
	if told < 2 || named != r.erased() {
		t.Errorf("%d events tell of erasures of %d entries, and %d are erased", told, named, r.erased())
	}
	r.verifies(t)
}

// left returns the events that are not erased.
func (r *rig) left() (out []record.Event) {
	for row, err := range r.db.Log().Rows(r.Context(), audit.Query{}) {
		if err != nil {
			r.Fatal(err)
		}
		if row.Erased() {
			continue
		}
		var e record.Event
		if err := json.Unmarshal(row.Body, &e); err != nil {
			r.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func (r *rig) erased() (n int64) {
	for row, err := range r.db.Log().Rows(r.Context(), audit.Query{}) {
		if err != nil {
			r.Fatal(err)
		}
		if row.Erased() {
			n++
		}
	}
	return n
}

func (r *rig) used() int64 {
	n, known, err := r.db.Used(r.Context())
	if err != nil || !known {
		r.Fatal(n, known, err)
	}
	return n
}

func (r *rig) verifies(t *testing.T) {
	t.Helper()
	report, err := audit.Verify(t.Context(), r.db.Log(), audit.VerifyOptions{Key: r.ledger.Log().Key().Verifier()})
	if err != nil || len(report.Findings) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}
