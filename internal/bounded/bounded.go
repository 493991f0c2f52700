// Package bounded keeps state that clients, servers and sessions cause within fixed limits: a map that evicts its
// oldest entry, and a counter of events in a window of time.
//
//	seen := bounded.NewMap[string, time.Time](4096)
//	seen.Set(key, now)
//
// Neither is safe for concurrent use: the caller holds its own lock.
package bounded

import "time"

// A Map holds a limited number of entries. An entry beyond the limit evicts the one that was set longest ago.
type Map[K comparable, V any] struct {
	limit   int
	entries map[K]entry[V]
	order   []place[K] // oldest first, with places of entries that were set again or deleted
	sets    uint64
}

// An entry is a value with the number of the call of Set that set it.
type entry[V any] struct {
	value V
	set   uint64
}

// A place is a key in the order. It is stale unless its entry has the same number.
type place[K comparable] struct {
	key K
	set uint64
}

// NewMap returns an empty map of at most limit entries, which is at least 1.
func NewMap[K comparable, V any](limit int) *Map[K, V] {
	return &Map[K, V]{limit: max(limit, 1), entries: map[K]entry[V]{}}
}

// Len returns the number of entries.
func (m *Map[K, V]) Len() int { return len(m.entries) }

// Get returns the value of a key, and whether there is one.
func (m *Map[K, V]) Get(key K) (V, bool) {
	e, ok := m.entries[key]
	return e.value, ok
}

// Set sets the value of a key, which becomes the newest.
func (m *Map[K, V]) Set(key K, value V) {
	m.sets++
	m.entries[key] = entry[V]{value, m.sets}
	m.order = append(m.order, place[K]{key, m.sets})
	for len(m.entries) > m.limit {
		m.drop(m.order[0])
		m.order = m.order[1:]
	}
	if len(m.order) > 2*m.limit {
		m.compact()
	}
}

// Delete removes a key, and reports whether it was there.
func (m *Map[K, V]) Delete(key K) bool {
	_, ok := m.entries[key]
	delete(m.entries, key)
	return ok
}

// Clear removes all keys.
func (m *Map[K, V]) Clear() {
	clear(m.entries)
	m.order = nil
}

// drop removes the entry of a place that is not stale.
func (m *Map[K, V]) drop(p place[K]) {
	if m.entries[p.key].set == p.set {
		delete(m.entries, p.key)
	}
}

// compact removes the stale places.
func (m *Map[K, V]) compact() {
	kept := make([]place[K], 0, len(m.entries)+1)
	for _, p := range m.order {
		if e, ok := m.entries[p.key]; ok && e.set == p.set {
			kept = append(kept, p)
		}
	}
	m.order = kept
}

// A Window counts events in a time that begins with the first of them, and again after its end.
type Window struct {
	Length time.Duration
	began  time.Time
	n      int
}

// Add counts an event, and returns the number of events in its window, itself included.
func (w *Window) Add(now time.Time) int {
	if w.Over(now) {
		w.began, w.n = now, 0
	}
	w.n++
	return w.n
}

// Over reports whether the window is over, or none has begun.
func (w *Window) Over(now time.Time) bool { return w.n == 0 || now.Sub(w.began) >= w.Length }
