package backend

import (
	"math/rand/v2"
	"time"

	"github.com/weir-mcp/weir/internal/hosterror"
)

// Bounds of the pause after a failed attempt to reach a server. It doubles from one failure to the next.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// A backoff keeps a server that cannot be reached from being tried with every request. The zero backoff lets the first
// attempt through.
type backoff struct {
	pause time.Duration // after the last failure, without jitter; zero if there was none
	err   error         // of the last attempt
	until time.Time     // when the next one may be made
}

// failed begins a pause. Up to a quarter of it is left out at random, so that many gateways do not come back to a
// server that was down all at once.
func (b *backoff) failed(now time.Time, err error) {
	b.pause = min(max(2*b.pause, firstPause), longestPause)
	b.err = err
	b.until = now.Add(b.pause - rand.N(b.pause/4))
}

// waiting returns the error of the last attempt and when the next will be made; nil if that is now.
func (b *backoff) waiting(now time.Time) error {
	left := b.until.Sub(now)
	if b.err == nil || left <= 0 {
		return nil
	}
	return hosterror.And(b.err, "; the next call after {} tries again", hosterror.Time(left.Round(100*time.Millisecond)+100*time.Millisecond))
}
