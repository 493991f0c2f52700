package trace

import (
	"container/list"
	"sync"
	"time"

	"github.com/weir-mcp/weir/session"
)

// defaultRoom is the room of all sessions together, in bytes. The process has twice that, with garbage to be collected.
const defaultRoom = 32 << 20

// A Memory is all that tracers remember of agent sessions. The session that
// was used the longest ago is evicted first. Make one with [NewMemory].
type Memory struct {
	trusted string // text that is trusted in every session
	now     func() time.Time

	behind chan *sessionTrace // some of those with texts that wait

	mu    sync.Mutex
	room  Room
	all   map[string]*list.Element // of *sessionTrace, by session key
	order list.List                // the one used last in front

	common *Memory           // of the conversations of which shares says so; nil if there are none
	shares func(string) bool // by session key
}

// MemoryOptions configures a Memory.
type MemoryOptions struct {
	TrustText string           // text that counts as the user's own in every session
	Room      Room             // nil: 32 MiB of the memory's own
	Now       func() time.Time // nil: time.Now
}

// NewMemory returns one that remembers nothing yet.
func NewMemory(opts MemoryOptions) *Memory {
	if opts.Room == nil {
		opts.Room = &ownRoom{left: defaultRoom}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Memory{room: opts.Room, trusted: opts.TrustText, now: opts.Now, behind: make(chan *sessionTrace, maxBehind)}
}

// Beside returns a memory that has the conversations in common with this one of whose session keys shares says so:
// words, calls and results in one such memory make the decisions by others stricter, never less strict. The answer for
// a key must never change.
func (m *Memory) Beside(own MemoryOptions, shares func(key string) bool) *Memory {
	beside := NewMemory(own)
	beside.common, beside.shares = m, shares
	return beside
}

// of returns the trace of a session.
func (m *Memory) of(ref session.Ref) *sessionTrace {
	var within, before *sessionTrace
	if m.common != nil && m.shares(ref.Key) {
		within = m.common.of(ref)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.all[ref.Key]; ok {
		s := e.Value.(*sessionTrace)
		if s.within == within {
			m.order.MoveToFront(e)
			if s.parent == "" {
				s.parent = ref.Parent
			}
			return s
		}
		m.drop(e) // the conversation was evicted, maybe because others needed room
		before = s
	}
	if m.all == nil {
		m.all = map[string]*list.Element{}
	}
	s := newSessionTrace(ref, within)
	if before != nil {
		s.follow(before)
	}
	if m.trusted != "" {
		s.addUserMessage(m.trusted, m.now())
	}
	m.all[ref.Key] = m.order.PushFront(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	m.account(s, s.memory())
	return s
}

// account takes room for the growth of a trace to a size, and evicts others if there is none. Growth without room even
// then counts when there is. The lock must be held.
func (m *Memory) account(s *sessionTrace, size int64) {
	size += int64(len(s.parent)) // which this lock guards
	if size <= s.size {
		m.room.Shrink(s.size - size)
		s.size = size
		return
	}
	for !m.room.Grow(size - s.size) {
		last := m.order.Back()
		if last == nil || last.Value.(*sessionTrace) == s {
			return
		}
		m.drop(last)
		m.room.Evicted()
	}
	s.size = size
}

// drop forgets a trace. The lock must be held.
func (m *Memory) drop(e *list.Element) {
	old := m.order.Remove(e).(*sessionTrace)
	delete(m.all, old.key)
	m.room.Shrink(old.size)
}

// change calls f with the trace locked, and counts its memory afterwards. Other sessions do not wait for it.
func (m *Memory) change(s *sessionTrace, f func()) {
	if s.within != nil {
		defer m.common.change(s.within, func() {})
	}
	s.mu.Lock()
	f()
	size := s.memory()
	s.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.all[s.key]; ok && e.Value == s {
		m.account(s, size)
	}
}

// maxBehind bounds the sessions of which [Tracer.Work] knows that texts wait.
const maxBehind = 256

// above calls f with the traces of the session's ancestors, as far as there are any, each of them locked.
func (m *Memory) above(ref session.Ref, f func(*sessionTrace)) {
	const deepest = 64
	for key, n := ref.Parent, 0; key != "" && n < deepest; n++ {
		s, parent := m.known(key)
		if s == nil {
			return
		}
		key = parent
		s.mu.Lock()
		f(s)
		s.mu.Unlock()
	}
}

// known returns the trace of a session and the key of its parent, if there is one here or in common.
func (m *Memory) known(key string) (s *sessionTrace, parent string) {
	if m.common != nil && m.shares(key) {
		if s, parent = m.common.known(key); s != nil {
			s = m.of(session.Ref{Key: key, Parent: parent})
		}
		return s, parent
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.all[key]; ok {
		s = e.Value.(*sessionTrace)
		parent = s.parent
	}
	return s, parent
}

// begin makes sure that there is a trace of a session above another one. If late, the session below has much to tell
// already, and the amount that others below the same have told is not known: before a restart, or before the trace was
// evicted.
func (m *Memory) begin(ref session.Ref, late bool) {
	if ref.Key == "" {
		return
	}
	if s, _ := m.known(ref.Key); s != nil {
		return
	}
	s := m.of(ref)
	if late {
		s.mu.Lock()
		s.unseen = 1
		s.mu.Unlock()
	}
}
