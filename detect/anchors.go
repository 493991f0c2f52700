package detect

import (
	"slices"
	"unicode/utf8"
)

// An automaton finds all anchors of all rules in one pass over a text, whatever their number (Aho and Corasick, 1975).
// It takes ASCII letters of either case for the same, and white space for a space: rules compare them themselves.
type automaton struct {
	class [256]uint8 // of each byte: bytes in no anchor share class 0 of ASCII, or of the other bytes
	shift uint       // a state has 1<<shift transitions by ASCII
	next  []uint16   // by state and class of an ASCII byte
	above uint       // a row has 1<<above transitions by other bytes
	row   []uint16   // of a state: few have transitions of their own by bytes beyond ASCII, the others share a row
	wide  []uint16   // by row and class of a byte beyond ASCII
	ends  []uint16   // the number of the anchors that end at a state, by the state without its sign; 0: none do
	sets  [][]uint16 // the anchors by that number
	whole []bool     // that all these count only as whole words
}

// accepts is the sign of a state at which an anchor ends.
const accepts = 1 << 15

// Each step waits for the table, so the lanes of a block are read side by side.
const (
	lanes = 4
	lane  = 256 // bytes
	block = lanes * lane
)

// read writes the state behind each byte of a text, which is no longer than a block. It returns the last one.
func (a *automaton) read(text []byte, state uint16, states *[block]uint16) uint16 {
	if len(text) < lane {
		for i, c := range text {
			state = a.step(state, c)
			states[i] = state
		}
		return state
	}
	var padded [block]byte
	t := &padded
	if len(text) == block {
		t = (*[block]byte)(text)
	} else {
		copy(padded[:], text)
	}
	a.readLanes(t, state, states)
	for from := lane; from < len(text); from += lane { // a lane began as if nothing stood before it
		state = states[from-1]
		for i := from; i < from+lane; i++ {
			if state = a.step(state, t[i]); state == states[i] {
				break
			}
			states[i] = state
		}
	}
	return states[len(text)-1]
}

// readLanes reads the lanes of a block, each from its beginning.
func (a *automaton) readLanes(t *[block]byte, state uint16, states *[block]uint16) {
	next, shift := a.next, a.shift&15
	s0, s1, s2, s3 := state, uint16(0), uint16(0), uint16(0)
	for from := 0; from < lane; from += 8 {
		ascii := (eight(t[from:])|eight(t[from+lane:])|eight(t[from+2*lane:])|eight(t[from+3*lane:]))&highs == 0
		for i := range 8 {
			i = (from + i) & (lane - 1)
			if ascii {
				s0 = next[int(s0&^accepts)<<shift|int(a.class[t[i]])]
				s1 = next[int(s1&^accepts)<<shift|int(a.class[t[i+lane]])]
				s2 = next[int(s2&^accepts)<<shift|int(a.class[t[i+2*lane]])]
				s3 = next[int(s3&^accepts)<<shift|int(a.class[t[i+3*lane]])]
			} else {
				s0, s1 = a.step(s0, t[i]), a.step(s1, t[i+lane])
				s2, s3 = a.step(s2, t[i+2*lane]), a.step(s3, t[i+3*lane])
			}
			states[i], states[i+lane], states[i+2*lane], states[i+3*lane] = s0, s1, s2, s3
		}
	}
}

func (a *automaton) step(state uint16, c byte) uint16 {
	if state &^= accepts; c < utf8.RuneSelf {
		return a.next[int(state)<<(a.shift&15)|int(a.class[c])]
	}
	return a.wide[int(a.row[state])<<(a.above&15)|int(a.class[c])]
}

// accepted returns the first place from a place on at which an anchor ends, or the end of the states.
func accepted(states []uint16, at int) int {
	for at+8 <= len(states) {
		s := (*[8]uint16)(states[at:])
		if s[0]|s[1]|s[2]|s[3]|s[4]|s[5]|s[6]|s[7] >= accepts {
			break
		}
		at += 8
	}
	for at < len(states) && states[at] < accepts {
		at++
	}
	return at
}

// lower returns the lower case of an ASCII letter, and any other byte as it is.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// asAnchor returns the byte that a byte counts as in a text: lower case, and a space for any white space.
func asAnchor(c byte) byte {
	if c == '\t' || c == '\n' || c == '\r' {
		return ' '
	}
	return lower(c)
}

// newAutomaton builds the automaton of these anchors, of which some count only where the word ends. No anchor is empty.
func newAutomaton(anchors []string, whole func(anchor int) bool) *automaton {
	size := 1
	for _, anchor := range anchors {
		size += len(anchor)
	}
	t, same := make(trie, 1, size), make([]uint16, len(anchors))
	var used set
	for i, anchor := range anchors {
		at := uint16(0)
		for j := range len(anchor) {
			c := asAnchor(anchor[j])
			used[c] = true
			at = t.child(at, c)
		}
		end := &t[at].end
		for *end > 0 {
			end = &same[*end-1]
		}
		*end = uint16(i) + 1
	}
	a := &automaton{}
	a.shift = a.classes(&used, 0, utf8.RuneSelf)
	a.above = a.classes(&used, utf8.RuneSelf, len(used))
	a.fill(t, same)
	for _, ends := range a.sets {
		part := func(i uint16) bool { return !whole(int(i)) }
		a.whole = append(a.whole, !slices.ContainsFunc(ends, part))
	}
	return a
}

// classes numbers the bytes of a range that are used, from 1. It returns how many bits a number has.
func (a *automaton) classes(used *set, from, to int) (bits uint) {
	last := 0
	for c := from; c < to; c++ {
		if used[c] {
			last++
			a.class[c] = uint8(last)
		}
	}
	for c := from; c < to; c++ {
		a.class[c] = a.class[asAnchor(byte(c))]
	}
	for 1<<bits <= last {
		bits++
	}
	return bits
}

// A trie is an automaton while it is built, by state: state 0 is the start.
type trie []trieState

type trieState struct {
	first, sibling uint16 // of the states that follow, 0 for none
	end            uint16 // 1 more than the first anchor that ends here, 0 for none
	by             byte   // that leads here
}

// follows returns the state that follows by a byte; 0 if there is none.
func (t trie) follows(at uint16, by byte) uint16 {
	to := t[at].first
	for to != 0 && t[to].by != by {
		to = t[to].sibling
	}
	return to
}

// beyond reports whether a state follows by a byte beyond ASCII.
func (t trie) beyond(at uint16) bool {
	to := t[at].first
	for to != 0 && t[to].by < utf8.RuneSelf {
		to = t[to].sibling
	}
	return to != 0
}

// child is follows that adds the state if there is none.
func (t *trie) child(at uint16, by byte) uint16 {
	to := t.follows(at, by)
	if to == 0 {
		to = uint16(len(*t))
		*t = append(*t, trieState{by: by, sibling: (*t)[at].first})
		(*t)[at].first = to
	}
	return to
}

// fill writes the states, which are numbered by depth: when one is written, so is the state where it goes on when
// nothing of its own follows. Same has 1 more than the next anchor that ends where one does.
func (a *automaton) fill(t trie, same []uint16) {
	rows := 1
	for at := 1; at < len(t); at++ {
		if t.beyond(uint16(at)) {
			rows++
		}
	}
	a.next, a.ends, a.row = make([]uint16, len(t)<<a.shift), make([]uint16, len(t)), make([]uint16, len(t))
	a.wide, a.sets = make([]uint16, rows<<a.above), make([][]uint16, 1)
	b := &building{automaton: a, trie: t, same: same, order: append(make([]uint16, 0, len(t)), 0), fail: append(make([]uint16, 0, len(t)), 0)}
	for n := range t {
		b.transitions(n)
	}
}

// A building is an automaton while its states are written, by their numbers.
type building struct {
	*automaton
	trie  trie
	same  []uint16
	order []uint16 // of the states in the trie
	fail  []uint16 // where a state goes on when nothing of its own follows
	rows  int      // of wide that are taken, but for the first
}

// to returns where a transition of the n-th state is written.
func (b *building) to(n int, by byte) *uint16 {
	if by < utf8.RuneSelf {
		return &b.next[n<<b.shift|int(b.class[by])]
	}
	return &b.wide[int(b.row[n])<<b.above|int(b.class[by])]
}

// transitions writes those of the n-th state, and numbers the states that follow.
func (b *building) transitions(n int) {
	at, fail := b.order[n], int(b.fail[n])
	if n > 0 {
		b.inherit(n, fail)
	}
	for child := b.trie[at].first; child != 0; child = b.trie[child].sibling {
		s, to := &b.trie[child], uint16(len(b.order))
		onward := uint16(0)
		if n > 0 {
			onward = *b.to(fail, s.by) &^ accepts
		}
		b.order, b.fail = append(b.order, child), append(b.fail, onward)
		b.ends[to] = b.ends[onward]
		if s.end > 0 {
			b.ends[to] = b.set(s.end, b.ends[onward])
		}
		if b.ends[to] > 0 {
			to |= accepts
		}
		*b.to(n, s.by) = to
	}
}

// set numbers the anchors that end where one does, and those of another set.
func (b *building) set(end, more uint16) uint16 {
	var all []uint16
	for ; end > 0; end = b.same[end-1] {
		all = append(all, end-1)
	}
	b.sets = append(b.sets, append(all, b.sets[more]...))
	return uint16(len(b.sets) - 1)
}

// inherit gives the n-th state the transitions of the one where it goes on.
func (b *building) inherit(n, fail int) {
	copy(b.next[n<<b.shift:][:1<<b.shift], b.next[fail<<b.shift:])
	b.row[n] = b.row[fail]
	if at := b.order[n]; b.trie.beyond(at) {
		b.rows++
		b.row[n] = uint16(b.rows)
		copy(b.wide[b.rows<<b.above:][:1<<b.above], b.wide[int(b.row[fail])<<b.above:])
	}
	if at := b.order[n]; b.trie[at].by == ' ' && b.trie.follows(at, ' ') == 0 { // more white space changes nothing
		self := uint16(n)
		if b.ends[n] > 0 {
			self |= accepts
		}
		*b.to(n, ' ') = self
	}
}
