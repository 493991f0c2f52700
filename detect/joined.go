package detect

import (
	"bytes"
	"sort"
)

// A server may cut a value in pieces, over the texts of several blocks, the elements of an array or the members of an
// object. An agent puts them together again. So the strings of a JSON text are also read one behind the other: all in
// their order but for the types of blocks, and the texts of blocks alone. Only the ends of a string that may be of a
// value count.

// Bounds of joined strings, in bytes.
const (
	mostPiece   = 4 << 10  // of one end of a string
	mostChain   = 16 << 10 // of ends behind each other
	leastJoined = 16       // of these, or else no value is in them
	mostInner   = 16       // strings with JSON
)

// pieceByte are the bytes of values of one word, with those of escapes.
var pieceByte = func() set {
	s := setOf("azAZ09")
	for _, c := range `\_-+/=.:%@~&?#;!$*` {
		s[c] = true
	}
	return s
}()

// A chain is ends of strings, one behind the other.
type chain struct {
	ends  []span
	size  int  // of these, in bytes
	last  int  // the number of the last string
	apart bool // other strings stand between these
}

// A collator puts the strings of a JSON text together.
type collator struct {
	w      *scan
	v      *view
	order  chain  // of all strings but types
	texts  chain  // of blocks
	number int    // of the string
	inner  []span // strings that hold JSON themselves
	buf    []byte // that is read next
	marks  []mark
	joints []int
}

// joined looks for values that stand in several strings of a text, or of JSON in a string of it.
func (w *scan) joined(v *view) {
	w.most = w.checked + leastChecks + mostChecked*len(v.text)
	j := &w.collator
	j.inner = j.inner[:0]
	j.strings(w, v)
	for _, s := range j.inner {
		l := &w.levels[v.depth]
		l.buf, l.marks, _ = flatten(l.buf[:0], l.marks[:0], v.text[:s.end], s.start, jsonEscapes)
		at := &w.levels[v.depth+1].view
		*at = view{text: l.buf, depth: v.depth + 1, from: v, marks: l.marks, rate: rate{1, 1}}
		j.strings(w, at)
	}
}

// strings looks for values that stand in several strings of a text.
func (j *collator) strings(w *scan, v *view) {
	j.w, j.v, j.number = w, v, 0
	text, name := v.text, []byte(nil)
	for i := 0; i < len(text); {
		if text[i] != '"' {
			i++
			continue
		}
		end := stringEnd(text, i)
		inner := span{i + 1, max(i+1, end-1)}
		if isName(text, end) {
			name = text[inner.start:inner.end]
		} else {
			j.add(name, inner)
		}
		i = end
	}
	j.end(&j.order)
	j.end(&j.texts)
	j.read()
	j.v = nil
}

// add adds a string that is the value of a member, or of an array in it.
func (j *collator) add(name []byte, s span) {
	if string(name) == "type" {
		return
	}
	j.number++
	text := j.v.text[s.start:s.end]
	if len(text) >= leastJoined && (text[0] == '{' || text[0] == '[') && j.v.from == nil && len(j.inner) < mostInner {
		j.inner = append(j.inner, s)
	}
	head := 0
	for head < min(len(text), mostPiece) && pieceByte[text[head]] {
		head++
	}
	tail := len(text)
	for tail > max(head, len(text)-mostPiece) && pieceByte[text[tail-1]] {
		tail--
	}
	first, last := span{s.start, s.start + head}, span{s.start + tail, s.end}
	j.extend(&j.order, first, last)
	if string(name) == "text" {
		j.extend(&j.texts, first, last)
	}
}

// extend adds the ends of a string to a chain.
func (j *collator) extend(c *chain, first, last span) {
	c.apart = c.apart || c.last != j.number-1 && len(c.ends) > 0
	c.last = j.number
	if j.put(c, first); first.end < last.end {
		j.end(c)
		j.put(c, last)
	}
}

// put adds an end of a string to a chain.
func (j *collator) put(c *chain, s span) {
	if s.start == s.end {
		return
	}
	if c.size += s.end - s.start; c.size > mostChain {
		j.end(c)
		c.size = s.end - s.start
	}
	c.ends = append(c.ends, s)
}

// end ends a chain: it is read if it has several strings, and those of blocks only if the order of all does not have
// them one behind the other, too.
func (j *collator) end(c *chain) {
	if len(c.ends) > 1 && c.size >= leastJoined && (c == &j.order || c.apart) {
		if len(j.buf)+c.size >= chunk {
			j.read()
		}
		for i, s := range c.ends {
			if i > 0 {
				j.joints = append(j.joints, len(j.buf))
			}
			if piece := j.v.text[s.start:s.end]; bytes.IndexByte(piece, '\\') < 0 {
				j.marks, j.buf = append(j.marks, mark{len(j.buf), s.start}), append(j.buf, piece...)
			} else {
				j.buf, j.marks, _ = flatten(j.buf, j.marks, j.v.text[:s.end], s.start, jsonEscapes)
			}
		}
		j.buf = append(j.buf, 0) // which is of no value, and wraps no line
	}
	c.ends, c.size, c.apart = c.ends[:0], 0, false
}

// read looks for values in the chains so far.
func (j *collator) read() {
	if len(j.buf) > 0 {
		j.w.split = true
		j.w.below(view{text: j.buf, from: j.v, marks: j.marks, rate: rate{1, 1}, joints: j.joints})
		j.w.split = false
	}
	j.buf, j.marks, j.joints = j.buf[:0], j.marks[:0], j.joints[:0]
}

// divisible reports whether findings of a class count in joined strings. What is less certain stands there by chance.
func divisible(c Class, at Confidence) bool {
	return at == High && (c == Credentials || c == Financial || c == Canary)
}

// joint reports whether one string ends, and the next begins, at a place of a view of joined strings.
func (v *view) joint(at int) bool {
	i := sort.SearchInts(v.joints, at)
	return i < len(v.joints) && v.joints[i] == at
}

// mostEnds is how many strings a value may end with.
const mostEnds = 8

// across reports whether a span of a view is of several strings that are joined.
func (v *view) across(start, end int) bool {
	v, start, end = v.ofJoined(start, end)
	i := sort.SearchInts(v.joints, start+1)
	return i < len(v.joints) && v.joints[i] < end
}

// ofJoined returns the view of joined strings from which a view comes, and the span there of a span of it.
func (v *view) ofJoined(start, end int) (joined *view, from, to int) {
	for ; v.joints == nil && v.from != nil; v = v.from {
		start, end = v.origin(start), v.originEnd(end)
	}
	return v, start, end
}

// parts returns the spans above that a span of a view of joined strings comes from, by string.
func (v *view) parts(start, end int) (all []span) {
	for i := sort.SearchInts(v.joints, start+1); ; i++ {
		to := end
		if i < len(v.joints) {
			to = min(to, v.joints[i])
		}
		all = append(all, span{v.origin(start), v.originEnd(to)})
		if start = to; to == end {
			return all
		}
	}
}

// up returns spans of a view as spans of the text above.
func (v *view) up(all []span) []span {
	for i, s := range all {
		all[i] = span{v.origin(s.start), v.originEnd(s.end)}
	}
	return all
}
