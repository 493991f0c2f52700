package cmdline

import (
	"slices"
	"strings"
)

// A word is one of a simple command as its program gets it.
type word struct {
	text    string
	pattern bool // it may stand for several paths
	sought  bool // a shell may look for files by it before the program runs: it has *, ? or ~ outside of quotes
}

// literals returns words that stand for themselves in every shell.
func literals(all []string) []word {
	words := make([]word, len(all))
	for i, text := range all {
		words[i].text = text
	}
	return words
}

// A read holds the words behind a command, each once, by how the command takes them. All that is said about a line is
// said by these lists, so that no word is an option for one reader and an operand for another.
type read struct {
	command  command
	options  []option
	operands []word
	named    int // how many operands stand before --
	ended    bool
}

// An option is one word with options, and the value of the last of them.
type option struct {
	word  word
	names []string // each with its hyphens
	value word     // empty if it has none
	takes kind     // of the value
	next  bool     // the value is the next word
}

// has reports whether one of the options is in a set.
func (r read) has(set words) bool {
	return slices.ContainsFunc(r.options, func(o option) bool { return slices.ContainsFunc(o.names, set.has) })
}

// shows returns which files' contents the line shows, by its options.
func (r read) shows() shown {
	c := r.command
	switch {
	case c.needle && len(r.operands) > 1 && !r.has("-e --recursive -r -R"):
		return named
	case c.patch != "" && !r.has(c.patch) && (c.brief == "" || r.has(c.brief)):
		return nothing
	}
	return c.shows
}

// accepts takes words apart by the row of their command. It is not ok if one is an option that the row does not have.
func (c command) accepts(all []word) (r read, ok bool) {
	r.command = c
	behind := false // an option without a value in a word of its own
	for i := 0; i < len(all); i++ {
		w := all[i]
		switch {
		case w.text == "--":
			r.ended, r.named = true, len(r.operands)
			r.operands = append(r.operands, all[i+1:]...)
			return r, c.ends && c.takes(r.operands)
		case w.text == "-" || len(w.text) > 1 && w.text[0] == '+':
			return r, false
		case strings.HasPrefix(w.text, "-"):
			o, ok := c.option(all[i:])
			if !ok {
				return r, false
			}
			if r.options, behind = append(r.options, o), !o.next; o.next {
				i++
			}
		case w.pattern && behind:
			return r, false // another program of that name may take the first of the paths for a value
		default:
			r.operands, behind = append(r.operands, w), false
		}
	}
	r.named = len(r.operands)
	return r, c.takes(r.operands)
}

// option takes the first of several words for an option.
func (c command) option(all []word) (o option, ok bool) {
	w := all[0].text
	o.word = all[0]
	name, value, joined := strings.Cut(w, "=")
	switch {
	case c.long.has(w):
		o.names = []string{w}
	case joined && c.takesJoined(name) && (!c.apart || strings.HasPrefix(w, "--")):
		if !strings.HasPrefix(w, "--") && !c.whole {
			value = "=" + value // part of it for most programs
		}
		o.names, o.value.text = []string{name}, value
	case c.takesNext(w):
		if len(all) == 1 || all[1].pattern || !c.isValue(all[1].text) {
			return o, false
		}
		o.names, o.value, o.next = []string{w}, all[1], true
	case strings.HasPrefix(w, "--") || c.whole:
		return o, false
	case strings.Trim(w[1:], c.letters) == "":
		for _, letter := range w[1:] {
			o.names = append(o.names, "-"+string(letter))
		}
	case len(w) > 2 && c.takesJoined(w[:2]) && !c.apart:
		o.names, o.value.text = []string{w[:2]}, w[2:]
	case digits(w[1:]) && c.count:
		o.names = []string{w}
	default:
		return o, false
	}
	if o.takes = ofText; c.takesJoined(o.names[0]) {
		o.takes = c.valued.kindOf(o.names[0])
	}
	return o, o.takes != ofName || plainName().MatchString(strings.TrimPrefix(o.value.text, "="))
}

// takesNext reports whether the next word is the value of an option.
func (c command) takesNext(option string) bool {
	return c.valued.texts.has(option) || c.valued.names.has(option) || c.valued.paths.has(option)
}

// takesJoined reports whether an option may have a value after = or behind its letter.
func (c command) takesJoined(option string) bool {
	return c.takesNext(option) || c.takesNext(option+"=")
}

// isValue reports whether a word behind an option is its value: a program whose value is another than its row says,
// or none, would take a word with a hyphen for an option. Numbers may have one, and in an expression of find a unit.
func (c command) isValue(w string) bool {
	number, signed := strings.CutPrefix(w, "-")
	if c.whole {
		number = strings.TrimRight(number, "bcwkMG")
	}
	return !signed || digits(number)
}

func (c command) takes(operands []word) bool {
	switch {
	case c.operand != nil && slices.ContainsFunc(operands, func(o word) bool { return !c.operand(o.text) }):
		return false
	case c.operands >= 0 && len(operands) > c.operands, len(operands) < c.least:
		return false
	case c.script && !printsLines(operands[0].text):
		return false
	}
	return true
}

// counts reports whether the meaning of an operand depends on its place among the others, and a pattern, which may
// stand for several, is one of them or before them.
func (r read) counts() bool {
	c, isOne := r.command, func(o word) bool { return o.pattern }
	switch {
	case !slices.ContainsFunc(r.operands, isOne):
		return false
	case c.operands >= 0, c.does == Building, c.history:
		return true
	}
	return (c.needle || c.script) && isOne(r.operands[0]) || c.writes == last && isOne(r.operands[len(r.operands)-1])
}

// outside reports whether a command of git may show commits that are not in the history of the work tree: it names
// a branch, a tag or a commit, or asks for all of them.
func (r read) outside() bool {
	return !r.ofHead() || r.has(everywhere) || slices.ContainsFunc(r.options, func(o option) bool {
		return (o.names[0] == "--format" || o.names[0] == "--pretty") && namesRefs().MatchString(o.value.text)
	})
}

// ofHead reports whether each operand of a command of git that may name a commit names one of the history of the work
// tree. A word behind -- is a path.
func (r read) ofHead() bool {
	return !slices.ContainsFunc(r.operands[:r.named], func(o word) bool { return !ofHead().MatchString(o.text) })
}

// looksAt returns the files and folders that the operands from one on may lead to.
func (r read) looksAt(from int) (files []string) {
	skip := 0
	if r.command.script || r.command.needle && !r.hasPattern() {
		skip = 1
	}
	for _, o := range r.operands[min(max(from, skip), len(r.operands)):] {
		files = append(files, r.command.of.paths(o.text)...)
	}
	return files
}

// sought returns the files and folders that the values of options lead to, and the words by which a shell looks for
// files before the command has them.
func (r read) sought() (files []string) {
	all := slices.Clone(r.operands)
	for _, o := range r.options {
		for _, value := range alternatives(o.value.text, strings.TrimPrefix(o.value.text, "=")) {
			files = append(files, o.takes.paths(value)...)
		}
		all = append(all, o.word, o.value)
	}
	for _, w := range all {
		if w.sought {
			files = append(files, w.text)
		}
	}
	return files
}
