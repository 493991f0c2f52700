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

const (
	deleteWait = 2 * time.Second // for the request that ends a session

	// lingerWait and lingerMost bound the part of a response that is read after the answer. To end it by force costs
	// the TCP connection; not to end it would let a server hold it for ever.
	lingerWait = time.Second
	lingerMost = 64 << 10
)

// An exchange is one message over HTTP, and if that is a request, its response.
type exchange struct {
	s      *streamable
	m      *rpc.Message
	life   context.Context // of the POST request, and of those that resume its stream
	cancel context.CancelFunc
	detach func() bool // unbinds life from the context of the caller

	// Of a stream of events:
	last  string          // id of the last event
	retry time.Duration   // that the server asks for before the stream is resumed; 0 if it does not
	bad   *rpc.BadMessage // the last event that was no message; perhaps it was the answer
}

// end lets go of the request.
func (x *exchange) end() {
	x.detach()
	x.cancel()
}

// take reads the response of the POST request. It returns true if the exchange goes on, and ends by itself; else the
// answer was handed on, or the error says why there is none.
func (x *exchange) take(resp *http.Response) (going bool, err error) {
	if err := x.s.check(resp, x.m); err != nil {
		_ = resp.Body.Close()
		return false, err
	}
	kind := mediaType(resp)
	switch {
	case resp.StatusCode >= 300:
		return false, x.refused(resp)
	case !x.m.IsRequest() && resp.ContentLength == 0:
		return false, resp.Body.Close()
	case !x.m.IsRequest():
		return x.goOn(resp, x.linger)
	case kind == "application/json":
		return false, x.document(resp)
	case kind == eventStream:
		return x.goOn(resp, x.stream)
	}
	_ = resp.Body.Close()
	return false, newStatusError(resp, fmt.Sprintf("content type %.64q", kind))
}

// goOn has the rest of the response read by another goroutine.
func (x *exchange) goOn(resp *http.Response, read func(*http.Response)) (going bool, err error) {
	going = x.s.tasks.run(func() {
		defer x.end()
		read(resp)
	})
	if !going {
		_ = resp.Body.Close()
		return false, ErrClosed
	}
	return true, nil
}

// refused reads a response whose status is an error. To messages of a session, 404 says that it is gone, unless the
// body answers the very request.
func (x *exchange) refused(resp *http.Response) error {
	gone := resp.StatusCode == http.StatusNotFound && resp.Request.Header.Get(headerSession) != ""
	answer, err := refusal(resp, x.m, !gone)
	switch {
	case answer != nil:
		x.s.to.dispatch(answer)
		return nil
	case gone:
		err = fmt.Errorf("%w: %w", errSessionGone, err)
		x.s.end(err)
	}
	return err
}

// document reads a response that is one message, which must be the answer.
func (x *exchange) document(resp *http.Response) error {
	data, err := x.s.streams.memory.body(resp, x.s.streams.limit)
	var long *tooLong
	switch {
	case errors.As(err, &long):
		x.refuse(rpc.NewBadMessage(rpc.Errorf(rpc.InvalidRequest, "%v", long), data))
		return nil
	case err != nil:
		return fmt.Errorf("reading response: %w", err)
	}
	m, bad := parse(data)
	switch {
	case bad != nil:
		x.refuse(bad)
	case !m.IsResponse():
		x.refuse(rpc.NewBadMessage(rpc.Errorf(rpc.InvalidRequest, "response to a request is not an answer"), data))
	case !x.answers(m):
		return errors.New("response answers another request")
	default:
		x.s.to.dispatch(m)
	}
	return nil
}

// parse reads a message of which nobody else has the bytes.
func parse(data []byte) (*rpc.Message, *rpc.BadMessage) {
	m, err := rpc.ParseOwned(data)
	var e *rpc.Error
	if errors.As(err, &e) {
		return nil, rpc.NewBadMessage(e, data)
	}
	return m, nil
}

// refuse reports that the message in the place of the answer is none.
func (x *exchange) refuse(bad *rpc.BadMessage) {
	bad.Answers = x.m.ID
	x.s.to.refuse(bad)
}

// answers reports whether a response is the one to the request. It is the server's fault if it is not.
func (x *exchange) answers(m *rpc.Message) bool {
	if string(m.ID) == string(x.m.ID) {
		return true
	}
	x.s.to.defect(UnknownAnswer, "id %.64s in the response to request %s", m.ID, x.m.ID)
	return false
}

// linger reads the rest of a response after the answer, so that the TCP connection can be used again.
func (x *exchange) linger(resp *http.Response) {
	x.detach()
	defer time.AfterFunc(lingerWait, x.cancel).Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, lingerMost)
	_ = resp.Body.Close()
}
