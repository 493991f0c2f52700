package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/internal/rpc"
)

// A streamable carries messages over the streamable HTTP transport. Each message is a POST of its own, which belongs to
// the goroutine that writes it: that one reads an answer in JSON, too. A stream of events has a goroutine of its own.
// So a server that answers one request slowly, or floods it, holds up no other.
type streamable struct {
	origin *origin
	opts   Options
	to     receiver

	life  context.Context // of all requests but the one that ends the session
	end   context.CancelCauseFunc
	tasks group

	streams streams

	protocol atomic.Pointer[string] // the agreed revision; nil before
	session  atomic.Pointer[string] // nil if there is none

	closing sync.Once
	err     error // of closing
}

// errSessionGone says that the server does not know the session any more (revision 2025-11-25, Session Management).
var errSessionGone = errors.New("server has ended the session")

// newStreamable makes no request.
func newStreamable(o *origin, opts Options, to receiver) *streamable {
	s := &streamable{origin: o, opts: opts, to: to, streams: streams{limit: opts.MaxMessage}}
	s.life, s.end = context.WithCancelCause(context.Background())
	return s
}

// settle has the revision sent with all requests from now on, and the standing stream of older revisions opened.
func (s *streamable) settle(protocol string) {
	s.protocol.Store(&protocol)
	if !isModern(protocol) {
		stream := &standing{s: s}
		s.tasks.run(func() { stream.run(s.life) })
	}
}

// run waits for the end: messages are handed on by those who read them.
func (s *streamable) run() error {
	<-s.life.Done()
	return context.Cause(s.life)
}

// Write posts a message. For a request it returns when the answer was handed on, or when a stream of events has begun;
// then ctx stays bound to the stream until the answer comes.
func (s *streamable) Write(ctx context.Context, m *rpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x := s.exchange(ctx, m)
	resp, err := s.origin.do(x.life, http.MethodPost, s.origin.endpoint, s.header(m, headerOf(ctx)), m.Parts())
	if err == nil {
		var going bool
		if going, err = x.take(resp); going {
			return nil
		}
	}
	x.end()
	return s.reason(ctx, err)
}

// reason makes the best of an error of a request.
func (s *streamable) reason(ctx context.Context, err error) error {
	return posted(ctx, s.life, err)
}

// posted tells the outcome of a message whose request ended with err, to a caller that waits until ctx ends, over a
// connection that lives until life does.
func posted(ctx, life context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case life.Err() != nil:
		return ErrClosed
	}
	if said := authFailure(err); said != nil {
		return said
	}
	return fmt.Errorf("posting message: %w", err)
}

// agreed returns the revision that was agreed on; "" before.
func (s *streamable) agreed() string {
	if protocol := s.protocol.Load(); protocol != nil {
		return *protocol
	}
	return ""
}

// check looks at a response's header for the session, which only the answer to initialize may open.
func (s *streamable) check(resp *http.Response, m *rpc.Message) error {
	known, said := s.session.Load(), resp.Header.Get(headerSession)
	switch {
	case said == "" || isModern(s.agreed()):
	case known == nil && m.Method == "initialize" && resp.StatusCode < 300:
		s.session.Store(&said)
	case known != nil && *known != said:
		return errors.New("response names another session")
	}
	return nil
}

// Close ends all requests, then the session.
func (s *streamable) Close() error {
	s.closing.Do(func() {
		s.end(ErrClosed)
		s.err = s.leave()
		s.tasks.wait()
		s.origin.close()
	})
	return s.err
}

// leave ends the session, if there is one. A server need not let clients do that (revision 2025-11-25, Session
// Management), so only silence is an error.
func (s *streamable) leave() error {
	if s.session.Load() == nil || errors.Is(context.Cause(s.life), errSessionGone) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), deleteWait)
	defer cancel()
	resp, err := s.origin.do(ctx, http.MethodDelete, s.origin.endpoint, s.common(4), nil)
	if err != nil {
		return fmt.Errorf("ending the session: %w", err)
	}
	return resp.Body.Close()
}

// exchange returns the exchange of a message, which lasts no longer than ctx.
func (s *streamable) exchange(ctx context.Context, m *rpc.Message) *exchange {
	x := &exchange{s: s, m: m}
	x.life, x.cancel = context.WithCancel(s.life)
	x.detach = context.AfterFunc(ctx, x.cancel)
	return x
}
