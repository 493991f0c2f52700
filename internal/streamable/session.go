package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/rpc"
)

// inboxSize is how many messages of a client wait for Serve before the client does.
const inboxSize = 16

// sessionOver is the error for requests that the end of their session left without an answer.
const sessionOver = "session has ended"

// A session is the connection of a client of the revisions that open with initialize.
type session struct {
	id        string
	principal string
	idle      time.Duration
	maxBody   int64
	bytes     *budget.Pool       // of messages that wait for the client
	lease     *budget.Lease      // of being a session
	opening   *rpc.Message       // the initialize that opened it; nil if it is too long to be kept
	forget    func(dormant bool) // takes the session out of the books, or leaves in them the record that wakes it
	cancel    context.CancelFunc // of the context of Serve
	in        chan *rpc.Message
	done      chan struct{} // closed at the end

	mu       sync.Mutex
	opened   bool // initialize was answered
	ended    bool
	waiting  map[string]*outbox // responses that a client waits for, by the text of the request's id
	standing *outbox            // for messages that belong to no request
	active   int                // HTTP requests under way
	streams  int                // of these, standing streams
	last     time.Time          // when the last one came or ended, but for the streams
	expiry   *time.Timer        // runs while there are none
}

// Read implements [rpc.Conn].
func (s *session) Read(ctx context.Context) (*rpc.Message, error) {
	select {
	case <-s.done:
		return nil, io.EOF
	default:
	}
	select {
	case m := <-s.in:
		return m, nil
	case <-s.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [rpc.Conn].
func (s *session) Write(ctx context.Context, m *rpc.Message) error {
	p := encode(m)
	id := string(rpc.Related(ctx))
	if p.kind == response {
		id = string(m.ID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return ErrClosed
	}
	box, related := s.waiting[id]
	switch {
	case p.kind == response:
		s.opened = true
		if related { // or else the client hung up: nobody can have it
			delete(s.waiting, id)
			box.put(p)
		}
		return nil
	case !related:
		box = s.standing
	}
	if !box.put(p) && p.kind == request {
		return fmt.Errorf("%w: %d messages wait already", ErrUndelivered, maxQueued)
	}
	return nil
}

// Close implements [rpc.Conn]: it ends the session.
func (s *session) Close() error {
	s.end()
	return nil
}

// end ends the session, once.
func (s *session) end() { s.endIf(false, func() bool { return true }) }

// expire puts the session to sleep if it is idle. A request may have come since the timer ran out.
func (s *session) expire() { s.endIf(true, func() bool { return s.active == 0 }) }

// yield puts the session to sleep if it is quiet, whether or not its client listens. It reports whether it did.
func (s *session) yield() bool { return s.endIf(true, func() bool { return s.active == s.streams }) }

// endIf ends the session if it has not ended and condition, which is called with the lock held, allows. A session that
// is dormant then goes on with its client's next request. Requests that wait are answered with an error; a 404 is what
// tells a client to open another session.
func (s *session) endIf(dormant bool, condition func() bool) bool {
	s.mu.Lock()
	if s.ended || !condition() {
		s.mu.Unlock()
		return false
	}
	s.ended = true
	s.expiry.Stop()
	status := http.StatusNotFound
	if !s.opened {
		status = http.StatusInternalServerError
	}
	for id, box := range s.waiting {
		box.put(failure(json.RawMessage(id), status, sessionOver))
	}
	clear(s.waiting)
	s.standing.seal()
	s.standing.release()
	close(s.done)
	dormant = dormant && s.opened && s.opening != nil
	s.mu.Unlock()
	s.cancel()
	s.forget(dormant)
	s.lease.Release()
	return true
}

// resume counts an HTTP request, for which pause must then be called. It returns false if the session is over.
func (s *session) resume() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.active++
	s.last = time.Now()
	s.expiry.Stop()
	return true
}

// pause undoes resume.
func (s *session) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	s.last = time.Now()
	if s.active == 0 && !s.ended {
		s.expiry.Reset(s.idle)
	}
}

// quiet tells since when the session has no request under way; false if it has one. Whether its client listens counts
// in idle.
func (s *session) quiet() (since time.Time, idle, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.active == 0, !s.ended && s.active == s.streams
}

// await returns an outbox for the response to the request with that id, nil if another request uses the id.
func (s *session) await(id json.RawMessage) *outbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[string(id)] != nil {
		return nil
	}
	box := newOutbox(s.maxBody, s.bytes)
	if s.ended {
		box.put(failure(id, http.StatusNotFound, sessionOver))
		return box
	}
	s.waiting[string(id)] = box
	return box
}

// abandon says that the client no longer waits at box.
func (s *session) abandon(id json.RawMessage, box *outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[string(id)] == box {
		delete(s.waiting, string(id))
	}
}

// accept hands m to Serve. It returns an error if the session or the client is gone before Serve takes it.
func (s *session) accept(ctx context.Context, m *rpc.Message) error {
	select {
	case s.in <- m:
		return nil
	case <-s.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attach makes a new standing stream take the place of the one before. When it is over, detach must be called.
func (s *session) attach() *outbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams++
	s.standing = s.standing.succeed()
	return s.standing
}

func (s *session) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams--
}
