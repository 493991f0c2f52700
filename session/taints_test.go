package session_test

import (
	"testing"
	"time"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store"
)

// A resource keeps its label for as long as it is written to, and a while longer.
func TestTaintsExpire(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	taints := session.NewTaints(session.TaintOptions{Store: store.NewMemory(&store.MemoryOptions{Now: clock}), Keep: time.Hour, Now: clock})
	is := func(want bool) {
		t.Helper()
		l, err := taints.Tainted(t.Context(), "file:///a/b")
		if err != nil || l.Untrusted != want {
			t.Errorf("at %v: %+v, %v", now, l, err)
		}
	}
	is(false)
	if err := taints.Taint(t.Context(), "file:///a", label.Label{Sources: label.SetOf(label.UntrustedPublic)}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(59 * time.Minute)
	is(true)
	if err := taints.Taint(t.Context(), "file:///a", label.Label{Private: true}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(59 * time.Minute)
	is(true)
	now = now.Add(2 * time.Minute)
	is(false)
}
