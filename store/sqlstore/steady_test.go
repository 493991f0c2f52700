package sqlstore_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A clock that is set ahead or back by 90 days, before weir starts and again when it starts once more, loses no label and removes
// nothing. A time at which weir has run for more than a day is believed.
func testClockJumps(t *testing.T, target string) {
	key, err := audit.NewKey("example.com/weir")
	if err != nil {
		t.Fatal(err)
	}
	anchor := audit.NewAnchor(key)
	start := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	keep := ledger.Retention{Sessions: 90 * day, Events: 60 * day, Content: 30 * day}
	for _, step := range []struct {
		name string
		at   time.Duration // after the start
		lost bool
	}{
		{"at first", 0, false},
		{"some days later", 3 * day, false},
		{"90 days ahead", 93*day + time.Hour, false},
		{"started again there", 93*day + 9*time.Hour, false},
		{"90 days back", -87 * day, false},
		{"right again", 3*day + time.Hour, false},
		{"ahead once more", 120 * day, false},
		{"after a day there", 121*day + time.Hour, true},
	} {
		now := start.Add(step.at)
		db, err := sqlstore.Open(t.Context(), target, &sqlstore.Options{Now: func() time.Time { return now }, Unsynced: true})
		if err != nil {
			t.Fatal(err)
		}
		l, err := ledger.New(t.Context(), ledger.Options{DB: db, Anchor: anchor})
		if err != nil {
			t.Fatal(err)
		}
		if step.at == 0 {
			begin(t, db, "s")
			if _, _, err := db.Join(t.Context(), "s", label.Label{Private: true}, noLimits); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Taint(t.Context(), store.Taint{Resource: "file:///a", Label: label.Label{Untrusted: true}, Expires: now.Add(90 * day)}, noLimits); err != nil {
				t.Fatal(err)
			}
		}
		many := slices.Repeat([]audit.Entry{{Time: now, Kind: "upstream", Body: []byte("{}")}}, 300) // more than are looked at one by one
		if _, err := db.Log().Append(t.Context(), many); err != nil {
			t.Fatal(err)
		}
		done, gone, err := l.Prune(t.Context(), keep, now)
		if err != nil {
			t.Fatal(err)
		}
		if removed := gone.Sessions > 0 && gone.Taints > 0 && len(done.Events.Events) > 0; removed != step.lost {
			t.Errorf("%s: removed %+v, and %d events", step.name, gone, len(done.Events.Events))
		}
		s, err := db.Get(t.Context(), "s")
		tainted, taintErr := db.Tainted(t.Context(), "file:///a", noLimits)
		if taintErr != nil || (err == nil && s.Label.Private) == step.lost || tainted.Untrusted == step.lost {
			t.Errorf("%s: %+v, %v; %+v, %v", step.name, s.Label, err, tainted, taintErr)
		}
		if err := errors.Join(l.Close(), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestClockJumpsSQLite(t *testing.T)   { testClockJumps(t, file(t)) }
func TestClockJumpsPostgres(t *testing.T) { testClockJumps(t, startCluster(t).fresh(t)) }
