package exchange

import (
	"sync"

	"github.com/weir-mcp/weir/internal/gateway/approve"
)

// Bounds of the calls that wait for an answer elsewhere, since each looks for it again and again.
const (
	maxHolding        = 128 // of all agent sessions
	maxHoldingSession = 16
)

// holding are the calls that wait for an answer elsewhere: one for each approval request, since its acceptance lets one call go. The zero
// value is ready to use.
type holding struct {
	mu       sync.Mutex
	requests map[string]bool // by id
	sessions map[string]int  // calls by agent session
}

// begin reports whether a call may wait for the answer to a request.
func (h *holding) begin(p *approve.Pending) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.requests[p.ID] || len(h.requests) >= maxHolding || h.sessions[p.Session] >= maxHoldingSession {
		return false
	}
	if h.requests == nil {
		h.requests, h.sessions = map[string]bool{}, map[string]int{}
	}
	h.requests[p.ID] = true
	h.sessions[p.Session]++
	return true
}

// end notes that a call waits no longer.
func (h *holding) end(p *approve.Pending) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.requests, p.ID)
	if h.sessions[p.Session]--; h.sessions[p.Session] == 0 {
		delete(h.sessions, p.Session)
	}
}
