package rpc

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
)

// DefaultMaxMessage is the size limit of a message in bytes where none is set: 64 MiB.
const DefaultMaxMessage = 64 << 20

const (
	keepBuffer = 1 << 20   // the largest write buffer that a stream keeps for its next message
	apart      = 512 << 10 // from here on, a message's body is not copied to be written with the rest
)

// StreamOptions adjust a Stream.
type StreamOptions struct {
	MaxMessage int // longest line that is read, in bytes without its end; 0 is DefaultMaxMessage
}

// A Stream is a Conn over a reader and a writer, one message a line.
type Stream struct {
	r  io.ReadCloser
	w  io.WriteCloser
	in *lineReader

	pumping bool // in belongs to pump, which sends to lines; until then it belongs to Read
	lines   chan line

	closing  sync.Once
	closed   chan struct{}
	closeErr error

	writing chan struct{} // holds a token while a message is being written
	buf     []byte        // belongs to whoever put the token there
	broken  error         // likewise: the error that left a line unfinished
}

var _ Conn = (*Stream)(nil)

// NewStream returns a connection over r and w, which it owns. Lines may end in CRLF; blank ones are skipped; the last
// may lack its end. A line beyond the limit is skipped without being held in memory and gives a [BadMessage].
//
// A Read with a context that may end has a goroutine read ahead, which ends when r gives an error, or after Close as soon as
// a pending r.Read returns. A Read with one that never ends reads r itself, as long as no other kind of Read came before,
// which saves a change of goroutines for each message; then Close makes it return only if closing r makes r.Read return.
func NewStream(r io.ReadCloser, w io.WriteCloser, opts *StreamOptions) *Stream {
	limit := DefaultMaxMessage
	if opts != nil && opts.MaxMessage > 0 {
		limit = opts.MaxMessage
	}
	return &Stream{
		r: r, w: w, in: newLineReader(r, limit), lines: make(chan line),
		closed: make(chan struct{}), writing: make(chan struct{}, 1),
	}
}

// Read returns the next message, as [Conn] has it. What it returns when ctx ends is not lost but left for the next Read.
// After Close it returns io.EOF.
func (s *Stream) Read(ctx context.Context) (*Message, error) {
	l, err := s.next(ctx)
	switch {
	case err != nil:
		return nil, err
	case l.err != nil:
		return nil, l.err
	}
	m, e := parse(l.data)
	if e != nil {
		return nil, NewBadMessage(e, l.data)
	}
	return m, nil
}

// next returns the next line, or an error that has nothing to do with what is read.
func (s *Stream) next(ctx context.Context) (line, error) {
	if ctx.Done() == nil && !s.pumping {
		l := s.in.next()
		select {
		case <-s.closed:
			return line{}, io.EOF
		default:
			return l, nil
		}
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

// Write sends the message by one call of the writer's Write, or if it is long, by three; messages of concurrent calls
// follow each other. Once that has begun it goes on when ctx ends, since half a line would spoil the stream, but Write returns ctx's error at
// once. An error of the writer is returned by all later calls.
func (s *Stream) Write(ctx context.Context, m *Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return io.ErrClosedPipe
	}
	if ctx.Done() == nil {
		return s.write(m)
	}
	done := make(chan error, 1)
	go func() { done <- s.write(m) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write sends the message and takes the token away.
func (s *Stream) write(m *Message) error {
	defer func() { <-s.writing }()
	if s.broken != nil {
		return s.broken
	}
	if err := s.send(m); err != nil {
		s.broken = fmt.Errorf("writing message: %w", err)
	}
	return s.broken
}

// send writes the message, a long body from where it is.
func (s *Stream) send(m *Message) error {
	head, body := m.appendHead(s.buf[:0])
	if len(body) < apart || !isLine(body) {
		line := append(m.appendTail(appendLine(slices.Grow(head, m.size()), body)), '\n')
		if cap(line) <= keepBuffer {
			s.buf = line
		}
		_, err := s.w.Write(line)
		return err
	}
	s.buf = append(m.appendTail(head), '\n')
	for _, part := range [][]byte{s.buf[:len(head)], body, s.buf[len(head):]} {
		if _, err := s.w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the reader and the writer, and returns the first error of that. It does not wait for a Read or Write of
// theirs that does not notice.
func (s *Stream) Close() error {
	s.closing.Do(func() {
		close(s.closed)
		s.closeErr = s.r.Close()
		if err := s.w.Close(); s.closeErr == nil {
			s.closeErr = err
		}
	})
	return s.closeErr
}
