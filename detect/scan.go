package detect

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"sync"
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
	*tables
	further     []Search
	definitions bool      // phrases are looked for, and each character that does not show
	only        bool      // nothing is looked for but anchors
	pool        sync.Pool // of *scan: memory that a scan needs
}

// tables are the rules of a scanner, ready to be looked for. They take long to make and much memory: scanners share
// them.
type tables struct {
	rules   []Rule
	phrases int      // index into rules of the first that is looked for in definitions alone
	targets []target // of the anchors, by their indices
	shapes  []shape
	sets    []set
	lexemes []lexeme
	grammar *grammar
	anchors *automaton
}

// A Search finds values in a text beside the rules of a [Scanner], which reads out each form of its text to it.
// Findings have their spans, kind, class, confidence and reason. A search is safe for concurrent use, and its work is
// linear in the text.
type Search func(text []byte) []Finding

// Options extend a [Scanner].
type Options struct {
	Canaries []string // values that the operator has put where nobody should have them from, of 8 bytes or more
	Further  []Search

	definitions bool // what is looked for in definitions alone, too
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
	Under    []Finding // by place; those left out, since a better one of Findings is at the same place

	// Cut says that there was more to look at than a scan may: the text was built so that reading it takes long, or
	// holds more findings.
	Cut bool

	// Failed says why a detector could not search the text, or not all of it; "" if none failed. A [Scanner] never
	// fails.
	Failed string
}

// New returns a scanner with all rules.
func New() *Scanner { return NewWith(Options{}) }

// NewWith returns a scanner with all rules, and more.
func NewWith(more Options) *Scanner {
	t := builtin()
	if len(more.Canaries) > 0 {
		t = newTables(slices.Concat(Rules(), canaryRules(more.Canaries)), nil, lexemes())
	}
	s := newScanner(t)
	s.further, s.definitions = more.Further, more.definitions
	return s
}

// builtin are the tables of all scanners without canaries.
var builtin = sync.OnceValue(func() *tables { return newTables(Rules(), phraseRules(), lexemes()) })

// newTables returns the tables of rules, of others for definitions alone, and of lexemes.
func newTables(rules, phrases []Rule, lexemes []lexeme) *tables {
	s := &tables{rules: slices.Concat(rules, phrases), phrases: len(rules), grammar: newGrammar(), lexemes: lexemes}
	b := &shaper{index: map[set]int{}}
	b.add(valueSet())
	var anchors []string
	add := func(anchor string, t target) {
		t.size = len(anchor)
		anchors, s.targets = append(anchors, anchor), append(s.targets, t)
	}
	for i := range s.rules {
		r := &s.rules[i]
		r.number = i
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
	return s
}

// newScanner returns a scanner by tables.
func newScanner(t *tables) *Scanner {
	s := &Scanner{tables: t}
	s.pool.New = func() any { return s.newScan() }
	return s
}

// addShapes adds the shapes of a rule, and the anchors of those that no name tells.
func (s *tables) addShapes(r *Rule, rule int, b *shaper, add func(anchor string, t target)) {
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

// most is how many findings of a class there may be.
func (s *Scanner) most() int {
	if s.only {
		return maxCopies
	}
	return maxFindings
}

func (s *Scanner) newScan() *scan {
	w := &scan{s: s, counts: map[Class]int{}, surest: map[Class]Confidence{}, ends: make([]tried, len(s.rules))}
	for i := range w.levels {
		w.levels[i].runs = make([]run, len(s.sets))
	}
	return w
}

// Scan looks at a text. The salt goes before each value in its digest: without a secret salt, short values can be
// guessed from their digests.
func (s *Scanner) Scan(text []byte, form Form, salt []byte) Report {
	return s.scan(text, form, salt, Named{}, nil)
}

// ScanNamed is Scan of a text that an agent with these tools reads. An order to call one of them is a signal.
func (s *Scanner) ScanNamed(text []byte, form Form, salt []byte, tools Named) Report {
	return s.scan(text, form, salt, tools, nil)
}

// scan is ScanNamed that reads out each form of the text, unless each is nil.
func (s *Scanner) scan(text []byte, form Form, salt []byte, tools Named, each func(*view)) Report {
	w := s.pool.Get().(*scan)
	defer s.pool.Put(w)
	return w.read(text, form, salt, tools, each)
}

// read looks at a text.
func (w *scan) read(text []byte, form Form, salt []byte, tools Named, each func(*view)) Report {
	v := w.begin(text, salt, tools, each)
	if form == JSON && bytes.IndexByte(text, '\\') >= 0 {
		w.unescaped(v, jsonEscapes)
	} else {
		w.look(v)
	}
	if form == JSON {
		w.joined(v)
	}
	*v, w.reading.text = view{}, nil // the pool keeps no text
	if len(w.found) == 0 {
		return Report{Cut: w.cut}
	}
	found, under := settled(w.found)
	if form == JSON {
		Locate(text, !w.cut, found, under)
	}
	return Report{Findings: found, Under: under, Cut: w.cut}
}

// begin prepares the scan of a text, and returns its view.
func (w *scan) begin(text []byte, salt []byte, tools Named, each func(*view)) *view {
	w.salt, w.tools, w.each = salt, tools, each
	w.work, w.cut, w.spent, w.found = leastWork+mostWork*len(text)*(1+len(w.s.further)), false, false, nil
	w.checked, w.most, w.split = 0, 0, false
	clear(w.counts)
	clear(w.surest)
	v := &w.levels[0].view
	*v = view{text: text}
	return v
}

// look finds all values in a view and in its encoded parts.
func (w *scan) look(v *view) {
	if !w.spend(len(v.text)) {
		return
	}
	l := &w.levels[v.depth]
	clear(l.runs)
	w.looks++
	w.reading = reading{text: v.text, grammar: w.s.grammar, tools: w.tools, judged: w.reading.judged[:0]}
	w.candidates(v)
	w.reading.close()
	w.cut = w.cut || w.reading.full
	for i := range w.reading.judged {
		p := &w.reading.judged[i]
		compareScripts(&w.reading, p)
		if f, ok := p.finding(v.encoded > 0); ok {
			w.add(v, f, match{start: p.start, end: p.end, secret: p.start, last: p.end})
		}
	}
	if !w.s.only {
		numbers(w, v)
	}
	searches(w, v)
	if w.each != nil {
		w.each(v)
	}
	if w.s.definitions {
		unseen(w, v)
	}
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

// below looks at a view of a part of another one.
func (w *scan) below(v view) {
	v.depth = v.from.depth + 1
	at := &w.levels[v.depth].view
	*at = v
	w.look(at)
}

// candidates looks for anchors, and checks their surroundings.
func (w *scan) candidates(v *view) {
	a, text := w.s.anchors, v.text
	state := uint16(0)
	for from := 0; from < len(text); from += block {
		size := min(block, len(text)-from)
		state = a.read(text[from:from+size], state, &w.states)
		states := w.states[:size]
		for i := accepted(states, 0); i < size; i = accepted(states, i+1) {
			found, end := a.ends[states[i]&^accepts], from+i+1
			if a.whole[found] && end < len(text) && wordByte[text[end]] {
				continue
			}
			for _, t := range a.sets[found] {
				w.candidate(v, end, w.s.targets[t])
			}
		}
	}
}

// candidate checks the surroundings of an anchor that ends at end.
func (w *scan) candidate(v *view, end int, t target) {
	if t.rule < 0 {
		if !w.split {
			w.reading.word(&w.s.lexemes[t.lexeme], end)
		}
		return
	}
	if t.rule >= w.s.phrases && !w.s.definitions {
		return
	}
	r := &w.s.rules[t.rule]
	switch {
	case w.split && (w.checked > w.most || !divisible(r.Class, High)):
	case t.shape >= 0:
		w.shaped(v, r, t, end-t.size)
	case r.find != nil:
		w.affords(matchWork)
		if m, ok := r.find(w, v, end-t.size, end); ok {
			w.judge(v, r, m)
		}
	default:
		assigned(w, v, r, end-t.size, end)
	}
}

// shaped looks for the shape of a rule whose anchor begins at a place. In joined strings, the value may end with each
// of the next ones.
func (w *scan) shaped(v *view, r *Rule, t target, at int) {
	joints := v.joints[sort.SearchInts(v.joints, at+w.s.shapes[t.shape].least):]
	joints = joints[:min(len(joints), mostEnds)]
	m, ok := w.match(v, &w.s.shapes[t.shape], at)
	reached := m.end
	for {
		if ok {
			w.judge(v, r, m)
		}
		if len(joints) == 0 || joints[0] >= reached {
			break
		}
		v.stop, joints = joints[0], joints[1:]
		m, ok = w.match(v, &w.s.shapes[t.shape], at)
	}
	v.stop = 0
}

// Rules returns the table of rules, in the order of their kinds.
func Rules() []Rule {
	all := slices.Concat(cloudRules(), codeRules(), modelRules(), paymentRules(), messageRules(), serviceRules(), keyRules(), assignedRules(),
		injectionRules(), personalRules())
	for i := range all {
		if all[i].Class == "" {
			all[i].Class = Credentials
		}
	}
	slices.SortStableFunc(all, func(a, b Rule) int { return cmp.Compare(a.Kind, b.Kind) })
	return all
}

// encodings looks for runs of base64 and hexadecimal, and at the text that they encode.
func (w *scan) encodings(v *view) {
	for at := encodedRun(v.text, 0); at >= 0; {
		at = encodedRun(v.text, w.encoding(v, at))
	}
}

// encoding decodes the run that begins at start, looks at its text, and returns the end of the run.
func (w *scan) encoding(v *view, start int) (end int) {
	l := &w.levels[v.depth]
	for next := start; ; {
		isHex := false
		l.wide, l.marks, end, isHex = collect(l.wide[:0], l.marks[:0], v.text, next)
		if !w.spend(len(l.wide)) {
			return len(v.text)
		}
		more := len(l.wide) >= chunk
		layer, shifts := Base64, 4
		if isHex && len(l.wide) >= leastHex { // base64 of text is hardly ever made of these digits alone
			layer, shifts = Hex, 2
		}
		for shift := range shifts {
			w.decoded(v, layer, shift, more)
		}
		if !more {
			return end
		}
		w.work += overlap
		inner := view{marks: l.marks, rate: rate{1, 1}}
		next = inner.origin(len(l.wide) - overlap)
	}
}

// decoded decodes the digits of a run from a shift on, and looks at the parts that are text.
func (w *scan) decoded(v *view, layer Layer, shift int, more bool) {
	l := &w.levels[v.depth]
	buf, r := l.buf[:0], rate{4, 3}
	if layer == Hex {
		buf, r = appendHex(buf, l.wide[shift:]), rate{2, 1}
	} else {
		buf = appendBase64(buf, l.wide[shift:])
	}
	l.buf = buf
	for i := 0; i+leastText <= len(buf); i++ {
		if n := broken(buf[i : i+leastText]); n > 0 {
			i += n - 1
			continue
		}
		start := i
		if i += textual(buf[i:]); i-start < leastText {
			continue
		}
		l.coded = l.coded[:0]
		for _, m := range l.marks { // where each line of digits lands
			at := (m.at - shift + r.text - 1) / r.text * r.view
			l.coded = append(l.coded, mark{at - start, m.from + (at/r.view*r.text + shift - m.at)})
		}
		w.below(view{
			text: buf[start:i], encoded: v.encoded + 1, from: v, layer: layer, marks: l.coded, rate: r, goes: i == len(buf) && more,
		})
	}
}

// unescaped looks at the view without its escapes, chunk by chunk.
func (w *scan) unescaped(v *view, how escapes) {
	apart := share(w, v, how)
	for i, from := 0, 0; from < len(v.text); i++ {
		if !w.spend(0) {
			return
		}
		if next, ok := apart.hand(i, w); ok {
			from = next
		} else {
			var part view
			part, from = w.levels[v.depth].chunk(v, from, how)
			w.below(part)
		}
		if from < len(v.text) {
			w.work += overlap
		}
	}
}

// chunk returns the chunk of a view that begins at a place, without its escapes, and where the next one begins.
func (l *level) chunk(v *view, from int, how escapes) (part view, next int) {
	layer := Escapes
	if how == jsonEscapes {
		layer = "" // of the text itself
	}
	l.buf, l.marks, next = flatten(l.buf[:0], l.marks[:0], v.text, from, how)
	part = view{
		text: l.buf, encoded: v.encoded, from: v, layer: layer, marks: l.marks, rate: rate{1, 1},
		open: from > 0 || v.open, goes: next < len(v.text) || v.goes,
	}
	if next < len(v.text) { // a little earlier, for values across the border
		inner := view{marks: l.marks, rate: rate{1, 1}}
		next = max(inner.origin(max(len(l.buf)-overlap, 0)), from+1)
	}
	return part, next
}
