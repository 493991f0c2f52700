package provenance

import "sort"

// A shelf holds texts one after the other, with a table of the places where words begin. It holds at most room bytes of
// text: when it is full the oldest quarter goes.
type shelf struct {
	room    int
	base    int // where text begins, in bytes since the shelf was new
	text    []byte
	sources []placed // in the order of their texts
	table   table
	added   additions // of documents
	lost    bool      // something was forgotten

	untrustedAt int  // where the first untrusted content begins, as in placed; meaningless without untrusted
	untrusted   bool // there is or was untrusted content
	forgot      bool // and not all of it is known any more
	private     bool // there is or was private data
}

// A placed source has its text from start on, in bytes since the shelf was new, up to where the next one begins.
type placed struct {
	Source
	start int
}

// farthest is where a shelf begins anew, since the table has 32 bits for a place.
const farthest = 1<<32 - 1<<28

func newShelf(room int) shelf {
	return shelf{room: room, table: table{most: room / bucketSize}}
}

func (s *shelf) size() int {
	return cap(s.text) + len(s.table.buckets)*bucketSize + cap(s.sources)*sourceSize + cap(s.added)*additionSize
}

// end returns where the next text will begin, in bytes since the shelf was new.
func (s *shelf) end() int { return s.base + len(s.text) }

// sourceSize is the memory of a source, without its URI.
const sourceSize = 40

// between separates texts: it ends every word and stands in no value.
const between = 0

// add puts a text on the shelf, in parts if it is large.
func (s *shelf) add(src Source, text string) {
	w := s.open(src)
	w.write([]byte(text))
	w.close()
}

// open begins a new text.
func (s *shelf) open(src Source) *writer {
	if n := len(s.sources); n == 0 || s.sources[n-1].Source != src {
		if n >= maxSources {
			s.drop(s.sources[n/4].start - s.base)
		}
		s.sources = append(s.sources, placed{src, s.base + len(s.text)})
	}
	s.private = s.private || src.Kinds&Private != 0
	if src.Kinds&Untrusted != 0 && !s.untrusted {
		s.untrustedAt, s.untrusted = s.base+len(s.text), true
	}
	return &writer{s: s, kind: src.Kinds, from: len(s.text)}
}

// drop forgets the first n bytes of the text, and the sources that they were of.
func (s *shelf) drop(n int) {
	if n <= 0 {
		return
	}
	s.text = s.text[:copy(s.text, s.text[n:])]
	s.base += n
	s.lost = true
	first := s.at(s.base)
	for _, gone := range s.sources[:max(first, 0)+1] {
		s.forgot = s.forgot || gone.Kinds&Untrusted != 0
	}
	s.sources = s.sources[:copy(s.sources, s.sources[max(first, 0):])]
}

// doubts reports whether a trusted source's text at the place may repeat forgotten untrusted content.
func (s *shelf) doubts(place int) bool {
	return (s.forgot || s.table.forgot) && s.untrusted && place >= s.untrustedAt
}

// at returns the index of the source that has the place, and -1 if there is none.
func (s *shelf) at(place int) int {
	return sort.Search(len(s.sources), func(i int) bool { return s.sources[i].start > place }) - 1
}

// reach returns the rest of the text at the place, and its source.
func (s *shelf) reach(place int) ([]byte, placed, bool) {
	i := s.at(place)
	if place < s.base || i < 0 || place >= s.base+len(s.text) {
		return nil, placed{}, false
	}
	end := s.base + len(s.text)
	if i+1 < len(s.sources) {
		end = s.sources[i+1].start
	}
	return s.text[max(s.sources[i].start-s.base, 0) : end-s.base], s.sources[i], true
}

// A writer adds one text to a shelf.
type writer struct {
	s    *shelf
	kind Kinds
	from int // where the text begins that is not yet in the table, in s.text
}

// part is how much text is written before the table takes it in.
const part = 1 << 16

func (w *writer) write(text []byte) {
	s := w.s
	for len(text) > 0 {
		n := min(len(text), part, s.room/4)
		if len(s.text)+n > s.room {
			w.makeRoom()
		}
		s.text = append(s.text, text[:n]...)
		text = text[n:]
		if len(s.text)-w.from >= part {
			w.from += s.table.index(s.text, w.from, entry{s.base, w.kind, false})
		}
	}
}

// makeRoom adds the written text to the table, and drops the oldest quarter.
func (w *writer) makeRoom() {
	s := w.s
	w.from += s.table.index(s.text, w.from, entry{s.base, w.kind, false})
	quarter := min(s.room/4, w.from)
	s.drop(quarter)
	w.from -= quarter
	if s.base > farthest {
		s.text, s.sources = s.text[:0], append(s.sources[:0], placed{s.sources[len(s.sources)-1].Source, 0})
		s.base, w.from, s.untrustedAt = 0, 0, 0
		s.table, s.added = table{most: s.table.most}, nil
	}
}

// close ends the text.
func (w *writer) close() {
	s := w.s
	s.text = append(s.text, between)
	s.table.index(s.text, w.from, entry{s.base, w.kind, true})
	s.lost = s.lost || s.table.lost
	w.from = len(s.text)
}
