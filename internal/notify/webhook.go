package notify

import (
	"context"
	"math/rand/v2"
	"time"
)

// deliver sends a message until it was taken, cannot be, or need not be.
func (h *hook) deliver(ctx context.Context, m message, e *errand) {
	ctx, cancel := context.WithDeadline(ctx, e.until(time.Now()))
	defer cancel()
	told, failures := false, 0
	for !h.settled(ctx, e, told) {
		got, err := h.post(ctx, m)
		pending := false
		if err == nil && e != nil && h.Answers {
			pending, err = h.heed(ctx, e, got)
		}
		pause := got.after(pollPause)
		switch {
		case err == nil && !pending:
			h.counts.add(webhookChannel, Delivered)
			return
		case err == nil:
			told, failures = true, 0
		default:
			if failures++; final(err) || failures == maxAttempts {
				h.counts.add(webhookChannel, Failed)
				h.logger.Warn("telling the webhook", "id", m.id, "attempts", failures, "error", err)
				return
			}
			h.counts.add(webhookChannel, Retried)
			pause = got.after(backoff(failures))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// settled reports whether there is nothing left to do for a message, and counts it then.
func (h *hook) settled(ctx context.Context, e *errand, told bool) bool {
	over := ctx.Err() != nil
	if !over && e != nil {
		open, err := e.book.Waits(ctx, e.asked.ID)
		over = err == nil && !open
	}
	switch {
	case !over:
		return false
	case told:
		h.counts.add(webhookChannel, Delivered)
	default:
		h.counts.add(webhookChannel, Moot)
	}
	return true
}

// backoff returns the pause after so many failures, a little at random.
func backoff(failures int) time.Duration {
	pause := firstPause << (failures - 1)
	return pause + rand.N(pause/4)
}
