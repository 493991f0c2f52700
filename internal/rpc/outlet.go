package rpc

import (
	"context"
	"fmt"
	"io"
)

// keepBuffer is the largest write buffer that a stream keeps for its next message.
const keepBuffer = 1 << 20

// An outlet is the half of a Stream that writes.
type outlet struct {
	w      io.WriteCloser
	direct *direct         // to write without waiting; nil if w does not know how
	closed <-chan struct{} // closed with the stream

	turn   chan struct{} // holds a token while a message is being written
	buf    []byte        // belongs to whoever put the token there
	parts  [3][]byte     // likewise: the rest of the message
	broken error         // likewise: the error that left a line unfinished
}

// Write sends the message by one call of the writer's Write, or if it is long, by three; messages of concurrent calls
// follow each other. Once that has begun it goes on when ctx ends, since half a line would spoil the stream, but Write
// returns ctx's error at once. An error of the writer is returned by all later calls.
func (s *Stream) Write(ctx context.Context, m *Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := &s.out
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-o.closed:
		return io.ErrClosedPipe
	}
	o.encode(m)
	if done, err := o.try(); done {
		return err
	}
	if ctx.Done() == nil {
		return o.finish()
	}
	done := make(chan error, 1)
	go func() { done <- o.finish() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// encode lays the message out, and keeps the buffer.
func (o *outlet) encode(m *Message) {
	o.parts = m.layOut(o.buf, "\n")
	if buf := o.parts[0]; cap(buf) <= keepBuffer {
		o.buf = buf
	}
}

// try writes as much as goes without waiting. If that is all, or the writer is broken, it takes the token away.
func (o *outlet) try() (done bool, err error) {
	for i := range o.parts {
		for len(o.parts[i]) > 0 && o.broken == nil {
			if o.direct == nil {
				return false, nil
			}
			n, err := o.direct.write(o.parts[i])
			if err != nil {
				o.fail(err)
			} else if n == 0 {
				return false, nil
			}
			o.parts[i] = o.parts[i][n:]
		}
	}
	return true, o.release()
}

// finish writes the rest, and releases the token.
func (o *outlet) finish() error {
	for _, part := range o.parts {
		if len(part) == 0 || o.broken != nil {
			continue
		}
		if _, err := o.w.Write(part); err != nil {
			o.fail(err)
		}
	}
	return o.release()
}

func (o *outlet) fail(err error) { o.broken = fmt.Errorf("writing message: %w", err) }

// release takes the token away, and returns the error that has broken the writer, if one has.
func (o *outlet) release() error {
	err := o.broken
	o.parts = [3][]byte{}
	<-o.turn
	return err
}
