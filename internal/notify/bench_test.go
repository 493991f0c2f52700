package notify_test

import (
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/notify"
	"github.com/weir-mcp/weir/record"
)

// BenchmarkRecord passes over an event that is no finding, as almost all are: every call pays for that.
func BenchmarkRecord(b *testing.B) {
	n := notify.New(notify.Options{})
	defer n.Close()
	e := record.New(record.Decision, time.Now())
	e.Phase, e.Effect, e.Facts = "result", "block", []byte(`{"server.trust":"known","session.calls":12}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := n.Record(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
}
