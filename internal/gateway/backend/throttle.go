package backend

import (
	"sync"
	"time"
)

// Bounds of the protocol defects of one connection that are written down: a server that floods must not fill the disk.
const (
	maxDefects   = 100
	defectWindow = time.Minute
)

// A Throttle lets maxDefects through in each window of time. The zero Throttle is ready to use.
type Throttle struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

// Next reports whether one more may be written down, and whether it is the last of its window: then the reader should
// be told that more may follow unwritten.
func (t *Throttle) Next(now time.Time) (ok, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.since) >= defectWindow {
		t.since, t.n = now, 0
	}
	t.n++
	return t.n <= maxDefects, t.n == maxDefects
}
