package guard

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/speech"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
	"github.com/weir-mcp/weir/session"
)

// Bounds of what is remembered of sessions beside their labels.
const (
	defaultMemory   = 32 << 20 // bytes of all sessions together; the process has twice that, with what waits to be collected
	maxDestinations = 1024     // of a session, and as many sites; any further one counts as the first time
	maxMessages     = 1024     // of the user in a session
	maxRecent       = 64       // calls of a session of which the time is kept
	recent          = time.Minute
)

// memories are what a guard remembers of agent sessions to trace values by. All of it is in memory and bounded: the
// session that was used the longest ago goes first. A session that was forgotten begins anew, and knows nothing then:
// every value is novel, every destination is the first.
type memories struct {
	mu    sync.Mutex
	room  Room
	all   map[string]*list.Element // of *memory, by session key
	order list.List                // the one used last in front
}

// A memory is what is remembered of one agent session.
type memory struct {
	key    string
	parent string // its key, "" if there is none; guarded by memories.mu
	size   int64  // as taken of memories.room

	mu           sync.Mutex
	index        *provenance.Index
	messages     map[[sha256.Size]byte]bool // what the user wrote
	words        string                     // the same, as text
	wishes       []string                   // what of it says what to do
	lastMessage  time.Time
	destinations map[string]bool
	named        map[string]bool // places in the wishes
	sites        map[string]bool // hosts in the wishes, and those that requests went to
	wished       map[string]bool // hosts of those alone
	offers
	told     account
	sent     int
	calls    []time.Time // of the last minute
	grants   map[string]grant
	arrivals arrivals
	entries  int // as counted in texts
	texts    int // bytes in maps

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
		s := e.Value.(*memory)
		if s.parent == "" {
			s.parent = ref.Parent
		}
		return s
	}
	if m.all == nil {
		m.all = map[string]*list.Element{}
	}
	s := &memory{
		key: key, parent: ref.Parent, index: provenance.New(provenance.Options{}), messages: map[[sha256.Size]byte]bool{},
		destinations: map[string]bool{}, named: map[string]bool{}, wished: map[string]bool{}, sites: map[string]bool{}, grants: map[string]grant{},
		offers: offers{things: map[thing]string{}, ids: map[thing]string{}},
	}
	if trusted != "" {
		s.hear(trusted, now)
	}
	m.all[key] = m.order.PushFront(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	m.account(s)
	return s
}

// account takes room for what a memory has grown by, and forgets others if there is none. What there is no room for even then counts when
// there is. The lock must be held, and that of s.
func (m *memories) account(s *memory) {
	size := s.takes()
	if size <= s.size {
		m.room.Shrink(s.size - size)
		s.size = size
		return
	}
	for !m.room.Grow(size - s.size) {
		last := m.order.Back()
		if last == nil || last.Value.(*memory) == s {
			return
		}
		old := m.order.Remove(last).(*memory)
		delete(m.all, old.key)
		m.room.Shrink(old.size)
		m.room.Evicted()
	}
	s.size = size
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
		if !ok {
			m.mu.Unlock()
			return
		}
		s := e.Value.(*memory)
		key = s.parent
		m.mu.Unlock()
		s.mu.Lock()
		f(s)
		s.mu.Unlock()
	}
}

// begin sees to it that there is a memory of a session above another one. If late, the one below has much to tell already, and what others below
// the same have told is not known: before a restart, or before the memory was forgotten.
func (m *memories) begin(ref session.Ref, late bool, trusted string, now time.Time) {
	m.mu.Lock()
	_, ok := m.all[ref.Key]
	m.mu.Unlock()
	if ok || ref.Key == "" {
		return
	}
	s := m.of(ref, trusted, now)
	if late {
		s.mu.Lock()
		s.told.unseen = 1
		s.mu.Unlock()
	}
}

// doubt has the index take nothing for trusted that may be strangers' text come back, if the session was, or may have been,
// given such text and passed it on elsewhere: before this memory began, in another process, in a session below or above it.
func (s *memory) doubt(f *policy.SessionFacts) {
	if f.Label.Untrusted && (!s.traced || !s.strangers || s.told.foreign(f.Calls) > 0) {
		s.index.Doubt()
	}
	s.traced = true
}

// maxWords is how much is kept of what the user wrote, in bytes.
const maxWords = 64 << 10

// pasted is the source of text that the user passed on.
const pasted = "user?pasted"

// hear takes in what the user wrote. The same text again is the same message, sent along with another request. It reports
// whether there was room.
func (s *memory) hear(text string, now time.Time) bool {
	sum := sha256.Sum256([]byte(text))
	if s.messages[sum] {
		return true
	}
	if len(s.messages) >= maxMessages || len(s.words)+len(text) > maxWords {
		return false
	}
	said := speech.Read(text)
	for _, own := range said.Own {
		if !s.index.AddUser(own) {
			return false
		}
	}
	for _, theirs := range said.Pasted {
		s.index.Add(provenance.Source{URI: pasted, Kinds: provenance.Untrusted}, theirs)
	}
	for _, wish := range said.Wishes {
		s.name(wish)
	}
	s.wishes = append(s.wishes, said.Wishes...)
	s.messages[sum] = true
	if s.words != "" {
		s.words += "\n"
	}
	s.words += text
	s.lastMessage = now
	return true
}

// about fills in what is known of the session.
func (s *memory) about(f *policy.SessionFacts, now time.Time) {
	f.Sent = s.sent
	f.UserWords = s.words != ""
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
	if len(s.calls) >= maxRecent {
		s.calls = s.calls[1:]
	}
	s.calls = append(s.calls, now)
	if !f.Egress() {
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
