package guard

import "sync"

// A Room is bounded memory, which may be shared with others. It is used concurrently, and its methods do not wait.
type Room interface {
	Grow(n int64) bool // takes n bytes, or nothing if there are not so many
	Shrink(n int64)    // gives n bytes back
	Evicted()          // says that an agent session was forgotten to make room
}

// A room is a guard's own.
type room struct {
	mu   sync.Mutex
	left int64
}

func (r *room) Grow(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > r.left {
		return false
	}
	r.left -= n
	return true
}

func (r *room) Shrink(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left += n
}

func (r *room) Evicted() {}

// What a memory takes beside its texts, in bytes: itself, and each entry of its maps and lists.
const (
	ownSize   = 1200
	entrySize = 64
)

// takes returns about how many bytes a memory has. The lock must be held.
func (s *memory) takes() int64 {
	entries := len(s.wishes) + len(s.messages) + len(s.grants) + len(s.arrivals.servers) + len(s.told.spent) + len(s.told.paid) +
		len(s.destinations) + len(s.named) + len(s.sites) + len(s.wished) + len(s.things) + len(s.ids)
	if entries != s.entries { // else they are the same: none is taken out but with another put in
		s.entries, s.texts = entries, s.textSize()
	}
	return int64(ownSize + s.index.Size() + entries*entrySize + s.texts + 2*len(s.words) + len(s.key) + len(s.parent))
}

// textSize adds up the texts in maps.
func (s *memory) textSize() (n int) {
	for _, set := range []map[string]bool{s.destinations, s.named, s.sites, s.wished, s.arrivals.servers} {
		for text := range set {
			n += len(text)
		}
	}
	for _, names := range []map[thing]string{s.things, s.ids} {
		for of, name := range names {
			n += len(of.server) + len(of.text) + len(name)
		}
	}
	for _, amounts := range []map[string]int{s.told.spent, s.told.paid} {
		for key := range amounts {
			n += len(key)
		}
	}
	for scope, g := range s.grants {
		n += len(scope)
		for a := range g.shown {
			n += len(a.Path) + len(a.Text) + entrySize
		}
	}
	return n
}
