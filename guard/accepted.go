package guard

import (
	"context"
	"sync"
	"time"
)

// Accepted is an [Approvals] in memory. The zero Accepted is ready to use, and safe for concurrent use. A restart
// forgets the acceptances, and so means no.
type Accepted struct {
	mu    sync.Mutex
	until map[string]time.Time // by binding
}

// Accept lets the call that binding stands for happen once, before the given time.
func (a *Accepted) Accept(binding string, until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil {
		a.until = map[string]time.Time{}
	}
	now := time.Now()
	for b, t := range a.until {
		if !now.Before(t) {
			delete(a.until, b)
		}
	}
	a.until[binding] = until
}

// Redeem implements [Approvals].
func (a *Accepted) Redeem(_ context.Context, binding string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	until, ok := a.until[binding]
	delete(a.until, binding)
	return ok && time.Now().Before(until), nil
}
