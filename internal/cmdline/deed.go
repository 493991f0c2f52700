package cmdline

import (
	"path"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// A Deed is the effect of a line of a shell, as far as it is understood. Paths are as they stand in the line, below
// the folder to which the line has changed before.
type Deed struct {
	Does   Doing
	Within []string // files and folders that it, or the shell for it, looks at or works in; of a command that names none, its folder
	Shows  []string // files, and folders of files, whose contents its output may hold
	Writes []string // files that it writes
	Into   []string // files that it writes too if the last of Writes, which is around them, is a folder
	Others bool     // its output may hold text of commits that are not in the history of the work tree
	Goes   []string // folders to which it changes, which shells find by the text of ".." and programs by the links before it
	Moves  Moves    // files that it moves before it looks at others
	Index  Index    // the files that it records in git's index and then runs git on
	Hooks  bool     // it runs git, which may run hooks and programs of the settings of a repository
	Names  Form     // how its output names each file of which it holds contents; "" if that is not known
	Trees  []Tree   // folders of which its output may show files at any depth
	Told   Form     // how its output names each file below these; "" if that is not known
}

// Understand returns the deed of a line that the Bourne shell, Bash and Zsh read alike. It is not ok for a line
// with anything that stands not for itself (expansions, substitutions, patterns, escapes, assignments), with
// control structures, with a program that is not in the tables, or with an option that is not in the program's row.
// A pattern is taken where all that it can stand for are paths: *, ? in them, but not **.
func Understand(line string) (d Deed, ok bool) {
	line = trimmed(line)
	if line == "" || len(line) > maxLine || !utf8.ValidString(line) || strings.ContainsFunc(line, unprintable) {
		return Deed{}, false
	}
	for i, variant := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash, syntax.LangZsh} {
		w := walk{deed: Deed{Does: Reading}}
		file, err := syntax.NewParser(syntax.Variant(variant), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
		if err != nil || len(file.Last) > 0 || !w.list(file.Stmts) || i > 0 && !reflect.DeepEqual(w.deed, d) {
			return Deed{}, false
		}
		d = w.deed
	}
	return d, true
}

// A walk goes through the commands of a line in their order.
type walk struct {
	deed  Deed
	at    string // the folder, relative to that in which the line begins; "" for that one
	split bool   // a part of the output goes elsewhere than the rest
	calls int    // simple commands so far
	moved bool   // the folder has changed, for the commands behind && alone
	stays int    // no command may change the folder while this is above zero

	moves     Moves // so far, without those after
	index     Index // recorded so far
	committed bool  // since then
}

// list takes commands one after another. Behind the end of a command that may have failed the folder is not known,
// if it may have changed.
func (w *walk) list(all []*syntax.Stmt) bool {
	for _, s := range all {
		if w.moved || !w.statement(s, false) {
			return false
		}
	}
	return len(all) > 0
}

// statement takes a command, or several with an operator between. Piped is whether it reads the output of another.
func (w *walk) statement(s *syntax.Stmt, piped bool) bool {
	if s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Comments) > 0 {
		return false
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		fed := slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.RdrIn })
		return w.redirections(s.Redirs) && w.call(cmd, piped || fed)
	case *syntax.BinaryCmd:
		return len(s.Redirs) == 0 && w.operator(cmd, piped)
	}
	return false
}

func (w *walk) operator(cmd *syntax.BinaryCmd, piped bool) bool {
	switch cmd.Op {
	case syntax.AndStmt:
		return w.statement(cmd.X, piped) && w.statement(cmd.Y, piped)
	case syntax.OrStmt, syntax.Pipe:
		w.stays++
		ok := w.statement(cmd.X, piped) && w.statement(cmd.Y, piped || cmd.Op == syntax.Pipe)
		w.stays--
		return ok
	}
	return false
}

// redirections takes output to files and to nowhere, and input from files.
func (w *walk) redirections(all []*syntax.Redirect) bool {
	for _, r := range all {
		if r.Hdoc != nil || r.N != nil && r.N.Value != "1" && r.N.Value != "2" {
			return false
		}
		target, ok := wordOf(r.Word)
		to := target.text
		switch {
		case !ok || to == "" || starred(to):
			return false
		case r.Op == syntax.DplOut && (to == "1" || to == "2"):
			w.split = w.split || to == "2"
		case to != "/dev/null" && isDevice(w.below(to)):
			return false
		case r.Op == syntax.RdrIn && r.N == nil:
			w.split = true
			w.after(w.below(to))
			w.deed.Within, w.deed.Shows = append(w.deed.Within, w.below(to)), append(w.deed.Shows, w.below(to))
		case !slices.Contains([]syntax.RedirOperator{syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll}, r.Op):
			return false
		case to == "/dev/null":
			w.split = w.split || r.N == nil || r.N.Value != "2"
		default:
			w.split = true
			w.atLeast(Writing)
			w.after(w.below(to))
			w.deed.Writes = append(w.deed.Writes, w.below(to))
		}
	}
	return true
}

// isDevice reports whether a file may be none: Bash opens connections for redirections to names below /dev.
func isDevice(name string) bool {
	clean := path.Clean(name)
	return clean == "/dev" || strings.HasPrefix(strings.ToLower(clean), "/dev/")
}

func (w *walk) atLeast(d Doing) {
	if slices.Index(doings, d) > slices.Index(doings, w.deed.Does) {
		w.deed.Does = d
	}
}

// below returns the path of a word. It is not cleaned, since ".." may follow a link.
func (w *walk) below(name string) string {
	if w.at == "" || path.IsAbs(name) {
		return name
	}
	return w.at + "/" + name
}

func (w *walk) allBelow(names []string) []string {
	below := make([]string, len(names))
	for i, name := range names {
		below[i] = w.below(name)
	}
	return below
}

// folder is the one in which the next command works.
func (w *walk) folder() string {
	if w.at == "" {
		return "."
	}
	return w.at
}

// call takes one simple command.
func (w *walk) call(call *syntax.CallExpr, piped bool) bool {
	if len(call.Assigns) > 0 || len(call.Args) == 0 {
		return false
	}
	all := make([]word, len(call.Args))
	for i, arg := range call.Args {
		var ok bool
		if all[i], ok = wordOf(arg); !ok {
			return false
		}
	}
	if len(all) == 2 && all[0].text == "cd" {
		return w.change(all[1].text)
	}
	all = w.unwrapped(all) // behind another program cd changes no folder of the shell
	c, rest, ok := find(all)
	isFile := func(w word) bool { return strings.HasPrefix(w.text, "@") }
	if !ok || !atSigns.has(all[0].text) && slices.ContainsFunc(rest, isFile) {
		return false
	}
	if piped && c.least > 0 && !c.needle && c.does == "" {
		c.least-- // in place of a file it reads its input
	}
	if piped && c.git == recording {
		return false // it runs beside the others of its pipe
	}
	r, ok := c.accepts(rest)
	if !ok || r.counts() || !w.apply(r) {
		return false
	}
	w.descend(all, r, piped)
	return true
}

// change goes to another folder, by a path that is one for every shell: zsh takes +1, and ~1 in quotes, for folders
// where it was before.
func (w *walk) change(to string) bool {
	if w.stays > 0 || to == "" || strings.ContainsAny(to[:1], "-+~=") || starred(to) {
		return false
	}
	w.at, w.moved = w.below(to), true
	w.deed.Within, w.deed.Goes = append(w.deed.Within, w.at), append(w.deed.Goes, w.at)
	w.after(w.at)
	return true
}

// unwrapped returns the command that another runs as it is: for a number of seconds, in an environment of Python,
// which the project describes and that is built for it, or as a module of Python.
func (w *walk) unwrapped(all []word) []word {
	if len(all) > 2 && all[0].text == "timeout" && digits(strings.TrimRight(all[1].text, "smh")) {
		all = all[2:]
	}
	if len(all) > 2 && environments.has(all[0].text) && all[1].text == "run" {
		w.atLeast(Building)
		all = all[2:]
	}
	if len(all) > 2 && (all[0].text == "python" || all[0].text == "python3") && all[1].text == "-m" {
		name := "python -m " + all[2].text
		if modules.has(all[2].text) {
			name = all[2].text
		}
		all = append([]word{{text: name}}, all[3:]...)
	}
	return all
}

// find returns the row of a command, with the words behind its name and verb.
func find(all []word) (c command, rest []word, ok bool) {
	for _, table := range []map[string]command{doers, commands} {
		c, rest = table[all[0].text], all[1:]
		if c.verbs != nil {
			if len(rest) == 0 {
				continue
			}
			c, rest = c.verbs[rest[0].text], rest[1:]
		}
		if c.known {
			if all[0].text == "git" {
				c.of = ofSpecs
				if c.git == notGit {
					c.git = comparing
				}
			}
			return c, rest, true
		}
	}
	return command{}, nil, false
}

// apply notes the effect of a command with its options and operands.
func (w *walk) apply(r read) bool {
	c := r.command
	if c.writes == every && slices.ContainsFunc(r.operands, func(o word) bool { return starred(o.text) }) {
		return false
	}
	if c.git != notGit {
		w.deed.Hooks = true
		w.ofGit(r)
	}
	if c.does != "" {
		w.atLeast(c.does)
	}
	w.deed.Others = w.deed.Others || c.others && !(len(r.options) == 1 && r.has("--show-current")) || c.history && r.outside()
	w.note(r)
	w.calls++
	w.deed.Names = ""
	if w.calls == 1 && !w.split && r.shows() == unnamed {
		w.deed.Names = r.form()
	}
	return true
}

// note adds the files of a command.
func (w *walk) note(r read) {
	files, sought := w.allBelow(r.looksAt(0)), w.allBelow(r.sought())
	sought = slices.DeleteFunc(sought, func(s string) bool { return slices.Contains(files, s) })
	w.deed.Within = append(append(append(w.deed.Within, w.folder()), files...), sought...)
	if r.command.does != Building {
		w.after(append(sought, files...)...)
	}
	shown := files
	if r.command.history {
		shown = w.allBelow(r.looksAt(r.named)) // files elsewhere, which git compares as they are; its folder stands for others
	}
	switch shows := r.shows(); {
	case shows == named:
		w.deed.Shows = append(w.deed.Shows, shown...)
	case shows == unnamed && !r.onlyInput():
		w.deed.Shows = append(append(w.deed.Shows, shown...), w.folder())
	}
	switch n := len(files); r.command.writes {
	case every:
		w.deed.Writes = append(w.deed.Writes, files...)
	case last:
		w.deed.Shows, w.deed.Writes = append(w.deed.Shows, files[:n-1]...), append(w.deed.Writes, files[n-1])
		for _, f := range files[:n-1] {
			w.deed.Into = append(w.deed.Into, files[n-1]+"/"+path.Base(f))
		}
		whole := r.has("-a -r -R")
		if whole || slices.ContainsFunc(files, starred) {
			w.atLeast(Changing) // whole folders, or patterns: files of any name
		}
		if whole || r.command.does == Changing {
			w.moves.From, w.moves.To = append(w.moves.From, files[:n-1]...), append(w.moves.To, files[n-1])
		}
	}
}

// wordOf returns a word that stands for itself in every shell, or for paths: then it is a pattern.
func wordOf(of *syntax.Word) (w word, ok bool) {
	var all strings.Builder
	for i, part := range of.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(part.Value, "[]{}^!$`\\#") || i == 0 && strings.HasPrefix(part.Value, "=") || !plainTildes(part.Value) {
				return word{}, false
			}
			all.WriteString(part.Value)
			w.sought = w.sought || strings.ContainsAny(part.Value, "*?~") // zsh may take a~b for a pattern
			if strings.ContainsAny(part.Value, "*?") {
				if w.pattern = true; !staysOne(all.String()) {
					return word{}, false
				}
			}
		case *syntax.SglQuoted:
			if part.Dollar {
				return word{}, false
			}
			all.WriteString(part.Value)
		case *syntax.DblQuoted:
			plain, ok := plainText(part)
			if !ok {
				return word{}, false
			}
			all.WriteString(plain)
		default:
			return word{}, false
		}
	}
	if w.text = all.String(); w.pattern && (strings.Contains(w.text, "**") || strings.ContainsAny(w.text, `[]\`)) {
		return word{}, false // any number of folders, or quoted signs
	}
	return w, true
}

// starred reports whether a path may be a pattern. A pattern does not name the files that are written: those are named
// as others are.
func starred(path string) bool { return strings.ContainsAny(path, "*?") }

// plainText returns a text in double quotes in which nothing is expanded.
func plainText(quoted *syntax.DblQuoted) (string, bool) {
	var all strings.Builder
	for _, inner := range quoted.Parts {
		lit, ok := inner.(*syntax.Lit)
		if !ok || strings.ContainsAny(lit.Value, "$`\\!") {
			return "", false
		}
		all.WriteString(lit.Value)
	}
	return all.String(), !quoted.Dollar
}

// staysOne reports whether every name that a pattern stands for is a path, or a value of the same option.
func staysOne(pattern string) bool {
	before := pattern[:strings.IndexAny(pattern, "*?")]
	return before != "" && (before[0] != '-' || strings.HasPrefix(before, "--") && strings.Contains(before, "="))
}

// plainTildes reports whether each tilde follows a letter or a digit, as in HEAD~1: elsewhere it may stand for a
// home directory.
func plainTildes(s string) bool {
	for i := range len(s) {
		if s[i] == '~' && (i == 0 || !isAlnum(s[i-1])) {
			return false
		}
	}
	return true
}

func isAlnum(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// unprintable reports whether a character is neither printable nor the end of a line. A terminal into which a command
// is typed completes words at a tab.
func unprintable(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
