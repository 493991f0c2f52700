package detect

import (
	"maps"
	"runtime"
	"sync"
)

// The chunks of a large text are read by several goroutines at once, each with a scan of its own. The scan of the text
// takes what they found in the order of the chunks. A chunk that might come out differently there, for lack of work or
// of room for findings, it reads itself: so the report does not depend on how many there were.

const (
	mostReaders = 8
	leastShared = 4 * chunk // bytes of a text that several read
)

// An outcome is that of a chunk which was read apart.
type outcome struct {
	next    int  // where the next chunk begins
	whole   bool // it was read to its end
	used    int  // work
	checked int
	cut     bool
	found   []Finding
	counts  map[Class]int
	surest  map[Class]Confidence
}

// A sharing is a text that several read.
type sharing struct {
	w    *scan
	v    *view
	work int // that each chunk may take

	mu   sync.Mutex
	from int        // where the next chunk begins
	read []*outcome // of all chunks before
}

// share reads the chunks of a view apart. It returns nil for a view with which that does not pay.
func share(w *scan, v *view, how escapes) *sharing {
	readers := min(runtime.GOMAXPROCS(0), mostReaders)
	if readers < 2 || len(v.text) < leastShared || how != jsonEscapes || v.from != nil || w.each != nil {
		return nil
	}
	s := &sharing{w: w, v: v, work: leastWork + mostWork/2*chunk*(1+len(w.s.further))}
	var others sync.WaitGroup
	for range readers - 1 {
		others.Go(s.help)
	}
	s.help()
	others.Wait()
	return s
}

// help reads chunks until none is left.
func (s *sharing) help() {
	defer func() { _ = recover() }() // whoever reads the chunk again panics where somebody expects it
	h := s.w.s.pool.Get().(*scan)    // which goes back only if it ended well
	v := h.begin(s.v.text, s.w.salt, s.w.tools, nil)
	for {
		o, part := s.chunk(h, v)
		if o == nil {
			break
		}
		o.of(h, part, s.work)
	}
	*v, h.reading.text = view{}, nil
	s.w.s.pool.Put(h)
}

// chunk returns the next chunk, in memory of the helper; no outcome if there is none.
func (s *sharing) chunk(h *scan, v *view) (o *outcome, part view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from >= len(v.text) {
		return nil, part
	}
	o = &outcome{}
	part, s.from = h.levels[0].chunk(v, s.from, jsonEscapes)
	o.next = s.from
	s.read = append(s.read, o)
	return o, part
}

// of reads a chunk. More than the work, it may not take.
func (o *outcome) of(w *scan, part view, work int) {
	w.work, w.checked, w.cut, w.spent, w.found = work, 0, false, false, nil
	clear(w.counts)
	clear(w.surest)
	w.below(part)
	o.used, o.checked, o.cut, o.found, o.whole = work-w.work, w.checked, w.cut, w.found, !w.spent
	if len(w.surest) > 0 {
		o.counts, o.surest = maps.Clone(w.counts), maps.Clone(w.surest)
	}
}

// hand hands the outcome of the i-th chunk over to a scan, and returns where the next one begins. It reports false if
// the chunk has to be read by that one.
func (s *sharing) hand(i int, w *scan) (next int, ok bool) {
	if s == nil || i >= len(s.read) || !s.read[i].whole || w.work < s.work || s.read[i].crowds(w) {
		return 0, false
	}
	o := s.read[i]
	w.work -= o.used
	w.checked += o.checked
	w.cut = w.cut || o.cut
	for class, at := range o.surest {
		w.room(class, at)
	}
	for _, f := range o.found {
		if !w.full(f.Class) {
			enter(w, f)
		}
	}
	return o.next, true
}

// crowds reports whether a finding may have to make room for another one where those of the chunk are kept.
func (o *outcome) crowds(w *scan) bool {
	for class, at := range o.surest {
		if full := w.full(class); full && w.weaker(class, at) >= 0 || !full && w.counts[class]+o.counts[class] >= w.s.most() {
			return true
		}
	}
	return false
}
