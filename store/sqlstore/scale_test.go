package sqlstore_test

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

var (
	scaleEntries  = flag.Int("scale.entries", 20_000, "how many entries the log of BenchmarkLargeLog has")
	scaleSessions = flag.Int("scale.sessions", 2_000, "how many sessions BenchmarkManySessions has")
)

// fillLog writes entries as a gateway does: a hundred a session, of fifty tools, few of them blocked.
func fillLog(b *testing.B, db *sqlstore.DB, n int) {
	b.Helper()
	body := []byte(`{"v":1,"kind":"decision","padding":"` + strings.Repeat("x", 400) + `"}`)
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for i := 0; i < n; {
		batch := make([]audit.Entry, min(5000, n-i))
		for j := range batch {
			e := audit.Entry{Time: at.Add(time.Duration(i) * time.Millisecond), Kind: "decision", Outcome: "allow", Body: body}
			e.Chain, e.Subject = fmt.Sprint("local/agent:", i%(n/100)), fmt.Sprint("server/tool", i%50)
			switch {
			case i%3 == 2:
				e.Kind, e.Outcome = "label", ""
			case i%97 == 0:
				e.Outcome = "block"
			}
			batch[j] = e
			i++
		}
		if _, err := db.Log().Append(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLargeLog asks a log for the newest hundred entries of a kind. With -scale.entries=1000000 the log is large.
func BenchmarkLargeLog(b *testing.B) {
	benchTargets(b, func(b *testing.B, db *sqlstore.DB) {
		fillLog(b, db, *scaleEntries)
		for _, q := range []struct {
			name string
			audit.Query
		}{
			{"session", audit.Query{Chain: "local/agent:7"}},
			{"tool", audit.Query{Subject: "server/tool7"}},
			{"verdict", audit.Query{Outcome: "block"}},
			{"kind", audit.Query{Kind: "label"}},
			{"tool and verdict", audit.Query{Subject: "server/tool7", Outcome: "block"}},
			{"session and verdict", audit.Query{Chain: "local/agent:0", Outcome: "block"}},
			{"session that is not there", audit.Query{Chain: "local/agent:none"}},
			{"tool that is not there", audit.Query{Subject: "server/none"}},
			{"verdict that is not there", audit.Query{Outcome: "none"}},
			{"kind that is not there", audit.Query{Kind: "none"}},
		} {
			q.Newest, q.Limit = true, 100
			b.Run(q.name, func(b *testing.B) {
				for b.Loop() {
					n := 0
					for _, err := range db.Log().Rows(b.Context(), q.Query) {
						if err != nil {
							b.Fatal(err)
						}
						n++
					}
					if n == 0 != strings.HasSuffix(q.name, "not there") {
						b.Fatalf("%d rows", n)
					}
				}
			})
		}
	})
}

// BenchmarkManySessions opens sessions, some with a label, and reads each. It reports what the process then holds for each of them
// beyond an open database.
func BenchmarkManySessions(b *testing.B) {
	benchTargets(b, func(b *testing.B, db *sqlstore.DB) {
		before := held()
		parallel(b, 16, *scaleSessions, func(_, i int) error {
			ref := store.Ref{Key: sessionName(i), Parent: "local/agent:above " + strconv.Itoa(i/100), Principal: "local"}
			_, _, err := db.Open(b.Context(), ref, noLimits)
			if err == nil && i%100 == 0 {
				_, _, err = db.Join(b.Context(), ref.Key, label.Label{Untrusted: true, Attribution: label.SetOf(ref.Key)}, noLimits)
			}
			return err
		})
		for i := 0; b.Loop(); i++ {
			if _, err := db.Get(b.Context(), sessionName(i%*scaleSessions)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(held()-before)/float64(*scaleSessions), "bytes/session")
	})
}

func sessionName(i int) string { return "local/agent:" + strconv.Itoa(i) }

// held returns how much memory the process has from the system and does not give back.
func held() int64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}
