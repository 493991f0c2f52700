package trace

import "sync"

// A Room is bounded memory, which may be shared with other parts of the program. It is safe for concurrent use, and its
// methods do not block.
type Room interface {
	Grow(n int64) bool // takes n bytes, or nothing if there are not so many
	Shrink(n int64)    // gives n bytes back
	Evicted()          // says that an agent session was forgotten to make room
}

// ownRoom is the room of a memory that shares none.
type ownRoom struct {
	mu   sync.Mutex
	left int64
}

func (r *ownRoom) Grow(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > r.left {
		return false
	}
	r.left -= n
	return true
}

func (r *ownRoom) Shrink(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left += n
}

func (r *ownRoom) Evicted() {}
