package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
)

// How long to wait before a standing stream is opened again: at first, and at most.
const (
	reopenFirst = 500 * time.Millisecond
	reopenMost  = 30 * time.Second
)

// A standing is the stream of what a server sends outside the responses to POST requests, in the streamable HTTP
// transport before 2026-07-28. It is optional: a server that has none is left in peace. One that breaks off is opened
// again, from the last event on if the server numbers them, until the connection ends.
type standing struct {
	origin   *origin
	client   *http.Client
	session  string
	protocol string
	opts     Options
	hand     func(received)

	last string // id of the last event
}

// errNoStream says that the server has no such stream, or has one no more.
var errNoStream = errors.New("no standing stream")

// run reads the stream until ctx ends, or the server turns out to have none.
func (s *standing) run(ctx context.Context) {
	delay := reopenFirst
	for {
		began := time.Now()
		retry, err := s.once(ctx)
		if ctx.Err() != nil || errors.Is(err, errNoStream) {
			return
		}
		s.opts.Logger.Debug("standing stream broke off", "url", s.origin.endpoint.Redacted(), "error", err)
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
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.origin.endpoint.String(), nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", "text/event-stream")
	for name, value := range map[string]string{headerSession: s.session, headerLastEvent: s.last} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return 0, errors.New(resp.Status)
	case resp.StatusCode != http.StatusOK || !isEventStream(resp):
		return 0, fmt.Errorf("%w: %s", errNoStream, resp.Status)
	}
	events := newEventReader(resp.Body, s.opts.MaxMessage)
	for {
		e, err := events.next()
		if err != nil {
			return events.retry, err
		}
		s.last = e.id
		if e.name == "" || e.name == "message" {
			s.take(e.data)
		}
	}
}

// take hands on the message of an event.
func (s *standing) take(data []byte) {
	if len(data) == 0 {
		return // it only numbers what follows (SEP-1699)
	}
	m, err := rpc.Parse(data)
	var e *rpc.Error
	if errors.As(err, &e) {
		s.hand(received{err: rpc.NewBadMessage(e, data)})
		return
	}
	s.hand(received{message: m})
}
