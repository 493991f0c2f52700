package sqlstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// BenchmarkChange writes as a call does that may change something, from one caller and from sixteen: it looks for an
// acceptance, and writes its event, durably, with the events of the results before it and the number of calls. It tells
// quantiles too, and the CPU of all.
func BenchmarkChange(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) { benchmarkChange(b, callers) })
	}
}

func benchmarkChange(b *testing.B, callers int) {
	a, err := audit.OpenAnchor(filepath.Join(b.TempDir(), "anchor"), "example.com/weir", nil)
	if err != nil {
		b.Fatal(err)
	}
	db := open(b, file(b), &sqlstore.Options{Anchor: a, Linger: time.Hour})
	begin(b, db, "s")
	var calls, results []audit.Entry
	for range 64 {
		calls, results = append(calls, eventOf(b, "call")), append(results, eventOf(b, "result"))
	}
	took := make([]time.Duration, b.N)
	b.ReportAllocs()
	before := processor(b)
	parallel(b, callers, b.N, func(_, i int) error {
		began := time.Now()
		on, err := db.Get(b.Context(), "s")
		_, asked := db.Redeem(b.Context(), strconv.Itoa(i))
		_, decided := db.Decided(b.Context(), on, true, calls[i%64])
		err = errors.Join(err, asked, decided, db.Defer(b.Context(), results[i%64]))
		took[i] = time.Since(began)
		return err
	})
	b.StopTimer()
	b.ReportMetric(float64((processor(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
	slices.Sort(took)
	b.ReportMetric(float64(took[b.N/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[b.N*99/100].Nanoseconds()), "p99-ns")
}

func eventOf(b *testing.B, phase string) audit.Entry {
	e := record.New(record.Decision, time.Now())
	e.Session, e.Principal, e.Call, e.Server, e.Method, e.Name = "s", "alice", e.ID, "notes", "tools/call", "create_note"
	e.Phase, e.Effect, e.Rule = phase, "allow", "default"
	e.Facts = json.RawMessage(fmt.Sprintf(`{"server.trust":"known","session.calls":%d,"call.hasArguments":true}`, time.Now().Nanosecond()))
	body, err := new(record.Encoder).Encode(e)
	if err != nil {
		b.Fatal(err)
	}
	return audit.Entry{Time: e.Time, Chain: "s", Kind: string(e.Kind), Subject: "notes/create_note", Outcome: "allow", Body: body}
}

// processor returns the CPU that this process has taken.
func processor(b *testing.B) time.Duration {
	var used syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
