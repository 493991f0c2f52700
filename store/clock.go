package store

import (
	"sync/atomic"
	"time"
)

// A Clock tells the time of a clock that may be set back, and does not go back itself. Back ends use it. The zero Clock is
// ready to use, and safe for concurrent use.
type Clock struct{ latest atomic.Int64 } // microseconds since 1970; 0 before it was first asked

// At returns the time as it is kept, in UTC and microseconds, or the latest that was returned before, if that is later.
func (c *Clock) At(now time.Time) time.Time {
	us := now.UnixMicro()
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
