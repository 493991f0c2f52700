package exchange

import (
	"strconv"
	"testing"

	"github.com/weir-mcp/weir/internal/gateway/approve"
)

// One call waits for each approval request, few for a session, and a bounded number in all; those that end make room.
func TestHolding(t *testing.T) {
	var h holding
	begun := func(requests, sessions int) (all []*approve.Pending) {
		for s := range sessions {
			for r := range requests {
				p := &approve.Pending{ID: strconv.Itoa(s) + "." + strconv.Itoa(r), Session: strconv.Itoa(s)}
				if h.begin(p) {
					all = append(all, p)
				}
			}
		}
		return all
	}
	for range 2 { // everything has ended after the first time
		all := append(begun(1, 1), begun(1, 1)...)
		if len(all) != 1 {
			t.Fatalf("%d calls wait for one request", len(all))
		}
		if all = append(all, begun(100, 1)...); len(all) != maxHoldingSession {
			t.Fatalf("%d calls of a session wait", len(all))
		}
		if all = append(all, begun(100, 100)...); len(all) != maxHolding {
			t.Fatalf("%d calls wait", len(all))
		}
		for _, p := range all {
			h.end(p)
		}
	}
	if len(h.requests)+len(h.sessions) > 0 {
		t.Errorf("%+v stay", &h)
	}
}
