package upstream

import (
	"context"
	"errors"
	"time"
)

// How long to wait before a stream is opened again: at first, at least, whatever the server asks for, and at most.
const (
	reopenFirst = 500 * time.Millisecond
	reopenLeast = 100 * time.Millisecond
	reopenMost  = 30 * time.Second
)

// A standing is the stream of the messages that a server sends outside the responses to POST requests, in the
// streamable HTTP transport before 2026-07-28. It is optional: a server that has none is left in peace. One that breaks
// off is opened again, from the last event on if the server numbers them, until the connection ends.
type standing struct {
	s    *streamable
	last string // id of the last event
}

// run reads the stream until ctx ends, or the server turns out to have none.
func (s *standing) run(ctx context.Context) {
	delay := reopenFirst
	for {
		began := time.Now()
		retry, err := s.once(ctx)
		if ctx.Err() != nil || errors.Is(err, errNoStream) {
			return
		}
		s.s.opts.Logger.Debug("standing stream broke off", "url", s.s.origin.endpoint.Redacted(), "error", err)
		switch {
		case retry > 0:
			delay = max(reopenFirst, min(retry, reopenMost))
		case time.Since(began) > reopenMost:
			delay = reopenFirst
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
		}
		delay = min(2*delay, reopenMost)
	}
}

// once opens the stream and reads to its end. It returns the delay that the server asked for, if it did.
func (s *standing) once(ctx context.Context) (retry time.Duration, err error) {
	resp, err := s.s.listen(ctx, s.last)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	events := s.s.streams.reader(resp.Body)
	defer events.release()
	for {
		e, err := events.next()
		if events.last != "" {
			s.last = events.last
		}
		if err != nil {
			return events.retry, err
		}
		if e.isMessage() {
			s.take(e.data)
		}
	}
}

// take hands on the message of an event. Answers have no place there: they come to those who asked.
func (s *standing) take(data []byte) {
	m, bad := parse(data)
	switch {
	case bad != nil:
		bad.Answers = nil
		s.s.to.refuse(bad)
	case m.IsResponse():
		s.s.to.defect(UnknownAnswer, "id %.64s on the standing stream", m.ID)
	default:
		s.s.to.dispatch(m)
	}
}
