package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/weir-mcp/weir/internal/rpc"
)

// mostFutile is how often in a row the stream of a request is resumed without a new event.
const mostFutile = 5

// errNoStream says that the server has no such stream, or has one no more.
var errNoStream = errors.New("no such stream")

// listen opens a stream of events with GET, behind the event with that id; "" is from now on.
func (s *streamable) listen(ctx context.Context, last string) (*http.Response, error) {
	header := s.common(4)
	header["Accept"] = []string{eventStream}
	if last != "" {
		header[headerLastEvent] = []string{last}
	}
	resp, err := s.origin.do(ctx, http.MethodGet, s.origin.endpoint, header, nil)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusOK && mediaType(resp) == eventStream:
		return resp, nil
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		return nil, newStatusError(resp, "")
	}
	return nil, fmt.Errorf("%w: %w", errNoStream, newStatusError(resp, ""))
}

// stream reads the stream of events that a request got, and passes its messages on until the answer. One that breaks
// off before is resumed if the server numbers its events, as often as there are new ones (revision 2025-11-25,
// Resumability and Redelivery; 2026-07-28 has none).
func (x *exchange) stream(resp *http.Response) {
	err := x.read(resp)
	for futile := 0; err != nil && x.resumable(err) && futile < mostFutile; {
		before := x.last
		err = x.resume(futile)
		if futile++; x.last != before {
			futile = 0
		}
	}
	if err != nil && x.life.Err() == nil {
		x.unanswered(err)
	}
}

// unanswered tells why a stream has no answer.
func (x *exchange) unanswered(err error) {
	var long *tooLong
	switch {
	case errors.As(err, &long):
		x.refuse(rpc.NewBadMessage(rpc.Errorf(rpc.InvalidRequest, "%v", long), nil))
		return
	case err == io.EOF && x.bad != nil:
		err = x.bad
	case err == io.EOF:
		err = errors.New("event stream ended without response")
	}
	x.s.to.fail(x.m.ID, err)
}

// resumable reports whether more may come after the error of a stream.
func (x *exchange) resumable(err error) bool {
	switch {
	case x.last == "" || isModern(x.s.agreed()) || x.life.Err() != nil:
		return false
	case errors.As(err, new(*tooLong)) || errors.Is(err, errNoStream):
		return false
	}
	return true
}

// resume opens the stream again and reads it.
func (x *exchange) resume(futile int) error {
	delay := x.retry
	if delay == 0 {
		delay = reopenFirst
	}
	select {
	case <-x.life.Done():
		return x.life.Err()
	case <-time.After(max(reopenLeast, min(delay<<futile, reopenMost))):
	}
	resp, err := x.s.listen(x.life, x.last)
	if err != nil {
		return err
	}
	return x.read(resp)
}

// read hands on the events of a response until the answer. The error says why there is none, io.EOF if the response
// ended.
func (x *exchange) read(resp *http.Response) error {
	defer resp.Body.Close()
	events := x.s.streams.reader(resp.Body)
	defer events.release()
	for {
		e, err := events.next()
		if events.last != "" {
			x.last = events.last
		}
		if events.retry != 0 {
			x.retry = events.retry
		}
		if err != nil {
			return err
		}
		if e.isMessage() && x.event(e.data) {
			x.linger(resp)
			return nil
		}
	}
}

// event hands on the message of an event, and reports whether it is the answer or takes its place.
func (x *exchange) event(data []byte) (answered bool) {
	m, bad := parse(data)
	switch {
	case bad != nil:
		if string(bad.Answers) != string(x.m.ID) {
			bad.Answers, x.bad = nil, bad
		}
		x.s.to.refuse(bad)
		return bad.Answers != nil
	case m.IsResponse() && !x.answers(m):
		return false
	}
	x.s.to.dispatch(m)
	return m.IsResponse()
}
