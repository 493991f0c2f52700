package gateway

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/policy"
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

// A Status is how a gateway does at one moment.
type Status struct {
	Policy    *policy.Policy // what decides
	Mode      policy.Mode
	Hosts     int // connections of hosts; over HTTP in 2026-07-28, clients that differ in principal or capabilities; sessions that share servers are one
	Questions int // open ones
	Budget    []budget.Usage
	Servers   []ServerStatus

	Conversation *conversation.Note // of the last request on stdio; nil if there is none that could begin anew
}

// A ServerStatus is how a gateway stands with one server, over all connections to it.
type ServerStatus struct {
	Name        string
	Trust       contract.Trust
	State       State
	Connections int       // that are open
	Protocols   []string  // revisions of the open ones, sorted, each once
	PIDs        []int     // processes of the open ones, sorted
	Calls       int64     // requests on behalf of hosts since the start, with those in flight
	InFlight    int64     // of these
	Err         error     // of the last failure; nil if there was none
	ErrTime     time.Time // when that was
	Retry       time.Time // in state Failed: before when no further attempt is made
	Unreviewed  int       // definitions that nobody vouches for
}

// Status returns how the gateway does. It waits for no server.
func (g *Gateway) Status() Status {
	s := Status{Questions: g.book.Count(), Budget: g.opts.Budget.Usage()}
	s.Policy, s.Mode = g.guard.Rules()
	if key := g.current.Load(); key != nil {
		if n, ok, err := g.opts.Local.Book.Find(conversation.KeyOf(*key)); err == nil && ok {
			s.Conversation = &n
		}
	}
	g.roster.mu.Lock()
	defer g.roster.mu.Unlock()
	s.Hosts = len(g.roster.sets)
	var counts map[string]pins.Counts
	if g.opts.Pins != nil {
		counts, _ = g.opts.Pins.Unreviewed() // calls fail if this does
	}
	for _, server := range g.roster.servers {
		one := ServerStatus{Name: server.Name, Trust: server.Trust, State: Idle}
		one.Unreviewed = counts[server.Name].Unvouched(server.Trust != contract.Untrusted)
		m := g.roster.meter(server.Name)
		one.Calls, one.InFlight = m.calls.Load(), m.inFlight.Load()
		for set := range g.roster.sets {
			for _, l := range set.all() {
				if l.server.Name == server.Name {
					one.add(l.seen.Load())
				}
			}
		}
		one.add(m.login.Load())
		slices.Sort(one.Protocols)
		one.Protocols = slices.Compact(one.Protocols)
		slices.Sort(one.PIDs)
		s.Servers = append(s.Servers, one)
	}
	return s
}

// add joins how one link does into the status of its server.
func (s *ServerStatus) add(seen *sight) {
	if seen == nil {
		return
	}
	state := seen.state
	if state == Connected {
		select {
		case <-seen.conn.Done():
			state = Ended
			if err := seen.conn.Err(); errors.Is(err, upstream.ErrLogin) {
				state, s.Err, s.ErrTime = NeedsLogin, err, time.Now()
			}
		default:
			s.Connections++
			s.Protocols = append(s.Protocols, seen.conn.Protocol())
			if pid := seen.conn.PID(); pid != 0 {
				s.PIDs = append(s.PIDs, pid)
			}
		}
	}
	if state == Failed && (s.Retry.IsZero() || seen.retry.Before(s.Retry)) {
		s.Retry = seen.retry
	}
	if seen.err != nil && seen.errTime.After(s.ErrTime) {
		s.Err, s.ErrTime = seen.err, seen.errTime
	}
	s.State = slices.MaxFunc([]State{s.State, state}, func(a, b State) int {
		return cmp.Compare(slices.Index(states, a), slices.Index(states, b))
	})
}

// A sight is what was last seen of a link: an immutable snapshot, because the link's lock is held while it is dialled.
type sight struct {
	state   State
	conn    *upstream.Conn // if connected
	err     error          // of the last failure
	errTime time.Time
	retry   time.Time // if failed
}

// saw notes the state of the link, which the link's lock must be held for. An error stays until there is another.
func (l *link) saw(state State, err error) {
	s := sight{state: state, conn: l.conn, retry: l.pause.until}
	if last := l.seen.Load(); last != nil {
		s.err, s.errTime = last.err, last.errTime
	}
	if err != nil {
		s.err, s.errTime = err, time.Now()
	}
	l.seen.Store(&s)
}

// trying notes that the link is being dialled, until done is called and nothing else was noted.
func (l *link) trying() (done func()) {
	before := l.seen.Load()
	l.saw(Connecting, nil)
	now := l.seen.Load()
	return func() { l.seen.CompareAndSwap(now, before) }
}

// A meter counts the requests to one server, and keeps that it needs a login when the host that found out has left.
type meter struct {
	calls, inFlight atomic.Int64
	login           atomic.Pointer[sight] // nil: not needed, as far as is known
}

// begin counts a request, which is in flight until end is called.
func (m *meter) begin() {
	m.calls.Add(1)
	m.inFlight.Add(1)
}

func (m *meter) end() { m.inFlight.Add(-1) }

// meter returns the meter of a server, which outlives its links. The lock must be held.
func (r *roster) meter(server string) *meter {
	m := r.meters[server]
	if m == nil {
		m = &meter{}
		r.meters[server] = m
	}
	return m
}
