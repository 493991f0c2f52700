package backend

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/upstream"
)

// A ServerStatus is how a gateway stands with one server, over all connections to it.
type ServerStatus struct {
	Name        string
	Trust       contract.Trust // that counts
	Lowered     bool           // the operator trusts it more
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

// add joins the state of one connection into the status of its server.
func (s *ServerStatus) add(seen *connState) {
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

// Status returns the number of sets of connections, and how the gateway stands with each server. It waits for no
// server.
func (r *Registry) Status() (sets int, servers []ServerStatus) {
	var counts struct { // are read without the lock, for which hosts wait
		unreviewed map[string]pins.Counts
		trust      map[string]contract.Trust
	}
	if r.Pins != nil {
		counts.unreviewed, _ = r.Pins.Unreviewed() // calls fail if this does
	}
	if r.Conduct.Trust != nil {
		counts.trust = map[string]contract.Trust{}
		for _, server := range r.Configured() {
			trust, err := r.Conduct.Trust(context.Background(), &server)
			if err != nil {
				trust = []contract.Trust{contract.Untrusted}
			}
			counts.trust[server.Name] = trust[0]
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, server := range r.servers {
		one := ServerStatus{Name: server.Name, Trust: server.Trust, State: Idle}
		if trust, ok := counts.trust[server.Name]; ok {
			one.Trust, one.Lowered = min(trust, server.Trust), trust < server.Trust
		}
		one.Unreviewed = counts.unreviewed[server.Name].Unvouched(one.Trust != contract.Untrusted)
		m := r.statsOf(server.Name)
		one.Calls, one.InFlight = m.calls.Load(), m.inFlight.Load()
		for set := range r.sets {
			for _, c := range set.All() {
				if c.Name() == server.Name {
					one.add(c.current.Load())
				}
			}
		}
		one.add(m.login.Load())
		slices.Sort(one.Protocols)
		one.Protocols = slices.Compact(one.Protocols)
		slices.Sort(one.PIDs)
		servers = append(servers, one)
	}
	return len(r.sets), servers
}
