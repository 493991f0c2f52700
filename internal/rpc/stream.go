package rpc

import (
	"context"
	"io"
	"sync"
	"time"
)

// DefaultMaxMessage is the size limit of a message in bytes where none is set: 64 MiB.
const DefaultMaxMessage = 64 << 20

// StreamOptions adjust a Stream.
type StreamOptions struct {
	MaxMessage int // longest line that is read, in bytes without its end; 0 is DefaultMaxMessage
}

// A Stream is a Conn over a reader and a writer, one message a line.
type Stream struct {
	r    io.ReadCloser
	out  outlet
	in   *lineReader
	wake waker // ends a pending r.Read; nil if r has no deadlines

	pumping bool // in belongs to pump, which sends to lines; until then it belongs to Read
	lines   chan line

	closing  sync.Once
	closed   chan struct{}
	closeErr error
}

// A waker is a reader whose pending Read can be made to return.
type waker interface{ SetReadDeadline(t time.Time) error }

var _ Conn = (*Stream)(nil)

// NewStream returns a connection over r and w, which it owns. Lines may end in CRLF; blank ones are skipped; the last
// may lack its end. A line beyond the limit is skipped without being held in memory and gives a [BadMessage].
//
// If r has deadlines, as pipes and sockets of package os and net have, or if no context given to Read ever ends, Read
// reads r itself, which saves a change of goroutines for each message. Else it has a goroutine read ahead, which ends
// when r gives an error, or after Close as soon as a pending r.Read returns. Close makes a pending Read return; one
// whose context never ends and whose r has no deadlines, only if closing r makes r.Read return.
//
// If w has deadlines and is a [syscall.Conn], bytes that can be written without waiting are written by the caller
// itself.
func NewStream(r io.ReadCloser, w io.WriteCloser, opts *StreamOptions) *Stream {
	limit := DefaultMaxMessage
	if opts != nil && opts.MaxMessage > 0 {
		limit = opts.MaxMessage
	}
	s := &Stream{r: r, in: newLineReader(r, limit), lines: make(chan line), closed: make(chan struct{})}
	s.out = outlet{w: w, direct: newDirect(w), turn: make(chan struct{}, 1), closed: s.closed}
	widen(r)
	widen(w)
	if d, ok := r.(waker); ok && d.SetReadDeadline(time.Time{}) == nil {
		s.wake = d
	}
	return s
}

// Read returns the next message, as [Conn] has it. The memory behind a large Result, up to its capacity, belongs to
// whoever owns the message: there is room to append a little. A message that it returns when ctx ends is not lost but
// left for the next Read. After Close it returns io.EOF.
func (s *Stream) Read(ctx context.Context) (*Message, error) {
	l, err := s.next(ctx)
	switch {
	case err != nil:
		return nil, err
	case l.err != nil:
		return nil, l.err
	}
	m, e := parse(l.data, true)
	if e != nil {
		return nil, NewBadMessage(e, l.data)
	}
	return m, nil
}

// next returns the next line, or an error that has nothing to do with the content of the stream.
func (s *Stream) next(ctx context.Context) (line, error) {
	if !s.pumping && (s.wake != nil || ctx.Done() == nil) {
		return s.inPlace(ctx)
	}
	if !s.pumping {
		s.pumping = true
		go s.pump()
	}
	select {
	case <-s.closed:
		return line{}, io.EOF
	case <-ctx.Done():
		return line{}, ctx.Err()
	case l, ok := <-s.lines:
		if !ok {
			return line{}, io.EOF
		}
		return l, nil
	}
}

// inPlace reads the next line in the caller's goroutine.
func (s *Stream) inPlace(ctx context.Context) (line, error) {
	if ctx.Done() != nil && !s.in.ready() {
		past := time.Unix(1, 0)
		defer context.AfterFunc(ctx, func() { _ = s.wake.SetReadDeadline(past) })()
	}
	for {
		if err := ctx.Err(); err != nil {
			return line{}, err
		}
		l := s.in.next()
		select {
		case <-s.closed:
			return line{}, io.EOF
		default:
		}
		if !l.late {
			return l, nil
		}
		// This context has ended, or the last one did so late.
		_ = s.wake.SetReadDeadline(time.Time{})
	}
}

// pump hands lines to Read, reading one ahead, until the reader ends or the stream is closed.
func (s *Stream) pump() {
	defer close(s.lines)
	for {
		l := s.in.next()
		if l.err == io.EOF {
			return
		}
		select {
		case s.lines <- l:
		case <-s.closed:
			return
		}
		if l.end {
			return
		}
	}
}

// Close closes the reader and the writer, and returns the first error of that. It does not wait for a Read or Write of
// theirs that does not notice.
func (s *Stream) Close() error {
	s.closing.Do(func() {
		close(s.closed)
		s.closeErr = s.r.Close()
		if err := s.out.w.Close(); s.closeErr == nil {
			s.closeErr = err
		}
	})
	return s.closeErr
}
