package guard

import (
	"container/list"
	"crypto/sha256"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
	"github.com/weir-mcp/weir/session"
)

// Bounds of what is remembered of sessions beside their labels.
const (
	defaultMemory   = 112 << 20 // bytes of all sessions together; twice that, with what waits to be collected, leaves a process below 300 MB
	maxDestinations = 1024      // of a session, and as many sites; any further one counts as the first time
	maxMessages     = 1024      // of the user in a session
	maxRecent       = 64        // calls of a session of which the time is kept
	recent          = time.Minute
)

// memories are what a guard remembers of agent sessions to trace values by. All of it is in memory and bounded: the
// session that was used the longest ago goes first. A session that was forgotten begins anew, and knows nothing then:
// every value is novel, every destination is the first.
type memories struct {
	mu    sync.Mutex
	limit int
	size  int
	all   map[string]*list.Element // of *memory, by session key
	order list.List                // the one used last in front
}

// A memory is what is remembered of one agent session.
type memory struct {
	key    string
	parent string // its key, "" if there is none
	size   int    // as counted in memories.size

	mu           sync.Mutex
	index        *provenance.Index
	messages     map[[sha256.Size]byte]bool // what the user wrote
	lastMessage  time.Time
	destinations map[string]bool
	sites        map[string]bool // hosts in the user's words, and those that requests went to
	noted        int             // calls that went out
	sent         int
	calls        []time.Time // of the last minute
	grants       map[string]grant

	traced    bool // it has been asked where values come from
	strangers bool // strangers' data entered the session here
}

// of returns the memory of a session, with the text that is trusted in every session.
func (m *memories) of(ref session.Ref, trusted string, now time.Time) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := ref.Key
	if e, ok := m.all[key]; ok {
		m.order.MoveToFront(e)
		return e.Value.(*memory)
	}
	if m.all == nil {
		m.all = map[string]*list.Element{}
	}
	s := &memory{
		key: key, parent: ref.Parent, index: provenance.New(provenance.Options{}), messages: map[[sha256.Size]byte]bool{},
		destinations: map[string]bool{}, sites: map[string]bool{}, grants: map[string]grant{},
	}
	if trusted != "" {
		s.hear(trusted, now)
	}
	m.all[key] = m.order.PushFront(s)
	m.account(s)
	return s
}

// account counts what a memory takes, and forgets others if it is too much.
func (m *memories) account(s *memory) {
	const own = 4 << 10
	size := s.index.Size() + own
	m.size += size - s.size
	s.size = size
	for m.size > m.limit && m.order.Len() > 1 {
		last := m.order.Back()
		old := last.Value.(*memory)
		if old == s {
			return
		}
		m.order.Remove(last)
		delete(m.all, old.key)
		m.size -= old.size
	}
}

// change calls f with the memory locked, and counts what it takes afterwards.
func (m *memories) change(s *memory, f func()) {
	s.mu.Lock()
	f()
	s.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := m.all[s.key]; ok {
		m.account(s)
	}
}

// above calls f with the memories of the session's ancestors, as far as there are any, each of them locked.
func (m *memories) above(ref session.Ref, f func(*memory)) {
	const deepest = 64
	for key, n := ref.Parent, 0; key != "" && n < deepest; n++ {
		m.mu.Lock()
		e, ok := m.all[key]
		m.mu.Unlock()
		if !ok {
			return
		}
		s := e.Value.(*memory)
		s.mu.Lock()
		f(s)
		s.mu.Unlock()
		key = s.parent
	}
}

// doubt has the index take nothing for trusted that may be strangers' text come back, if the session was, or may have been,
// given such text and passed it on elsewhere: before this memory began, in another process, in a session below or above it.
func (s *memory) doubt(f *policy.SessionFacts) {
	if f.Label.Untrusted && (!s.traced || !s.strangers || f.Calls > s.noted) {
		s.index.Doubt()
	}
	s.traced = true
}

// hear takes in what the user wrote. The same text again is the same message, sent along with another request. It reports
// whether there was room.
func (s *memory) hear(text string, now time.Time) bool {
	sum := sha256.Sum256([]byte(text))
	if s.messages[sum] {
		return true
	}
	if len(s.messages) >= maxMessages || !s.index.AddUser(text) {
		return false
	}
	s.messages[sum] = true
	for _, address := range addresses(text) {
		if !strings.Contains(address, "@") {
			s.visit(address)
		}
	}
	s.lastMessage = now
	return true
}

// about fills in what is known of the session.
func (s *memory) about(f *policy.SessionFacts, now time.Time) {
	f.Sent = s.sent
	f.UserWords = s.index.UserWords() != ""
	if !s.lastMessage.IsZero() {
		f.SinceUser = max(now.Sub(s.lastMessage), 0)
	}
	for _, t := range s.calls {
		if now.Sub(t) < recent {
			f.Recent++
		}
	}
}

// went notes that a call goes out.
func (s *memory) went(f *policy.Facts, now time.Time) {
	s.noted++
	if len(s.calls) >= maxRecent {
		s.calls = s.calls[1:]
	}
	s.calls = append(s.calls, now)
	if !f.Sends() {
		return
	}
	s.sent++
	if f.PlainRead() { // what was looked at is not a place to send something to
		for d := range f.Call.Destinations.All() {
			s.visit(d)
		}
		return
	}
	for d := range f.Call.Destinations.All() {
		if len(s.destinations) < maxDestinations {
			s.destinations[d] = true
		}
	}
}
