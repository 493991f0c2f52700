package backend

import (
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/internal/upstream"
)

// A State is how a gateway stands with a server.
type State string

// The states. Of several connections to one server the one that is furthest counts.
const (
	Idle       State = "idle"        // not needed yet
	Ended      State = "ended"       // there was a connection, and the next request makes another
	Failed     State = "failed"      // the last attempt came to nothing; the first request after Retry makes another
	NeedsLogin State = "needs login" // nobody has logged in, or no longer; the next request looks again
	Connecting State = "connecting"  // an attempt is being made
	Connected  State = "connected"
)

// states orders the states by how far they are.
var states = []State{Idle, Ended, Failed, NeedsLogin, Connecting, Connected}

// A connState is the last known state of a connection: an immutable snapshot, because the lock is held while it is
// dialled.
type connState struct {
	state   State
	conn    *upstream.Conn // if connected
	err     error          // of the last failure
	errTime time.Time
	retry   time.Time // if failed
}

// The serverStats count the requests to one server, and keep that it needs a login when the host that found out has
// left.
type serverStats struct {
	calls, inFlight atomic.Int64
	login           atomic.Pointer[connState] // nil: not needed, as far as is known
}

// begin counts a request, which is in flight until end is called.
func (s *serverStats) begin() {
	s.calls.Add(1)
	s.inFlight.Add(1)
}

func (s *serverStats) end() { s.inFlight.Add(-1) }

// saw notes the state of the connection. The lock must be held. An error stays until there is another.
func (d *dialer) saw(state State, err error) {
	s := connState{state: state, conn: d.conn, retry: d.pause.until}
	if last := d.current.Load(); last != nil {
		s.err, s.errTime = last.err, last.errTime
	}
	if err != nil {
		s.err, s.errTime = err, time.Now()
	}
	d.current.Store(&s)
}

// trying notes that the server is being dialled, until done is called and nothing else was noted.
func (d *dialer) trying() (done func()) {
	before := d.current.Load()
	d.saw(Connecting, nil)
	now := d.current.Load()
	return func() { d.current.CompareAndSwap(now, before) }
}
