package provenance

import "unicode/utf8"

// Trace says where a value came from.
func (x *Index) Trace(text string) Trace {
	cut := len(text) > maxValue
	if cut {
		text = text[:maxValue]
	}
	v := newValue([]byte(text))
	t := x.tile(v, Exact)
	decodings(v.text, func(plain []byte) {
		hidden := x.tile(newValue(plain), Decoded)
		if raised := hidden.From & (Private | Untrusted); raised != 0 {
			t.From |= raised
			t.Whole = false
			t.Matches = append(t.Matches, hidden.Matches...)
		}
	})
	if cut {
		t.From, t.Whole = t.From|Novel, false
		t.Bits, t.Known = maxBits, maxBits
	}
	for inner := range sentences(text) {
		other := x.tile(newValue([]byte(inner)), Exact)
		t.Bits, t.Known = min(t.Bits, sentenceBits+other.Bits), min(t.Known, sentenceBits+other.Known)
	}
	t.Matches = t.Matches[:min(len(t.Matches), MaxMatches)]
	return t
}

func newValue(text []byte) *value { return &value{text, normal(text)} }

// tile covers the value with the longest pieces, from left to right.
func (x *Index) tile(v *value, how How) Trace {
	var t Trace
	var b bill
	joined := false // of several pieces, or with something between or around them
	spots := make([]spot, 0, 2*slots)
	for i := 0; i < len(v.norm); {
		if !v.looksAt(i) {
			i++
			continue
		}
		p := x.best(v, i, spots)
		if !v.counts(p) {
			if v.begins[i] {
				t.From |= Novel
			}
			i++
			continue
		}
		also := x.private(v, p)
		if len(also) > 0 {
			p.kinds |= Private
		}
		t.From |= p.kinds
		b.take(x, v, p)
		t.Whole = p.start == 0 && p.end == len(v.norm) && v.isAll(p)
		joined = joined || !t.Whole
		if len(t.Matches) < MaxMatches {
			t.Matches = append(t.Matches, p.match(how))
		}
		for _, q := range also[:min(len(also), MaxMatches-len(t.Matches))] {
			t.Matches = append(t.Matches, q.match(how))
		}
		i = p.end
	}
	t.Bits, t.Known = b.hidden.total(v), b.known.total(v)
	if joined && t.From&(User|Trusted) != 0 {
		t.From |= Novel // who put it together chose how
	}
	return t
}

func (p *piece) match(how How) Match {
	if p.loose {
		how = max(how, Normalised)
	}
	return Match{Source: p.source, Start: p.from, End: p.to, At: p.at, How: how}
}

// isAll reports whether the piece is the value, but for a sign of white space before and after it.
func (v *value) isAll(p piece) bool {
	return skipWhite(v.text, 0) == p.from && skipWhite(v.text, p.to) == len(v.text) && p.from <= 1 && len(v.text)-p.to <= 1
}

// looksAt reports whether a piece may begin at i.
func (v *value) looksAt(i int) bool {
	if v.begins[i] {
		return true
	}
	for k := i; k < i+standsOut; k++ {
		if k >= len(v.ends) || (v.ends[k] && k < i+standsOut-1) {
			return false
		}
	}
	return utf8.RuneStart(v.norm[i])
}

// counts reports whether a piece is long enough to say anything; see the package comment.
func (v *value) counts(p piece) bool {
	if p.end == 0 {
		return false
	}
	n, words, digits, letters := p.end-p.start, 0, 0, 0
	for i := p.start; i < p.end; i++ {
		if v.ends[i] {
			words++
		}
		if c := v.norm[i]; '0' <= c && c <= '9' {
			digits++
		} else {
			letters++
		}
	}
	if n == len(v.norm) && words == 1 && letters >= 3 && !common[string(v.norm)] {
		return true
	}
	return (words >= 2 && n >= 6 && letters >= 3) || (words >= 1 && n >= 8) || (n >= 4 && digits > 0) || n >= standsOut
}

// best returns the longest piece that begins at i. Of pieces of one length the one that the user wrote comes first,
// then the one that came first: who says the same later does not make it theirs.
func (x *Index) best(v *value, i int, spots []spot) (best piece) {
	if v.begins[i] {
		best = x.user.longest(v, i)
	}
	spots = x.data.find(v, i, spots[:0])
	for _, at := range spots {
		p := x.data.piece(v, i, at)
		p.place = at.at
		if p.end > best.end || (p.end == best.end && p.end > 0 && p.before(best)) {
			best = p
		}
	}
	return best
}

// overlap is how many normalised bytes at the end of a piece of private data may begin others: to look in all of a
// long one takes time by the square of its length.
const overlap = 64

// private returns the pieces of private data that begin inside a piece and count, whichever source that has: who
// repeats private data does not make it public. The user's own words are the user's to tell.
func (x *Index) private(v *value, p piece) (all []piece) {
	if !x.data.private || p.kinds == User || p.kinds&Private != 0 {
		return nil
	}
	spots, end := make([]spot, 0, 2*slots), 0
	for i := p.start; i < p.end; i++ {
		if !v.looksAt(i) {
			continue
		}
		spots = x.data.find(v, i, spots[:0])
		for _, at := range spots {
			if _, src, ok := x.data.reach(at.at); !ok || src.Kinds&Private == 0 {
				continue
			}
			if q := x.data.piece(v, i, at); q.end > end && v.counts(q) {
				all, end = append(all, q), q.end
			}
		}
		i = max(i, end-overlap)
	}
	return all
}

// before reports whether of two pieces of one length the first is to be taken.
func (p *piece) before(o piece) bool {
	switch {
	case o.kinds == User:
		return false
	case p.kinds&Novel != o.kinds&Novel:
		return o.kinds&Novel != 0 && o.kinds&Private == 0
	case p.kinds&(Trusted|Untrusted) != o.kinds&(Trusted|Untrusted):
		return p.place < o.place
	}
	return p.kinds&Private < o.kinds&Private || (p.kinds == o.kinds && p.place < o.place)
}

// find appends where a piece may begin that begins at i in the value.
func (s *shelf) find(v *value, i int, spots []spot) []spot {
	if len(v.norm)-i >= gram {
		spots = s.table.find(hashGram(packed(v.norm[i:i+gram])), spots)
	}
	if !v.begins[i] {
		return spots
	}
	if end := v.wordEnd(i); end-i < gram && end-i >= shortestWord {
		spots = s.table.find(hashWord(packed(v.norm[i:end]), end-i), spots)
	}
	return spots
}

func packed(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// piece compares the value at i with the text at the spot.
func (s *shelf) piece(v *value, i int, spot spot) piece {
	place := spot.at
	text, src, ok := s.reach(place)
	if !ok {
		return piece{}
	}
	at := place - max(src.start, s.base)
	p := v.similar(i, text, at)
	exact := v.verbatim(i, text, at)
	same := exact.end >= p.end && exact.end > 0
	if same {
		p = exact
	}
	p.source, p.kinds, p.loose = src.Source, src.Kinds, !same
	switch {
	case src.Kinds&Trusted == 0:
	case !same:
		p.kinds = src.Kinds&Private | Novel
	case spot.late || s.doubts(place):
		p.kinds = src.Kinds&Private | Untrusted
	}
	p.at += max(0, s.base-src.start) // how much of the source was forgotten
	return p
}
