package gateway

import (
	"sync"
	"time"
)

// Bounds of the protocol defects of one connection that are written down: a server that floods must not fill the disk.
const (
	maxDefects   = 100
	defectWindow = time.Minute
)

// A throttle lets maxDefects through in each window of time. The zero throttle is ready to use.
type throttle struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

// next reports whether one more may be written down, and whether it is the last of its window: then the reader should be
// told that more may follow unwritten.
func (t *throttle) next(now time.Time) (ok, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.since) >= defectWindow {
		t.since, t.n = now, 0
	}
	t.n++
	return t.n <= maxDefects, t.n == maxDefects
}
