package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/home"
)

const (
	maxWaiting = 1 << 20     // bytes of standard error that wait for a reader
	lastWords  = time.Second // for the reader to take them when weir ends
)

// An asyncStderr is standard error: logs and the standard error of servers come together in it. Writing never waits,
// since many hosts read little of it or nothing, and neither servers nor calls may hang on that. Text that finds no
// room is lost, and that is said when there is room again.
type asyncStderr struct {
	w     io.Writer
	more  chan struct{} // takes one: there is something to write
	ended chan struct{} // closed by flush
	done  chan struct{} // closed when all is written

	mu   sync.Mutex
	buf  []byte
	lost int // bytes
}

// newAsyncStderr returns one that writes to w, which flush must be called of.
func newAsyncStderr(w io.Writer) *asyncStderr {
	s := &asyncStderr{w: w, more: make(chan struct{}, 1), ended: make(chan struct{}), done: make(chan struct{})}
	go s.drain()
	return s
}

// IsTerminal is for [home.IsTerminal].
func (s *asyncStderr) IsTerminal() bool { return home.IsTerminal(s.w) }

// Write takes p whole or not at all. It reports no error.
func (s *asyncStderr) Write(p []byte) (int, error) {
	s.mu.Lock()
	if len(s.buf)+len(p) > maxWaiting {
		s.lost += len(p)
	} else {
		s.buf = append(s.buf, p...)
	}
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

// drain writes until flush is called and nothing is left.
func (s *asyncStderr) drain() {
	defer close(s.done)
	for {
		if out := s.take(); len(out) > 0 {
			_, _ = s.w.Write(out) // there is nobody to tell
			continue
		}
		select {
		case <-s.more:
		case <-s.ended:
			if out := s.take(); len(out) > 0 {
				_, _ = s.w.Write(out)
			}
			return
		}
	}
}

// take returns the text to write.
func (s *asyncStderr) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.buf
	s.buf = nil
	if s.lost > 0 {
		out = fmt.Appendf(out, "weir: %d bytes of standard error were lost: nobody read them\n", s.lost)
		s.lost = 0
	}
	return out
}

// flush waits until all is written, but no longer than that. Nothing may be written afterwards.
func (s *asyncStderr) flush(within time.Duration) {
	close(s.ended)
	select {
	case <-s.done:
	case <-time.After(within):
	}
}
