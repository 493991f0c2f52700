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

// A builder is an automaton while it is built. State 0 is the start.
type builder struct {
	next [][]uint16 // by state and class
	fail []uint16   // where a state goes on when nothing of its own follows
	ends [][]uint16
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
	b := &builder{}
	b.add(1 << a.shift)
	for i, anchor := range anchors {
		at := uint16(0)
		for j := range len(anchor) {
			c := a.class[anchor[j]]
			if b.next[at][c] == 0 {
				b.next[at][c] = b.add(1 << a.shift)
			}
			at = b.next[at][c]
		}
		b.ends[at] = append(b.ends[at], uint16(i))
	}
	spaces := b.after(uint16(a.class[' ']))
	b.link()
	for _, at := range spaces { // more white space changes nothing
		b.next[at][a.class[' ']] = at
	}
	a.pack(b)
	for _, ends := range a.ends {
		part := func(i uint16) bool { return !whole(int(i)) }
		a.whole = append(a.whole, !slices.ContainsFunc(ends, part))
	}
	return a
}

// add adds a state.
func (b *builder) add(classes int) uint16 {
	b.next = append(b.next, make([]uint16, classes))
	b.fail, b.ends = append(b.fail, 0), append(b.ends, nil)
	return uint16(len(b.next) - 1)
}

// after returns the states that a class leads to and that do not go on with it.
func (b *builder) after(class uint16) (states []uint16) {
	if class == 0 {
		return nil
	}
	for _, next := range b.next {
		if to := next[class]; to != 0 && b.next[to][class] == 0 {
			states = append(states, to)
		}
	}
	return states
}

// link fills in where each state goes on when its own continuation fails, breadth first.
func (b *builder) link() {
	queue := []uint16{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c, to := range b.next[at] {
			switch {
			case to == 0 && at != 0:
				b.next[at][c] = b.next[b.fail[at]][c]
			case to != 0:
				if at != 0 {
					b.fail[to] = b.next[b.fail[at]][c]
				}
				b.ends[to] = append(b.ends[to], b.ends[b.fail[to]]...)
				queue = append(queue, to)
			}
		}
	}
}

// pack numbers the states anew, those with an end behind all others, so that one comparison tells them.
func (a *automaton) pack(b *builder) {
	order := make([]int, 0, len(b.next))
	for i := range b.next {
		if len(b.ends[i]) == 0 {
			order = append(order, i)
		}
	}
	a.accept = uint16(len(order))
	for i := range b.next {
		if len(b.ends[i]) > 0 {
			order = append(order, i)
			a.ends = append(a.ends, slices.Clip(b.ends[i]))
		}
	}
	number := make([]uint16, len(order))
	for n, i := range order {
		number[i] = uint16(n)
	}
	a.next = make([]uint16, len(order)<<a.shift)
	for n, i := range order {
		for c, to := range b.next[i] {
			a.next[n<<a.shift|c] = number[to]
		}
	}
}
