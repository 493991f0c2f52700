package cmdline

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// A Tree is a folder of which a line may show names or contents of files at any depth.
type Tree struct {
	Path   string
	Hidden bool     // names with a point in front too
	Except []string // names of folders that it leaves out
}

// A descent says how a program goes through the folders that it is given.
type descent struct {
	always  bool   // it does so without an option
	deep    string // else the letters of options with which it does
	long    string // and the option as a word
	flat    string // letters of options with which it does not
	whole   words  // and options as words
	depth   words  // options whose value is how deep it goes
	hidden  string // letters with which it shows hidden names; "*" if it always does
	shown   words  // and options as words
	except  string // the option whose value, with | between them, are names that it leaves out
	quiet   bool   // it shows them with the letter v alone
	leaves  words  // folders that it leaves out
	lines   bool   // it prints each name in a line of its own
	list    words  // the option with which it does that
	pattern bool   // it searches, and the first operand is the pattern
}

var searching = descent{deep: "rR", long: "--recursive", hidden: "*", except: "--exclude-dir", pattern: true}

// descents are the programs that show files below a folder, by their names. The names and changes that git shows are
// those of the work tree: the user's, as the folder is. A file that an option of rg chooses is shown though it is
// hidden.
var descents = map[string]descent{
	"ls":   {deep: "R", long: "--recursive", flat: "d", whole: "--directory", hidden: "aAf", shown: "--all --almost-all"},
	"tree": {always: true, depth: "-L", hidden: "a", except: "-I"},
	"du":   {always: true, flat: "s", whole: "--summarize", depth: "-d --max-depth", hidden: "*"},
	"find": {always: true, depth: "-maxdepth", hidden: "*", lines: true},
	"grep": searching, "egrep": searching, "fgrep": searching,
	"rg":           {always: true, hidden: "u", shown: "--hidden -g --glob -t --type", pattern: true},
	"gofmt":        {always: true, hidden: "*", leaves: ".git", list: "-l"},
	"git ls-files": {deep: "o", long: "--others", hidden: "*", leaves: ".git", lines: true},
	"git status":   {long: "--ignored", hidden: "*", leaves: ".git"},
	"cp":           {deep: "arR", hidden: "*", quiet: true},
	"rm":           {deep: "rR", hidden: "*", quiet: true},
}

// descend notes the folders that a command shows files below of, and how all of the output so far names them.
func (w *walk) descend(all []word, r read, piped bool) {
	program := all[0].text
	if program == "git" {
		for _, listing := range []string{"ls-files", "status"} {
			if slices.ContainsFunc(all, func(w word) bool { return w.text == listing }) {
				program = "git " + listing
			}
		}
	}
	d, descends := descents[program]
	if !descends || !d.goesDown(r) {
		w.tell(w.passes(program, r, piped))
		return
	}
	paths := r.operands
	if d.pattern && len(paths) > 0 && !r.hasPattern() && !r.has("--files") {
		paths = paths[1:]
	}
	t := Tree{w.folder(), d.hidden == "*" || r.hasOneOf(d.shown, d.hidden), d.without(r)}
	if len(paths) == 0 {
		w.deed.Trees = append(w.deed.Trees, t)
	}
	for _, p := range paths {
		t.Path = w.below(p.text)
		w.deed.Trees = append(w.deed.Trees, t)
	}
	switch {
	case d.lines && !r.has("-print0"), r.has(d.list) && !r.has("-d"):
		w.tell(Paths)
	case d.pattern:
		w.tell(r.told())
	default:
		w.tell("")
	}
}

// goesDown reports whether a command goes through folders at any depth, as far as is known.
func (d descent) goesDown(r read) bool {
	if d.quiet && !r.has("-v") || r.hasOneOf(d.whole, d.flat) || !d.always && !r.hasOneOf(words(d.long), d.deep) {
		return false
	}
	depth := ""
	for _, o := range r.options {
		if !d.depth.has(o.names[0]) {
			continue
		}
		if depth != "" {
			return true // which of them counts is the program's
		}
		depth = o.value.text
	}
	return depth != "0" && depth != "1"
}

// without returns the names that a command leaves out.
func (d descent) without(r read) (names []string) {
	for _, o := range r.options {
		if o.names[0] != d.except {
			continue
		}
		values := []string{o.value.text}
		if d.except == "-I" {
			values = strings.Split(o.value.text, "|")
		}
		for _, name := range values {
			if folderName().MatchString(name) {
				names = append(names, name)
			}
		}
	}
	return append(names, strings.Fields(string(d.leaves))...)
}

var folderName = pattern.New(`^[\w.-]+$`)

// passes returns how an output names files behind a command that shows none below folders itself: as before, if it
// hands on all lines, or the first ones, or prints how many there are.
func (w *walk) passes(program string, r read, piped bool) Form {
	lines := func(letters string) bool {
		return !slices.ContainsFunc(r.options, func(o option) bool { return strings.Trim(o.word.text[1:], letters) != "" })
	}
	switch {
	case w.deed.Told == "" || len(r.operands) > 0:
	case program == "true":
		return w.deed.Told
	case !piped:
	case program == "head" && lines("n0123456789"),
		program == "sort" && lines("rnfV"):
		return w.deed.Told
	case program == "wc":
		return Counts
	}
	return ""
}

// tell notes how all of the output names files, by how that of the last command does.
func (w *walk) tell(form Form) {
	if w.split || w.calls > 1 && form != w.deed.Told && form != Counts {
		form = ""
	}
	w.deed.Told = form
}
