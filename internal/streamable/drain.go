package streamable

import (
	"context"
	"time"
)

// drainLook is how often Drain looks whether all is answered.
const drainLook = 10 * time.Millisecond

// Drain has the handler take no further requests, answers that clients owe and cancellations excepted, and waits until every
// request in flight is answered or ctx ends. Requests of subscriptions/listen have no answer to wait for. Close still has
// to be called.
func (h *Handler) Drain(ctx context.Context) {
	h.mu.Lock()
	h.draining = true
	h.mu.Unlock()
	look := time.NewTicker(drainLook)
	defer look.Stop()
	for h.inFlight() > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// inFlight counts the requests that clients wait for.
func (h *Handler) inFlight() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for x := range h.posts {
		if x.msg.IsRequest() && x.msg.Method != "subscriptions/listen" {
			n++
		}
	}
	for _, s := range h.sessions {
		s.mu.Lock()
		n += len(s.waiting)
		s.mu.Unlock()
	}
	return n
}
