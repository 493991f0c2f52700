package store

import (
	"sync/atomic"
	"time"
)

// A Clock follows a clock that may be set back. It never goes back, and while the other one is behind, it advances with
// the monotonic clock of the process if the times passed to At have a monotonic reading. Back ends use it. The zero
// Clock is ready to use, and safe for concurrent use.
type Clock struct {
	first  atomic.Pointer[time.Time] // when it was first asked
	latest atomic.Int64              // microseconds since 1970; 0 before it was first asked
}

// At returns the time as it is kept, in UTC and microseconds. It is the latest of now, the last returned time, and the
// first time plus the monotonic time elapsed since.
func (c *Clock) At(now time.Time) time.Time {
	c.first.CompareAndSwap(nil, &now)
	first := *c.first.Load()
	return c.at(now, first, now.Sub(first))
}

// at is At for a clock that was first asked at a time, which is so long ago.
func (c *Clock) at(now, first time.Time, passed time.Duration) time.Time {
	us := max(now.UnixMicro(), first.Round(0).Add(passed).UnixMicro())
	for {
		latest := c.latest.Load()
		if latest != 0 && us <= latest {
			return time.UnixMicro(latest).UTC()
		}
		if c.latest.CompareAndSwap(latest, us) {
			return time.UnixMicro(us).UTC()
		}
	}
}
