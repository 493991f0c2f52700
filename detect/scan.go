package detect

import (
	"bytes"
	"slices"
	"sync"
)

// Bounds of the work on one text.
const (
	maxFindings = 64      // of a class; more are only counted as Cut
	maxDepth    = 6       // views within views
	maxEncoded  = 3       // of which this many are of base64 or hexadecimal: that of a blob, and two
	mostWork    = 8       // bytes read in all views, as a multiple of the text
	leastWork   = 1 << 16 // bytes that may be read of any text, however short
	chunk       = 1 << 16 // bytes of a view that are decoded at once
	overlap     = 1 << 12 // bytes of a chunk that are read again with the next one
)

// A Form is how a text is written.
type Form uint8

// The forms.
const (
	Plain Form = iota // text of any kind
	JSON              // one JSON value, or several behind each other as in JSON Lines
)

// A Scanner looks for the values that its rules describe. It does not change, and is safe for concurrent use.
type Scanner struct {
	rules   []Rule
	targets []target // of the anchors, by their indices
	shapes  []shape
	sets    []set
	lexemes []lexeme
	grammar *grammar
	anchors *automaton
	pool    sync.Pool // of *scan: memory that a scan needs
}

// A target is the check that follows an anchor.
type target struct {
	rule   int // index into rules, or -1
	shape  int // index into shapes, or -1
	lexeme int // index into lexemes, if there is no rule
	size   int // of the anchor
}

// A Report is the result of a scan.
type Report struct {
	Findings []Finding // by place; at most 64 of a class

	// Cut says that there was more to look at than a scan may: the text was built so that reading it takes long, or holds more findings.
	Cut bool
}

// New returns a scanner with all rules.
func New() *Scanner {
	s := &Scanner{rules: Rules(), grammar: newGrammar(), lexemes: lexemes()}
	b := &shaper{index: map[set]int{}}
	b.add(valueSet())
	var anchors []string
	add := func(anchor string, t target) {
		t.size = len(anchor)
		anchors, s.targets = append(anchors, anchor), append(s.targets, t)
	}
	for i := range s.rules {
		r := &s.rules[i]
		for _, name := range r.Names {
			for _, spelling := range spellings(name, r.Class) {
				add(spelling, target{rule: i, shape: -1})
			}
		}
		for _, anchor := range r.anchors {
			add(anchor, target{rule: i, shape: -1})
		}
		s.addShapes(r, i, b, add)
	}
	for i, l := range s.lexemes {
		add(l.text, target{rule: -1, shape: -1, lexeme: i})
	}
	s.sets = b.sets
	s.anchors = newAutomaton(anchors, func(i int) bool {
		t := s.targets[i]
		return t.rule < 0 && s.lexemes[t.lexeme].whole()
	})
	s.pool.New = func() any { return s.newScan() }
	return s
}

// addShapes adds the shapes of a rule, and the anchors of those that no name tells.
func (s *Scanner) addShapes(r *Rule, rule int, b *shaper, add func(anchor string, t target)) {
	if r.Pattern == "" {
		return
	}
	shapes, err := b.shapes(r.Pattern)
	if err != nil {
		panic("detect: rule " + string(r.Kind) + ": " + err.Error()) // a mistake in the table, which a test finds
	}
	for _, shape := range shapes {
		if len(r.Names) > 0 { // found by its name
			r.shapes = append(r.shapes, len(s.shapes))
		} else {
			add(shape.parts[shape.anchor].literal, target{rule: rule, shape: len(s.shapes)})
		}
		s.shapes = append(s.shapes, shape)
	}
}

// A scan is the state of looking at one text.
type scan struct {
	s       *Scanner
	salt    []byte
	work    int // bytes that may still be read
	found   []Finding
	counts  map[Class]int // of findings
	cut     bool
	reading reading
	levels  [maxDepth + 1]level
}

// A level is the memory for the view at one depth.
type level struct {
	runs  []run  // of each set, the last run that was looked at
	pem   int    // where the next end of a PEM block was found
	buf   []byte // decoded text for the next depth
	wide  []byte // digits of base64 or hexadecimal, without line breaks
	marks []mark
	coded []mark
}

// A run is a stretch of bytes of a set.
type run struct{ start, end int }

func (s *Scanner) newScan() *scan {
	w := &scan{s: s, counts: map[Class]int{}}
	for i := range w.levels {
		w.levels[i].runs = make([]run, len(s.sets))
	}
	return w
}

// Scan looks at a text. The salt goes before each value in its digest: without a secret salt, short values can be guessed from
// their digests.
func (s *Scanner) Scan(text []byte, form Form, salt []byte) Report {
	w := s.pool.Get().(*scan)
	defer s.pool.Put(w)
	w.salt, w.work, w.cut, w.found = salt, leastWork+mostWork*len(text), false, nil
	clear(w.counts)
	v := view{text: text}
	if form == JSON && bytes.IndexByte(text, '\\') >= 0 {
		w.unescaped(v, jsonEscapes)
	} else {
		w.look(v)
	}
	if len(w.found) == 0 {
		return Report{Cut: w.cut}
	}
	found := settled(w.found)
	if form == JSON {
		locate(text, found)
	}
	return Report{Findings: found, Cut: w.cut}
}

// A view is a text, or the decoded form of a part of one.
type view struct {
	text    []byte
	depth   int
	encoded int
	from    *view // nil: it is the text itself
	layer   Layer
	marks   []mark // where its bytes come from
	rate    rate
	open    bool // it begins in the middle of something
	goes    bool // it ends in the middle of something
}

// look finds all values in a view and in its encoded parts.
func (w *scan) look(v view) {
	if w.work -= len(v.text); w.work < 0 {
		w.cut = true
		return
	}
	l := &w.levels[v.depth]
	clear(l.runs)
	l.pem = -1
	w.reading = reading{text: v.text, grammar: w.s.grammar, judged: w.reading.judged[:0]}
	w.candidates(&v)
	w.reading.close()
	w.cut = w.cut || w.reading.full
	for _, p := range w.reading.judged {
		if f, ok := p.finding(v.encoded > 0); ok {
			w.add(&v, f, match{start: p.start, end: p.end, secret: p.start, last: p.end})
		}
	}
	w.numbers(&v)
	if v.depth >= maxDepth {
		return
	}
	if v.encoded < maxEncoded {
		w.encodings(v)
	}
	if trigger(v.text) >= 0 {
		w.unescaped(v, allEscapes)
	}
}

// candidates looks for anchors, and checks their surroundings.
func (w *scan) candidates(v *view) {
	a := w.s.anchors
	next, shift, accept := a.next, a.shift, a.accept
	state := uint16(0)
	for i, c := range v.text {
		state = next[int(state)<<shift|int(a.class[c])]
		if state < accept || a.whole[state-accept] && i+1 < len(v.text) && wordByte[v.text[i+1]] {
			continue
		}
		for _, t := range a.ends[state-accept] {
			w.candidate(v, i+1, w.s.targets[t])
		}
	}
}

// candidate checks the surroundings of an anchor that ends at end.
func (w *scan) candidate(v *view, end int, t target) {
	if t.rule < 0 {
		w.reading.word(&w.s.lexemes[t.lexeme], end)
		return
	}
	r := &w.s.rules[t.rule]
	switch {
	case t.shape >= 0:
		if m, ok := w.match(v, &w.s.shapes[t.shape], end-t.size); ok {
			w.judge(v, r, m)
		}
	case r.find != nil:
		if m, ok := r.find(w, v, end-t.size, end); ok {
			w.judge(v, r, m)
		}
	default:
		w.assigned(v, r, end-t.size, end)
	}
}

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
	secret := v.text[m.secret:m.last]
	if !r.Found() {
		m.confidence = r.Confidence
		if r.Check != nil && !r.Check(secret) || r.Check == nil && !random(secret) {
			return
		}
	}
	if !w.room(r.Class, m.confidence) { // before the digest, which takes long
		return
	}
	w.add(v, Finding{Kind: r.Kind, Why: r.Name, Class: r.Class, Confidence: m.confidence, Digest: digest(w.salt, secret)}, m)
}

// add adds a finding that stands where a match is. No class takes the room of another.
func (w *scan) add(v *view, f Finding, m match) {
	if !w.room(f.Class, f.Confidence) {
		return
	}
	for at := v; at.from != nil; at = at.from {
		m.start, m.end = at.origin(m.start), at.originEnd(m.end)
		m.secret, m.last = at.origin(m.secret), at.originEnd(m.last)
		if at.layer != "" {
			f.Layers = append([]Layer{at.layer}, f.Layers...)
		}
	}
	f.Offset, f.Size = m.start, m.end-m.start
	f.ValueOffset, f.ValueSize = m.secret, m.last-m.secret
	for _, known := range w.found { // read again in the next chunk, or under another layer
		if known.Kind == f.Kind && known.Offset == f.Offset && known.Digest == f.Digest {
			return
		}
	}
	w.counts[f.Class]++
	w.found = append(w.found, f)
}

// room makes room for a finding of a class, if there is none, by leaving out one that is less certain.
func (w *scan) room(c Class, at Confidence) bool {
	if w.counts[c] < maxFindings {
		return true
	}
	w.cut = true
	weaker := func(k Finding) bool { return k.Class == c && k.Confidence < at }
	i := slices.IndexFunc(w.found, weaker)
	if i < 0 {
		return false
	}
	w.found = slices.Delete(w.found, i, i+1)
	w.counts[c]--
	return true
}

// match checks a shape whose anchor begins at a place.
func (w *scan) match(v *view, s *shape, at int) (m match, ok bool) {
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
	if start > 0 && wordByte[v.text[start]] && wordByte[v.text[start-1]] {
		return false
	}
	if end == len(v.text) {
		return true
	}
	if last := &s.parts[len(s.parts)-1]; last.literal == "" && w.s.sets[last.set][v.text[end]] {
		stop := !wordByte[v.text[end]] && (end+1 == len(v.text) || !w.s.sets[last.set][v.text[end+1]]) // such as a full stop
		return stop || last.most == mostRepeat                                                         // it was cut where shapes are
	}
	return !wordByte[v.text[end-1]] || !wordByte[v.text[end]]
}

// wordByte are the bytes of words.
var wordByte = setOf("azAZ09")

// after returns the end of a part that begins at from.
func (w *scan) after(v *view, p *part, from int) (end int, ok bool) {
	if p.literal != "" {
		end = from + len(p.literal)
		if end > len(v.text) {
			return 0, false
		}
		return end, equal(v.text[from:end], p.literal, p.fold)
	}
	n := min(w.run(v, p.set, from), p.most)
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

// run returns how many bytes of a set follow. No byte is looked at twice for the same set as long as places go forward, so that many
// candidates in one long run cost no more than one.
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
