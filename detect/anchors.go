package detect

import "slices"

// An automaton finds all anchors of all rules in one pass over a text, whatever their number (Aho and Corasick, 1975).
// It takes ASCII letters of either case for the same, and white space for a space: rules compare them themselves.
type automaton struct {
	class  [256]uint8 // of each byte: bytes in no anchor share class 0
	shift  uint       // a state has 1<<shift transitions
	next   []uint16   // by state and class
	accept uint16     // the first state at which an anchor ends
	ends   [][]uint16 // the anchors that end there, by state from accept on
	whole  []bool     // that all these count only as whole words
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
	classes := 1
	for _, anchor := range anchors {
		for i := range len(anchor) {
			if c := lower(anchor[i]); a.class[c] == 0 {
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

// fill writes the transitions. The states are numbered by depth, those with an end behind all others, so that one
// comparison tells them.
func (a *automaton) fill(t trie, order []uint16) {
	number, n := make([]uint16, len(t)), uint16(0)
	for _, at := range order {
		if len(t[at].ends) == 0 {
			number[at] = n
			n++
		}
	}
	a.accept = n
	for _, at := range order {
		if len(t[at].ends) > 0 {
			number[at] = n
			n++
			a.ends = append(a.ends, slices.Clip(t[at].ends))
		}
	}
	a.next = make([]uint16, len(t)<<a.shift)
	row := func(at uint16) []uint16 { return a.next[int(number[at])<<a.shift:][:1<<a.shift] }
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
