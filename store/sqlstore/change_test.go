package sqlstore_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// BenchmarkChange writes as a call does that may change something: its event, durably, and with it the event of the
// result before it and the number of calls.
func BenchmarkChange(b *testing.B) {
	a, err := audit.OpenAnchor(filepath.Join(b.TempDir(), "anchor"), "example.com/weir", nil)
	if err != nil {
		b.Fatal(err)
	}
	db := open(b, file(b), &sqlstore.Options{Anchor: a, Linger: time.Hour})
	begin(b, db, "s")
	event := func(phase string) audit.Entry {
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
	b.ReportAllocs()
	for b.Loop() {
		on, err := db.Get(b.Context(), "s")
		must(b, err)
		must(b, db.Tally(b.Context(), "s"))
		must(b, db.Decided(b.Context(), on, event("call")))
		must(b, db.Defer(b.Context(), event("result")))
	}
}
