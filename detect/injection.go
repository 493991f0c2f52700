package detect

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Kinds of instructions.
const (
	injectedText = "injected-instructions"
	hiddenText   = "hidden-text"
)

// injectionRules are of text that speaks to the model that reads it. Signals find it, not patterns.
func injectionRules() []Rule {
	return []Rule{
		{Kind: injectedText, Name: "instructions to the model that reads the text", Class: Injection, Source: "docs/detection.md"},
		{Kind: hiddenText, Name: "text in characters that do not show", Class: Injection, Source: "https://www.unicode.org/reports/tr36/"},
	}
}

// Bounds of a passage, in bytes.
const (
	passageGap  = 400  // between signals of one passage
	passageSize = 4096 // of a passage
	companyGap  = 200  // between a passage and mere company
)

// A lexeme is a term as the automaton finds it.
type lexeme struct {
	means meaning
	text  string // in lower case as to ASCII
	open  bool   // any ending of a word may follow
}

// A grammar is the table of signals, by their needs.
type grammar struct {
	signals []signal
	needing [meanings][]uint8 // indices of signals
}

// whole reports whether a lexeme counts only where a word of ASCII ends.
func (l *lexeme) whole() bool { return !l.open && wordByte[l.text[len(l.text)-1]] }

func newGrammar() *grammar {
	g := &grammar{signals: signals()}
	for i, s := range g.signals {
		for j, m := range s.needs {
			if !s.ordered || j == len(s.needs)-1 {
				g.needing[m] = append(g.needing[m], uint8(i))
			}
		}
	}
	return g
}

// lexemes returns the terms as they are looked for. The automaton tells the case of ASCII only, so that others are
// there in three forms.
func lexemes() (all []lexeme) {
	for _, t := range lexicon() {
		for _, word := range t.words {
			text, open := strings.CutSuffix(word, "*")
			first, n := utf8.DecodeRuneInString(text)
			forms := []string{text, string(unicode.ToUpper(first)) + text[n:], strings.ToUpper(text)}
			for i := range forms {
				forms[i] = string(lowered([]byte(forms[i])))
			}
			slices.Sort(forms)
			for _, form := range slices.Compact(forms) {
				all = append(all, lexeme{t.means, form, open})
			}
		}
	}
	all = append(all, lexeme{leakingImage, "](http", true}, lexeme{hiddenRun, "\xf3\xa0", true}) // which selectors and tags begin with
	for _, sign := range []string{"@", "://"} {
		all = append(all, lexeme{address, sign, true})
	}
	for _, sign := range []string{"\u200b", "\u200c", "\u200d", "\u2060", "\u00ad"} {
		all = append(all, lexeme{splitWords, sign, true})
	}
	for _, sign := range []string{"\u202d", "\u202e"} {
		all = append(all, lexeme{overridden, sign, true})
	}
	return all
}

// lowered returns text with its ASCII letters in lower case.
func lowered(text []byte) []byte {
	for i, c := range text {
		text[i] = lower(c)
	}
	return text
}

// A stretch is where something stands.
type stretch struct{ start, end int }

// A reading is how far a text has been read for instructions.
type reading struct {
	text    []byte
	grammar *grammar
	judged  []passage         // that are over
	full    bool              // there are more of these
	last    [meanings]stretch // of each meaning, where it was said last; the end is 0 if it was not
	company [families]companion
	passage passage
	hidden  int // the end of the last run of characters that do not show
	splits  int // how many words were split
	tools   Named
	named   int // how far names of tools were looked for
}

// A companion is where the strongest mere company of a family was.
type companion struct {
	signal *signal
	end    int
}

// A passage is signals that stand near each other.
type passage struct {
	stretch
	best [families]*signal
}

// say notes that a meaning stands from start to end, and the signals that it completes.
func (r *reading) say(m meaning, start, end int) {
	r.last[m] = stretch{start, end}
	g := r.grammar
	for _, i := range g.needing[m] {
		s := &g.signals[i]
		if from, ok := r.holds(s, end); ok {
			if from = min(from, start); s.company {
				r.accompany(s, from, end)
			} else {
				r.extend(s, from, end)
			}
		}
	}
}

// holds reports whether all that a signal needs stands near enough before a place, and where it begins.
func (r *reading) holds(s *signal, end int) (from int, ok bool) {
	from = end
	at := 0
	for _, m := range s.needs {
		l := r.last[m]
		if l.end == 0 || len(s.needs) > 1 && l.start < end-s.within-len("instructions") || s.ordered && l.start < at {
			return 0, false
		}
		from, at = min(from, l.start), l.start+1
	}
	return from, true
}

// accompany notes mere company.
func (r *reading) accompany(s *signal, start, end int) {
	c := &r.company[s.family]
	if c.signal == nil || c.end < start-companyGap || c.signal.weight <= s.weight {
		*c = companion{s, end}
	}
	if p := &r.passage; p.end > 0 && start <= p.end+companyGap {
		p.add(s)
	}
}

func (p *passage) add(s *signal) {
	if best := p.best[s.family]; best == nil || best.weight < s.weight {
		p.best[s.family] = s
	}
}

// extend adds a signal to the passage, or begins another.
func (r *reading) extend(s *signal, start, end int) {
	p := &r.passage
	if p.end > 0 && (start > p.end+passageGap || end > p.start+passageSize) {
		r.close()
	}
	if p.end == 0 {
		p.start = start
		for _, c := range r.company {
			if c.signal != nil && c.end >= start-companyGap {
				p.add(c.signal)
			}
		}
	}
	p.start, p.end = min(p.start, start), max(p.end, end)
	p.add(s)
}

// close ends the passage. Of many, the strongest are kept.
func (r *reading) close() {
	p := r.passage
	r.passage = passage{}
	switch {
	case p.end == 0:
	case len(r.judged) < maxFindings:
		r.judged = append(r.judged, p)
	default:
		r.full = true
		weakest := 0
		for i := range r.judged {
			if r.judged[i].score() < r.judged[weakest].score() {
				weakest = i
			}
		}
		if r.judged[weakest].score() < p.score() {
			r.judged[weakest] = p
		}
	}
}

// score returns the sum of the weights. The name of a tool and mere company are a note at most: manuals of
// tools have both.
func (p *passage) score() (sum int) {
	beyond := p.best[callsTool] == nil
	for by, s := range p.best {
		if s != nil {
			sum += s.weight
			beyond = beyond || !s.company && family(by) != callsTool
		}
	}
	if !beyond {
		return min(sum, untrustedScore-1)
	}
	return sum
}

// finding returns the finding that a passage is, if it has the score of one.
func (p *passage) finding(encoded bool) (f Finding, ok bool) {
	f = Finding{Kind: hiddenText, Class: Injection}
	score := p.score()
	var why []string
	for by, s := range p.best {
		if s == nil {
			continue
		}
		if family(by) != hides {
			f.Kind = injectedText
		}
		why = append(why, s.why)
	}
	if encoded {
		score += 2
		why = append(why, "is encoded")
	}
	switch {
	case score >= maliciousScore:
		f.Confidence = High
	case score >= untrustedScore:
		f.Confidence = Medium
	}
	f.Why = strings.Join(why, ", ")
	return f, score >= noteScore
}

// word notes a term that ends at end, if it stands there as a word.
func (r *reading) word(l *lexeme, end int) {
	text := r.text
	if r.tools.tools == nil && (l.means == toCall || l.means == toCallBefore) {
		return
	}
	start := l.start(text, end)
	switch l.means {
	case address:
		if l.text == "@" && !mailAt(text, start) {
			return
		}
	case leakingImage:
		if !leaks(text, start, end) {
			return
		}
	case hiddenRun, splitWords:
		r.hiddenAt(start)
		return
	default:
		if joins(text, start, start-1) || !l.open && joins(text, end-1, end) {
			return
		}
	}
	if l.means == toCall || l.means == toCallBefore {
		r.orders(l, start, end)
		return
	}
	r.say(l.means, start, end)
}

// start returns where a lexeme begins that ends at end. White space in it may be longer than a space.
func (l *lexeme) start(text []byte, end int) int {
	if strings.IndexByte(l.text, ' ') < 0 {
		return end - len(l.text)
	}
	at := end
	for i := len(l.text) - 1; i >= 0; i-- {
		at--
		for l.text[i] == ' ' && at > 0 && space(text[at-1]) {
			at--
		}
	}
	return at
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// joins reports whether the byte at a place and its neighbour are of one word. Scripts without spaces between words
// have none.
func joins(text []byte, at, neighbour int) bool {
	if neighbour < 0 || neighbour >= len(text) || !spaced(text, at) {
		return false
	}
	return spaced(text, neighbour)
}

// spaced reports whether the byte at a place is of a letter, a digit or an underscore, in a script that has spaces
// between words.
func spaced(text []byte, at int) bool {
	if text[at] < utf8.RuneSelf {
		return wordByte[text[at]]
	}
	start := at
	for start > 0 && start > at-utf8.UTFMax && !utf8.RuneStart(text[start]) {
		start--
	}
	r, _ := utf8.DecodeRune(text[start:])
	if r > 0xffff {
		return unicode.IsLetter(r) && !unicode.In(r, unspaced...)
	}
	return spacedLetters()[r>>6]>>(r&63)&1 != 0
}

// unspaced are the scripts without spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai}

// spacedLetters are the letters below 0x10000 of the other scripts, a bit each. Tables of Unicode take long to look up.
var spacedLetters = sync.OnceValue(func() *[1 << 10]uint64 {
	var t [1 << 10]uint64
	each := func(table *unicode.RangeTable, do func(r rune)) {
		for _, row := range table.R16 {
			for r := rune(row.Lo); r <= rune(row.Hi); r += rune(row.Stride) {
				do(r)
			}
		}
	}
	each(unicode.L, func(r rune) { t[r>>6] |= 1 << (r & 63) })
	for _, script := range unspaced {
		each(script, func(r rune) { t[r>>6] &^= 1 << (r & 63) })
	}
	return &t
})

// mailAt reports whether the sign at a place is that of a mail address.
func mailAt(text []byte, at int) bool {
	if at == 0 || !wordByte[text[at-1]] || at+1 == len(text) || !wordByte[text[at+1]] {
		return false
	}
	for _, c := range text[at+1 : min(len(text), at+64)] {
		if c == '.' {
			return true
		}
		if !wordByte[c] && c != '-' {
			return false
		}
	}
	return false
}

// leaks reports whether a Markdown image whose URL begins inside of the text from start to end has a place for data in
// its query.
func leaks(text []byte, start, end int) bool {
	open := bytes.LastIndexByte(text[max(0, start-100):start], '[')
	if open += max(0, start-100); open < 1 || text[open] != '[' || text[open-1] != '!' {
		return false
	}
	query := false
	for i := end; i < min(len(text), end+300); i++ {
		switch c := text[i]; {
		case c == '?':
			query = true
		case c == '(' || c == ')' || space(c):
			return false
		case query && c == '=' && i+2 < len(text) && (bytes.IndexByte([]byte("{[<"), text[i+1]) >= 0 || string(text[i+1:i+3]) == "${"):
			return true
		}
	}
	return false
}
