package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	maxSpill  = 1 << 20     // bytes of standard error that wait for a reader
	lastWords = time.Second // for the reader to take them when weir ends
)

// A spill is standard error: logs and the standard error of servers come together in it. Writing never waits, since many
// hosts read little of it or nothing, and neither servers nor calls may hang on that. What finds no room is lost, and
// that is said when there is room again.
type spill struct {
	w     io.Writer
	more  chan struct{} // takes one: there is something to write
	ended chan struct{} // closed by flush
	done  chan struct{} // closed when all is written

	mu   sync.Mutex
	buf  []byte
	lost int // bytes
}

// newSpill returns a spill to w, which flush must be called of.
func newSpill(w io.Writer) *spill {
	s := &spill{w: w, more: make(chan struct{}, 1), ended: make(chan struct{}), done: make(chan struct{})}
	go s.drain()
	return s
}

// Write takes p whole or not at all. It reports no error.
func (s *spill) Write(p []byte) (int, error) {
	s.mu.Lock()
	if len(s.buf)+len(p) > maxSpill {
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
func (s *spill) drain() {
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

// take returns what is to be written.
func (s *spill) take() []byte {
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
func (s *spill) flush(within time.Duration) {
	close(s.ended)
	select {
	case <-s.done:
	case <-time.After(within):
	}
}
