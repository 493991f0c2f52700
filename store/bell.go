package store

import "sync"

// A Bell wakes all who wait for it. Back ends use it. The zero Bell is ready to use, and safe for concurrent use.
type Bell struct {
	mu   sync.Mutex
	next chan struct{} // closed by the next ring; nil if nobody waits
}

// Next returns a channel that is closed when the bell rings next.
func (b *Bell) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// Ring wakes all who wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}
