package detect

import (
	"slices"
	"sort"
)

// A scan is the state of looking at one text.
type scan struct {
	s        *Scanner
	salt     []byte
	work     int     // bytes that may still be read
	looks    int     // how many views were looked at
	ends     []tried // of each rule
	checked  int     // work of checks of candidates so far, as bytes
	most     int     // that this may be, where strings are joined
	found    []Finding
	counts   map[Class]int // of findings
	cut      bool
	spent    bool                 // there was no work left
	surest   map[Class]Confidence // of findings for which there was room, or not
	reading  reading
	tools    Named
	each     func(*view)
	levels   [maxDepth + 1]level
	collator collator
	split    bool          // joined strings are read: only a value of several of them counts
	states   [block]uint16 // of the automaton, behind each byte of a block
}

// A level is the memory for the view at one depth.
type level struct {
	view  view
	runs  []run  // of each set, the last run that was looked at
	buf   []byte // decoded text for the next depth
	wide  []byte // digits of base64 or hexadecimal, without line breaks
	marks []mark
	coded []mark
}

// A run is a stretch of bytes of a set.
type run struct{ start, end int }

// A view is a text, or the decoded form of a part of one.
type view struct {
	text    []byte
	depth   int
	encoded int
	from    *view // nil: it is the text itself
	layer   Layer
	marks   []mark // where its bytes come from
	rate    rate
	open    bool  // it begins in the middle of something
	goes    bool  // it ends in the middle of something
	joints  []int // of joined strings, where one ends and the next begins
	stop    int   // a place where values end, as long as it is not 0
}

// A span is a part of a text.
type span struct{ start, end int }

// A match is where a rule holds: the whole, and in it the secret.
type match struct {
	start, end   int
	secret, last int
	confidence   Confidence
}

// judge adds a match as a finding, if the rule's check and the text around it allow.
func (w *scan) judge(v *view, r *Rule, m match) {
	if v.open && m.start == 0 || v.goes && m.end == len(v.text) { // the neighbouring chunk has it whole
		return
	}
	if !r.Found() {
		m.confidence = r.Confidence
	}
	if w.split && !(divisible(r.Class, m.confidence) && v.across(m.start, m.end)) {
		return
	}
	secret := v.text[m.secret:m.last]
	if !w.again(r, m.secret, m.last) {
		return
	}
	if w.cut && w.full(r.Class) && w.weaker(r.Class, m.confidence) < 0 { // before the check, which takes long
		return
	}
	if !w.affords(checkWork + len(secret)) {
		return
	}
	if !r.Found() {
		if r.Check != nil && !r.Check(secret) || r.Check == nil && !random(secret) {
			return
		}
	}
	if !w.room(r.Class, m.confidence) { // before the digest, which takes long
		return
	}
	w.add(v, Finding{Kind: r.Kind, Why: r.Name, Class: r.Class, Confidence: m.confidence, Digest: digest(w.salt, secret)}, m)
}

// A tried is how often values of a rule with one end were checked, in the view that was looked at as the number says.
type tried struct{ look, last, times int }

// again reports whether a value of a rule may be checked, after others that began before and have its end, or overlap
// with it and are cut where values are. Many names in one long run are not as many values, and would take its size
// each.
func (w *scan) again(r *Rule, first, last int) bool {
	c := &w.ends[r.number]
	if c.look != w.looks || c.last != last && (last-first < mostRepeat || first >= c.last) {
		*c = tried{look: w.looks}
	}
	c.last = last
	c.times++
	w.cut = w.cut || c.times > mostStarts
	return c.times <= mostStarts
}

// spend counts bytes that are read, and reports whether they may be.
func (w *scan) spend(bytes int) bool {
	w.work -= bytes
	if w.work < 0 {
		w.cut, w.spent = true, true
	}
	return w.work >= 0
}

// affords counts the work of the check of a candidate, as bytes, and reports whether there is enough left for it. Where
// strings are joined, nearly any place may begin and end a value: there, text that is built so is cut off.
func (w *scan) affords(work int) bool {
	w.checked += work
	if !w.split || w.checked <= w.most {
		return true
	}
	w.cut = true
	return false
}

// add adds a finding that stands where a match is. No class takes the room of another.
func (w *scan) add(v *view, f Finding, m match) {
	if w.split && !(divisible(f.Class, f.Confidence) && v.across(m.start, m.end)) || !w.room(f.Class, f.Confidence) {
		return
	}
	for at := v; at.from != nil; at = at.from {
		if at.joints != nil {
			f.parts = at.parts(m.secret, m.last)
		} else {
			f.parts = at.up(f.parts)
		}
		m.start, m.end = at.origin(m.start), at.originEnd(m.end)
		m.secret, m.last = at.origin(m.secret), at.originEnd(m.last)
		if at.layer != "" {
			f.Layers = append([]Layer{at.layer}, f.Layers...)
		}
	}
	f.Offset, f.Size = m.start, m.end-m.start
	f.ValueOffset, f.ValueSize = m.secret, m.last-m.secret
	enter(w, f)
}

// enter adds a finding for which there is room, unless it was read before: in the chunk before, or under another layer.
func enter(w *scan, f Finding) {
	for _, known := range w.found {
		if known.Kind == f.Kind && known.Offset == f.Offset && known.Digest == f.Digest {
			return
		}
	}
	w.counts[f.Class]++
	w.found = append(w.found, f)
}

// room makes room for a finding of a class, if there is none, by leaving out one that is less certain.
func (w *scan) room(c Class, at Confidence) bool {
	w.surest[c] = max(w.surest[c], at)
	if !w.full(c) {
		return true
	}
	w.cut = true
	i := w.weaker(c, at)
	if i < 0 {
		return false
	}
	w.found = slices.Delete(w.found, i, i+1)
	w.counts[c]--
	return true
}

// full reports whether there are as many findings of a class as there may be.
func (w *scan) full(c Class) bool {
	return w.counts[c] >= w.s.most()
}

// weaker returns the first finding of a class that is less certain than another one, or -1.
func (w *scan) weaker(c Class, at Confidence) int {
	for i := range w.found {
		if f := &w.found[i]; f.Class == c && f.Confidence < at {
			return i
		}
	}
	return -1
}

// match checks a shape whose anchor begins at a place. It returns how far it read, if it does not hold.
func (w *scan) match(v *view, s *shape, at int) (m match, ok bool) {
	if !w.affords(matchWork) {
		return m, false
	}
	m.secret = -1
	start := at
	for i := s.anchor - 1; i >= 0; i-- {
		if start, ok = w.before(v, &s.parts[i], start); !ok {
			return m, false
		}
	}
	end := start
	for i := range s.parts {
		p := &s.parts[i]
		from := end
		if end, ok = w.after(v, p, from); !ok {
			m.end = max(from, end)
			return m, false
		}
		if p.secret {
			if m.secret < 0 {
				m.secret = from
			}
			m.last = end
		}
	}
	if m.start, m.end = start, end; m.secret < 0 {
		m.secret, m.last = start, end
	}
	return m, w.bounded(v, s, start, end)
}

// bounded reports whether a match stands alone, and is no part of a longer word.
func (w *scan) bounded(v *view, s *shape, start, end int) bool {
	begins, ends := false, false // with a string
	if w.split {
		joined, from, to := v.ofJoined(start, end)
		begins, ends = joined.joint(from), joined.joint(to)
	}
	if start > 0 && wordByte[v.text[start]] && wordByte[v.text[start-1]] && !begins {
		return false
	}
	if end == len(v.text) || ends || end == v.stop {
		return true
	}
	if last := &s.parts[len(s.parts)-1]; last.literal == "" && w.s.sets[last.set][v.text[end]] {
		stop := !wordByte[v.text[end]] && (end+1 == len(v.text) || !w.s.sets[last.set][v.text[end+1]]) // such as a full stop
		return stop || last.most == mostRepeat                                                         // it was cut where shapes are
	}
	return !wordByte[v.text[end-1]] || !wordByte[v.text[end]]
}

// after returns the end of a part that begins at from.
func (w *scan) after(v *view, p *part, from int) (end int, ok bool) {
	if p.literal != "" {
		end = from + len(p.literal)
		if end > len(v.text) || v.stop > 0 && end > v.stop {
			return 0, false
		}
		return end, equal(v.text[from:end], p.literal, p.fold)
	}
	n := min(w.run(v, p.set, from), p.most)
	if v.stop > 0 {
		n = min(n, v.stop-from)
	}
	return from + n, n >= p.least
}

// before returns the start of a part that ends at end.
func (w *scan) before(v *view, p *part, end int) (start int, ok bool) {
	if p.literal != "" {
		start = end - len(p.literal)
		return start, start >= 0 && equal(v.text[start:end], p.literal, p.fold)
	}
	set := &w.s.sets[p.set]
	start = end
	for start > 0 && end-start < min(p.most, 128) && set[v.text[start-1]] {
		start--
	}
	return start, end-start >= p.least
}

// equal compares a text with a literal.
func equal(text []byte, literal string, fold bool) bool {
	if !fold {
		return string(text) == literal
	}
	for i := range text {
		if lower(text[i]) != literal[i] {
			return false
		}
	}
	return true
}

// run returns how many bytes of a set follow. No byte is looked at twice for the same set as long as places go forward,
// so that many candidates in one long run cost no more than one.
func (w *scan) run(v *view, number, from int) int {
	last := &w.levels[v.depth].runs[number]
	if last.start <= from && from < last.end {
		return last.end - from
	}
	set := &w.s.sets[number]
	end := from
	for end < len(v.text) && set[v.text[end]] {
		if end == last.start && last.end > end {
			end = last.end
			break
		}
		end++
	}
	*last = run{from, end}
	return end - from
}

// A mark says where bytes of a view come from: those from at on, until the next mark, from from on.
type mark struct{ at, from int }

// A rate is how many bytes of the text make how many of the view.
type rate struct{ text, view int }

// last returns the mark that counts at a place.
func (v *view) last(at int) mark {
	i := sort.Search(len(v.marks), func(i int) bool { return v.marks[i].at > at })
	if i == 0 {
		return mark{}
	}
	return v.marks[i-1]
}

// origin returns the place in the text above where a byte of the view comes from.
func (v *view) origin(at int) int {
	m := v.last(at)
	return m.from + (at-m.at)*v.rate.text/v.rate.view
}

// originEnd returns the end of the span above that a span of the view comes from, by its end.
func (v *view) originEnd(end int) int {
	m := v.last(end)
	switch {
	case m.at != end || end == 0:
	case v.rate.view > 1:
		m = v.last(end - 1)
	case v.joint(end): // of the string that ends there
		i := sort.Search(len(v.marks), func(i int) bool { return v.marks[i].at >= end })
		if m = v.marks[i]; i+1 == len(v.marks) || v.marks[i+1].at != end {
			m = v.last(end - 1)
		}
	}
	return min(m.from+((end-m.at)*v.rate.text+v.rate.view-1)/v.rate.view, len(v.from.text))
}

// Bounds of the work on one text.
const (
	maxFindings = 64      // of a class; more are only counted as Cut
	maxCopies   = 4096    // of a class, where copies of values alone are sought
	maxDepth    = 6       // views within views
	maxEncoded  = 3       // of which this many are of base64 or hexadecimal: that of a blob, and two
	mostWork    = 8       // bytes read in all views, as a multiple of the text
	leastWork   = 1 << 16 // bytes that may be read of any text, however short
	mostStarts  = 8       // values of a rule with one end that are checked
	mostChecked = 1       // work of checks in joined strings, as a multiple of the text
	leastChecks = 1 << 14 // the same for any text, however short
	checkWork   = 128     // work of the check of a value, beside its size
	matchWork   = 24      // work of a match of a shape
	chunk       = 1 << 16 // bytes of a view that are decoded at once
	overlap     = 1 << 12 // bytes of a chunk that are read again with the next one
)
