package detect

import (
	"slices"
	"unicode/utf8"
)

// An automaton finds all anchors of all rules in one pass over a text, whatever their number (Aho and Corasick, 1975).
// It takes ASCII letters of either case for the same, and white space for a space: rules compare them themselves.
type automaton struct {
	class [256]uint8 // of each byte: bytes in no anchor share class 0
	shift uint       // a state has 1<<shift transitions
	next  []uint16   // by state and class
	ends  [][]uint16 // the anchors that end at a state, by the state without its sign
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

// read writes the state behind each byte of a block, which is no longer than a block. It returns the last one.
func (a *automaton) read(text []byte, state uint16, states *[block]uint16) uint16 {
	if len(text) < block {
		for i, c := range text {
			state = a.step(state, c)
			states[i] = state
		}
		return state
	}
	next, shift, t := a.next, a.shift&15, (*[block]byte)(text)
	s0, s1, s2, s3 := state, uint16(0), uint16(0), uint16(0)
	for i := range lane {
		s0 = next[int(s0&^accepts)<<shift|int(a.class[t[i]])]
		s1 = next[int(s1&^accepts)<<shift|int(a.class[t[i+lane]])]
		s2 = next[int(s2&^accepts)<<shift|int(a.class[t[i+2*lane]])]
		s3 = next[int(s3&^accepts)<<shift|int(a.class[t[i+3*lane]])]
		states[i], states[i+lane], states[i+2*lane], states[i+3*lane] = s0, s1, s2, s3
	}
	for from := lane; from < block; from += lane { // a lane began as if nothing stood before it
		state = states[from-1]
		for i := from; i < from+lane; i++ {
			if state = a.step(state, t[i]); state == states[i] {
				break
			}
			states[i] = state
		}
	}
	return states[block-1]
}

func (a *automaton) step(state uint16, c byte) uint16 {
	return a.next[int(state&^accepts)<<(a.shift&15)|int(a.class[c])]
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

// newAutomaton builds the automaton of these anchors, of which some count only where the word ends. No anchor is empty.
func newAutomaton(anchors []string, whole func(anchor int) bool) *automaton {
	a := &automaton{}
	var used set
	for _, anchor := range anchors {
		for i := range len(anchor) {
			used[lower(anchor[i])] = true
		}
	}
	classes := 1
	for _, ascii := range []bool{true, false} { // the transitions that most texts need lie near each other
		for c := range used {
			if used[c] && (c < utf8.RuneSelf) == ascii {
				a.class[c] = uint8(classes)
				classes++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		a.class[c] = a.class[lower(c)]
	}
	for _, c := range []byte("\t\n\r") {
		a.class[c] = a.class[' ']
	}
	for 1<<a.shift < classes {
		a.shift++
	}
	t := trie{{}}
	for i, anchor := range anchors {
		at := uint16(0)
		for j := range len(anchor) {
			at = t.child(at, a.class[anchor[j]])
		}
		t[at].ends = append(t[at].ends, uint16(i))
	}
	a.fill(t, t.link())
	for _, ends := range a.ends {
		part := func(i uint16) bool { return !whole(int(i)) }
		a.whole = append(a.whole, !slices.ContainsFunc(ends, part))
	}
	return a
}

// A trie is an automaton while it is built, by state: state 0 is the start.
type trie []trieState

type trieState struct {
	first, sibling uint16   // of the states that follow, 0 for none
	class          uint8    // that leads here
	fail           uint16   // where it goes on when nothing of its own follows
	ends           []uint16 // the anchors that end here
}

// follows returns the state that follows by a class; 0 if there is none.
func (t trie) follows(at uint16, class uint8) uint16 {
	to := t[at].first
	for to != 0 && t[to].class != class {
		to = t[to].sibling
	}
	return to
}

// child is follows that adds the state if there is none.
func (t *trie) child(at uint16, class uint8) uint16 {
	to := t.follows(at, class)
	if to == 0 {
		to = uint16(len(*t))
		*t = append(*t, trieState{class: class, sibling: (*t)[at].first})
		(*t)[at].first = to
	}
	return to
}

// link fills in where each state goes on when nothing of its own follows, with the anchors that end there too. It
// returns the states by their depth.
func (t trie) link() (order []uint16) {
	order = append(make([]uint16, 0, len(t)), 0)
	for i := 0; i < len(order); i++ {
		at := order[i]
		for to := t[at].first; to != 0; to = t[to].sibling {
			order = append(order, to)
			for fail := t[at].fail; at != 0; fail = t[fail].fail {
				if t[to].fail = t.follows(fail, t[to].class); t[to].fail != 0 || fail == 0 {
					break
				}
			}
			t[to].ends = append(t[to].ends, t[t[to].fail].ends...)
		}
	}
	return order
}

// fill writes the transitions. The states are numbered by depth.
func (a *automaton) fill(t trie, order []uint16) {
	number := make([]uint16, len(t))
	a.ends = make([][]uint16, len(t))
	for n, at := range order {
		if number[at] = uint16(n); len(t[at].ends) > 0 {
			number[at], a.ends[n] = uint16(n)|accepts, slices.Clip(t[at].ends)
		}
	}
	a.next = make([]uint16, len(t)<<a.shift)
	row := func(at uint16) []uint16 { return a.next[int(number[at]&^accepts)<<a.shift:][:1<<a.shift] }
	for _, at := range order {
		if at != 0 {
			copy(row(at), row(t[at].fail))
		}
		for to := t[at].first; to != 0; to = t[to].sibling {
			row(at)[t[to].class] = number[to]
		}
	}
	space := a.class[' ']
	for _, at := range order {
		if at != 0 && space != 0 && t[at].class == space && t.follows(at, space) == 0 {
			row(at)[space] = number[at] // more white space changes nothing
		}
	}
}
