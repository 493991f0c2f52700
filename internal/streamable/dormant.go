package streamable

import (
	"container/list"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/rpc"
)

// Bounds of the sessions that sleep.
const (
	maxOpening   = 8 << 10 // bytes of the initialize of a session that can sleep
	maxDormant   = 10_000  // sessions
	dormantBytes = 8 << 20 // of their records
	dormantLife  = 24 * time.Hour
)

// wakingID is the id of the initialize that opens a session again. No client hears of it.
var wakingID = json.RawMessage(`"weir-wakes"`)

// A sleeper is all that is left of a session that was idle: enough to open it again under its id. So a conversation that pauses costs
// next to nothing, and its label, which belongs to the id, is not lost.
type sleeper struct {
	id, principal string
	opening       *rpc.Message
	until         time.Time
}

func (d *sleeper) size() int { return len(d.opening.Params) + 512 }

// dormant are the sessions that sleep. The oldest give way. The zero dormant is empty.
type dormant struct {
	by    map[string]*list.Element // of *sleeper
	order list.List                // the oldest in front
	size  int
}

// of takes out a session of that principal; nil if there is none.
func (d *dormant) of(id, principal string) *sleeper {
	e := d.by[id]
	if e == nil || e.Value.(*sleeper).principal != principal {
		return nil
	}
	return d.drop(e)
}

// drop takes a session out. It returns nil if that has slept too long.
func (d *dormant) drop(e *list.Element) *sleeper {
	s := d.order.Remove(e).(*sleeper)
	delete(d.by, s.id)
	d.size -= s.size()
	if !time.Now().Before(s.until) {
		return nil
	}
	return s
}

// add puts a session in.
func (d *dormant) add(s *sleeper) {
	if d.by == nil {
		d.by = map[string]*list.Element{}
	}
	d.by[s.id] = d.order.PushBack(s)
	d.size += s.size()
	for len(d.by) > maxDormant || d.size > dormantBytes || !time.Now().Before(d.order.Front().Value.(*sleeper).until) {
		d.drop(d.order.Front())
	}
}

// forget takes a session out of the books, or leaves it to sleep in them.
func (h *Handler) forget(s *session, sleeps bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, s.id)
	if sleeps && !h.closed {
		h.dormant.add(&sleeper{s.id, s.principal, s.opening, time.Now().Add(dormantLife)})
	}
}

// find finds the session that r names. If it slept it was opened again, under its id and with the same initialize, whose answer will be in the
// outbox. The caller must pause it.
func (h *Handler) find(r *http.Request) (*session, *outbox, *refusal) {
	id, by := r.Header.Get(sessionHeader), principal(r.Context())
	h.waking.Lock()
	defer h.waking.Unlock()
	h.mu.Lock()
	s, d := h.sessions[id], h.dormant.of(id, by)
	h.mu.Unlock()
	if d == nil {
		if s == nil || s.principal != by || !s.resume() {
			return nil, nil, noSession()
		}
		return s, nil, nil
	}
	s, f := h.newSession(r, d.id, d.opening)
	if f != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.closed {
			h.dormant.add(d)
		}
		return nil, nil, f
	}
	box := s.await(wakingID)
	s.in <- d.opening // there is room: nobody else has the session yet
	return s, box, nil
}

// answer waits for the response, and passes over earlier messages.
func (b *outbox) answer(ctx context.Context) (part, error) {
	for {
		switch p, ok, over := b.next(); {
		case ok && p.kind == response:
			return p, nil
		case ok:
			continue
		case over:
			return part{}, errEnded
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			return part{}, ctx.Err()
		}
	}
}

// roomForSession takes room for a session of a principal; nil if there is none. At the limit that one gives way which has been quiet for the
// longest time, of the principal that has the most.
func (h *Handler) roomForSession(principal string) *budget.Lease {
	pool := h.opts.Budget.Sessions
	for {
		lease, ok := pool.Acquire(1)
		if ok {
			return lease
		}
		if !h.yieldOne(principal) {
			pool.Refused()
			return nil
		}
		pool.Evicted()
	}
}

// Yield puts the session to sleep that has been quiet for the longest time, and reports whether there was one. What it takes at servers is
// given back soon.
func (h *Handler) Yield() bool {
	if !h.yieldOne("") {
		return false
	}
	h.opts.Budget.Sessions.Evicted()
	return true
}

// yieldOne has a session give way to one of a principal.
func (h *Handler) yieldOne(to string) bool {
	for _, s := range h.inOrder(to) {
		if s.yield() {
			return true
		}
	}
	return false
}

// inOrder returns the sessions that could give way to one of a principal, the first of them first: those of the principal that has the most,
// then its own; those without a stream before the others; those that have been quiet for longer before others. So a principal with
// few loses none to one with many.
func (h *Handler) inOrder(to string) (all []*session) {
	h.mu.Lock()
	counts := map[string]int{}
	for _, s := range h.sessions {
		counts[s.principal]++
		all = append(all, s)
	}
	h.mu.Unlock()
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
