package streamable

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/budget"
)

// A register holds the connections of a handler: sessions, those that sleep, and single requests.
type register struct {
	limits  *budget.Budget
	running sync.WaitGroup // connections and requests being served
	waking  sync.Mutex     // held while a session is looked for, before mu

	mu       sync.Mutex
	closed   bool
	draining bool // requests are refused, and all else is taken
	sessions map[string]*session
	dormant  dormant
	posts    map[*exchange]struct{}
}

func newRegister(limits *budget.Budget) *register {
	return &register{limits: limits, sessions: map[string]*session{}, posts: map[*exchange]struct{}{}}
}

// shut closes the register and returns all that was in it.
func (r *register) shut() (map[string]*session, map[*exchange]struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	sessions, posts := r.sessions, r.posts
	r.sessions, r.posts = map[string]*session{}, map[*exchange]struct{}{}
	r.dormant = dormant{}
	return sessions, posts
}

// enter admits an HTTP request, which brings a new request of the client or something else, and for which
// r.running.Done must then be called.
func (r *register) enter(asks bool) *refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || asks && r.draining {
		return unavailable("server is shutting down")
	}
	r.running.Add(1)
	return nil
}

// add enters x into the books, which keep Close waiting until it is removed.
func (r *register) add(x *exchange) *refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return unavailable("server is shutting down")
	}
	r.posts[x] = struct{}{}
	r.running.Add(1)
	return nil
}

func (r *register) remove(x *exchange) {
	r.mu.Lock()
	delete(r.posts, x)
	r.mu.Unlock()
	r.running.Done()
}

// enroll enters a session, and keeps Close waiting until running.Done is called.
func (r *register) enroll(s *session) *refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return unavailable("server is shutting down")
	}
	r.sessions[s.id] = s
	r.running.Add(1)
	return nil
}

// look returns the session with that id, or takes out the sleeping one of that principal.
func (r *register) look(id, principal string) (*session, *sleeper) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[id], r.dormant.of(id, principal)
}

// putBack has a session go on sleeping.
func (r *register) putBack(d *sleeper) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.dormant.add(d)
	}
}

// forget takes a session out of the books, or leaves it to sleep in them.
func (r *register) forget(s *session, sleeps bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, s.id)
	if sleeps && !r.closed {
		r.dormant.add(&sleeper{s.id, s.principal, s.opening, time.Now().Add(dormantLife)})
	}
}

// roomForSession takes room for a session of a principal; nil if there is none. At the limit that one gives way which
// has been quiet for the longest time, of the principal that has the most.
func (r *register) roomForSession(principal string) *budget.Lease {
	pool := r.limits.Sessions
	for {
		lease, ok := pool.Acquire(1)
		if ok {
			return lease
		}
		if !r.yieldOne(principal) {
			pool.Refused()
			return nil
		}
		pool.Evicted()
	}
}

// yieldOne has a session give way to one of a principal.
func (r *register) yieldOne(to string) bool {
	for _, s := range r.inOrder(to) {
		if s.yield() {
			return true
		}
	}
	return false
}

// inOrder returns the sessions that could give way to one of a principal, the first of them first: those of the
// principal that has the most, then its own; those without a stream before the others; those that have been quiet for
// longer before others. So a principal with few loses none to one with many.
func (r *register) inOrder(to string) (all []*session) {
	r.mu.Lock()
	counts := map[string]int{}
	for _, s := range r.sessions {
		counts[s.principal]++
		all = append(all, s)
	}
	r.mu.Unlock()
	most := to
	for p, n := range counts {
		if n > counts[most] {
			most = p
		}
	}
	type state struct {
		since time.Time
		idle  bool
	}
	states := map[*session]state{}
	all = slices.DeleteFunc(all, func(s *session) bool {
		since, idle, quiet := s.quiet()
		states[s] = state{since, idle}
		return !quiet || s.principal != most && s.principal != to
	})
	slices.SortFunc(all, func(a, b *session) int {
		if a.principal != b.principal {
			return order(a.principal == most)
		}
		if states[a].idle != states[b].idle {
			return order(states[a].idle)
		}
		return states[a].since.Compare(states[b].since)
	})
	return all
}

// order is that of two things of which the first, or else the second, comes first.
func order(first bool) int {
	if first {
		return -1
	}
	return 1
}

// drainLook is how often Drain looks whether all is answered.
const drainLook = 10 * time.Millisecond

// Drain has the handler take no further requests, answers that clients owe and cancellations excepted, and waits until
// every request in flight is answered or ctx ends. Requests of subscriptions/listen have no answer to wait for. Close
// still has to be called.
func (r *register) Drain(ctx context.Context) {
	r.mu.Lock()
	r.draining = true
	r.mu.Unlock()
	look := time.NewTicker(drainLook)
	defer look.Stop()
	for r.inFlight() > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// inFlight counts the requests that clients wait for.
func (r *register) inFlight() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for x := range r.posts {
		if x.msg.IsRequest() && x.msg.Method != "subscriptions/listen" {
			n++
		}
	}
	for _, s := range r.sessions {
		s.mu.Lock()
		n += len(s.waiting)
		s.mu.Unlock()
	}
	return n
}
