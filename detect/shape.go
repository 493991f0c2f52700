package detect

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
)

// A set is a set of bytes.
type set [256]bool

func setOf(ranges string) (s set) {
	for i := 0; i+1 < len(ranges); i += 2 {
		for c := int(ranges[i]); c <= int(ranges[i+1]); c++ {
			s[c] = true
		}
	}
	return s
}

// A part of a shape is a literal, or between least and most bytes of a set.
type part struct {
	literal     string
	fold        bool // the literal stands for either case
	set         int  // index into sets, unless there is a literal
	least, most int
	secret      bool
}

// A shape is a sequence of parts. It is a regular expression without choices and without backtracking: each part takes
// as much as it can, so that a match costs no more than its length.
type shape struct {
	parts  []part
	anchor int // the literal part that is looked for
	least  int // bytes of a match, from the anchor on
}

// mostRepeat stands for "without end" in shapes.
const mostRepeat = 4096

// goodAnchor is how long a literal has to be at the beginning of a shape to be looked for rather than a longer one.
const goodAnchor = 3

// fewChoices is how many literals a set may be.
const fewChoices = 6

// A shaper reads the expressions of rules, and gives equal sets one number.
type shaper struct {
	sets  []set
	index map[set]int
}

// shapes returns the shapes that an expression stands for: one for each way through its alternatives.
func (b *shaper) shapes(expression string) (out []shape, err error) {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	ways, err := b.ways(tree)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expression, err)
	}
	for _, parts := range ways {
		s := shape{parts: joined(parts), anchor: -1}
		for i, p := range s.parts {
			longer := s.anchor < 0 || len(s.parts[0].literal) < goodAnchor && len(p.literal) > len(s.parts[s.anchor].literal)
			if p.literal != "" && longer {
				s.anchor = i
			}
		}
		for _, p := range s.parts[max(s.anchor, 0):] {
			s.least += max(p.least, len(p.literal))
		}
		out = append(out, s)
	}
	return out, nil
}

// joined returns the parts with neighbouring literals made one.
func joined(parts []part) (out []part) {
	for _, p := range parts {
		if n := len(out); n > 0 && p.literal != "" && out[n-1].literal != "" && out[n-1].fold == p.fold && out[n-1].secret == p.secret {
			out[n-1].literal += p.literal
			continue
		}
		out = append(out, p)
	}
	return out
}

// ways returns the sequences of parts that an expression stands for.
func (b *shaper) ways(e *syntax.Regexp) ([][]part, error) {
	switch e.Op {
	case syntax.OpEmptyMatch:
		return [][]part{nil}, nil
	case syntax.OpLiteral:
		fold := e.Flags&syntax.FoldCase != 0
		text := string(e.Rune)
		if fold {
			text = strings.ToLower(text)
		}
		return [][]part{{{literal: text, fold: fold}}}, nil
	case syntax.OpCharClass:
		if choices := b.choices(e); choices != nil {
			return choices, nil
		}
		return [][]part{{{set: b.number(e), least: 1, most: 1}}}, nil
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return b.repeat(e)
	case syntax.OpCapture:
		ways, err := b.ways(e.Sub[0])
		for _, way := range ways {
			for i := range way {
				way[i].secret = true
			}
		}
		return ways, err
	case syntax.OpConcat:
		return b.sequence(e.Sub)
	case syntax.OpAlternate:
		var all [][]part
		for _, sub := range e.Sub {
			ways, err := b.ways(sub)
			if err != nil {
				return nil, err
			}
			all = append(all, ways...)
		}
		return all, nil
	}
	return nil, fmt.Errorf("%s has no place in a shape", e)
}

// sequence returns every combination of the ways of several expressions in a row.
func (b *shaper) sequence(list []*syntax.Regexp) ([][]part, error) {
	all := [][]part{nil}
	for _, sub := range list {
		ways, err := b.ways(sub)
		if err != nil {
			return nil, err
		}
		longer := make([][]part, 0, len(all)*len(ways))
		for _, before := range all {
			for _, way := range ways {
				longer = append(longer, slices.Concat(before, way))
			}
		}
		all = longer
	}
	return all, nil
}

// repeat returns the ways of a repetition: of a set a part, and of anything else, which may be there or not, both ways.
func (b *shaper) repeat(e *syntax.Regexp) ([][]part, error) {
	sub := e.Sub[0]
	least, most := e.Min, e.Max
	switch e.Op {
	case syntax.OpStar:
		least, most = 0, -1
	case syntax.OpPlus:
		least, most = 1, -1
	case syntax.OpQuest:
		least, most = 0, 1
	}
	if most < 0 {
		most = mostRepeat
	}
	// A blank, a dot and a slash are sets also where they stand once: they make no longer anchor with their neighbours.
	if sub.Op == syntax.OpLiteral && len(sub.Rune) == 1 && (most > 1 || strings.ContainsRune(" ./", sub.Rune[0])) {
		var one set
		one[byte(sub.Rune[0])] = true
		return [][]part{{{set: b.add(one), least: least, most: most}}}, nil
	}
	if sub.Op == syntax.OpCharClass {
		return [][]part{{{set: b.number(sub), least: least, most: most}}}, nil
	}
	if least != 0 || most != 1 {
		return nil, fmt.Errorf("%s repeats more than a set", e)
	}
	ways, err := b.ways(sub)
	return append(ways, nil), err
}

// choices returns the members of a small set as literals, which make longer ones with their neighbours.
func (b *shaper) choices(e *syntax.Regexp) (ways [][]part) {
	for i := 0; i+1 < len(e.Rune); i += 2 {
		for r := e.Rune[i]; r <= e.Rune[i+1]; r++ {
			if ways = append(ways, []part{{literal: string(r)}}); len(ways) > fewChoices {
				return nil
			}
		}
	}
	return ways
}

// number returns the number of the set that a class of characters is. Rules are about ASCII.
func (b *shaper) number(e *syntax.Regexp) int {
	var s set
	for i := 0; i+1 < len(e.Rune); i += 2 {
		for r := e.Rune[i]; r <= min(e.Rune[i+1], 0x7f); r++ {
			s[r] = true
		}
	}
	return b.add(s)
}

func (b *shaper) add(s set) int {
	if i, ok := b.index[s]; ok {
		return i
	}
	b.sets = append(b.sets, s)
	b.index[s] = len(b.sets) - 1
	return len(b.sets) - 1
}

// wordByte are the bytes of words.
var wordByte = setOf("azAZ09")

// Kinds of bytes beside a value.
const (
	numbering uint8 = 1 << iota
	closing
	blanks
	opening
	plural
	between
)

// fringe are the bytes that may stand between a name and its value.
var fringe = func() (t [256]uint8) {
	for kind, bytes := range map[uint8]string{
		numbering: "0123456789_", closing: "\"'`\\])", blanks: " \t", opening: "\"'`\\(", plural: "s\"'`)]", between: " \t:=\"'`#>.,(：",
	} {
		for i := range len(bytes) {
			t[bytes[i]] |= kind
		}
	}
	return t
}()

// skip returns the place behind at most some bytes of a kind.
func skip(text []byte, from, most int, kind uint8) int {
	i := from
	for i < len(text) && i-from < most && fringe[text[i]]&kind != 0 {
		i++
	}
	return i
}
