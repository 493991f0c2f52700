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
	Within []string // files and folders that it looks at or works in; of a command that names none, its folder
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
		to, pattern, ok := word(r.Word)
		switch {
		case !ok || pattern || to == "" || starred(to):
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
	all := make([]string, len(call.Args))
	patterns := map[string]bool{}
	for i, arg := range call.Args {
		text, pattern, ok := word(arg)
		if !ok || pattern && (i == 0 || text[0] != '-' && strings.HasPrefix(all[i-1], "-")) {
			return false
		}
		if all[i] = text; pattern {
			patterns[text] = true
		}
	}
	if len(all) == 2 && all[0] == "cd" {
		return w.change(all[1])
	}
	all = w.unwrapped(all) // behind another program cd changes no folder of the shell
	c, rest, ok := find(all)
	if !ok || !atSigns.has(all[0]) && slices.ContainsFunc(rest, func(w string) bool { return strings.HasPrefix(w, "@") }) {
		return false
	}
	if piped && c.least > 0 && !c.needle && c.does == "" {
		c.least-- // in place of a file it reads its input
	}
	if piped && c.git == recording {
		return false // it runs beside the others of its pipe
	}
	if c.counts(rest, patterns) || !w.apply(c, rest) {
		return false
	}
	w.descend(all[0], c, rest, piped)
	return true
}

// counts reports whether the meaning of an operand depends on its place among the others, and a pattern, which may
// stand for several, is one of them or before them.
func (c command) counts(all []string, patterns map[string]bool) bool {
	operands, ok := c.accepts(all)
	isOne := func(o string) bool { return patterns[o] }
	switch {
	case !ok || !slices.ContainsFunc(operands, isOne):
		return false
	case c.operands >= 0, c.does == Building, c.history:
		return true
	}
	return (c.needle || c.script) && isOne(operands[0]) || c.writes == last && isOne(operands[len(operands)-1])
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
func (w *walk) unwrapped(all []string) []string {
	if len(all) > 2 && all[0] == "timeout" && digits(strings.TrimRight(all[1], "smh")) {
		all = all[2:]
	}
	if len(all) > 2 && environments.has(all[0]) && all[1] == "run" {
		w.atLeast(Building)
		all = all[2:]
	}
	if len(all) > 2 && (all[0] == "python" || all[0] == "python3") && all[1] == "-m" {
		name := "python -m " + all[2]
		if modules.has(all[2]) {
			name = all[2]
		}
		all = append([]string{name}, all[3:]...)
	}
	return all
}

// find returns the row of a command, with the words behind its name and verb.
func find(all []string) (c command, rest []string, ok bool) {
	for _, table := range []map[string]command{doers, commands} {
		c, rest = table[all[0]], all[1:]
		if c.verbs != nil {
			if len(rest) == 0 {
				continue
			}
			c, rest = c.verbs[rest[0]], rest[1:]
		}
		if c.known {
			if all[0] == "git" && c.git == notGit {
				c.git = comparing
			}
			return c, rest, true
		}
	}
	return command{}, nil, false
}

// apply notes the effect of a command with its options and operands.
func (w *walk) apply(c command, all []string) bool {
	operands, ok := c.accepts(all)
	if !ok || c.writes == every && slices.ContainsFunc(operands, starred) {
		return false
	}
	r := read{c, slices.DeleteFunc(slices.Clone(all), func(o string) bool { return !strings.HasPrefix(o, "-") }), operands}
	if c.git != notGit {
		w.deed.Hooks = true
		w.ofGit(r)
	}
	if c.does != "" {
		w.atLeast(c.does)
	}
	w.deed.Others = w.deed.Others || c.others && !slices.Equal(all, []string{"--show-current"}) || c.history && c.outside(all)
	w.deed.Within = append(w.deed.Within, w.folder())
	if !c.words {
		w.note(r)
	}
	w.calls++
	w.deed.Names = ""
	if w.calls == 1 && !w.split && r.shows() == unnamed {
		w.deed.Names = r.form(all)
	}
	return true
}

// note adds the files of a command.
func (w *walk) note(r read) {
	paths := r.operands
	if r.command.script || r.command.needle && len(paths) > 0 && !r.hasPattern() {
		paths = paths[1:]
	}
	files := make([]string, len(paths))
	for i, p := range paths {
		files[i] = w.below(strings.TrimSuffix(p, "..."))
	}
	w.deed.Within = append(w.deed.Within, files...)
	if r.command.does != Building {
		w.after(files...)
	}
	if r.command.history {
		files = nil // its folder stands for them
	}
	switch shows := r.shows(); {
	case shows == named:
		w.deed.Shows = append(w.deed.Shows, files...)
	case shows == unnamed && !r.onlyInput():
		w.deed.Shows = append(append(w.deed.Shows, files...), w.folder())
	}
	switch n := len(files); r.command.writes {
	case every:
		w.deed.Writes = append(w.deed.Writes, files...)
	case last:
		w.deed.Shows, w.deed.Writes = append(w.deed.Shows, files[:n-1]...), append(w.deed.Writes, files[n-1])
		for _, f := range files[:n-1] {
			w.deed.Into = append(w.deed.Into, files[n-1]+"/"+path.Base(f))
		}
		if slices.ContainsFunc(r.options, func(o string) bool { return strings.ContainsAny(o, "arR") }) || slices.ContainsFunc(files, starred) {
			w.atLeast(Changing) // whole folders, or patterns: files of any name
		}
		if r.command.does == Changing || slices.ContainsFunc(r.options, func(o string) bool { return strings.ContainsAny(o, "arR") }) {
			w.moves.From, w.moves.To = append(w.moves.From, files[:n-1]...), append(w.moves.To, files[n-1])
		}
	}
}

// outside reports whether a command of git may show commits that are not in the history of the work tree: it names
// a branch, a tag or a commit, or asks for all of them.
func (c command) outside(all []string) bool {
	if i := slices.Index(all, "--"); i >= 0 {
		all = all[:i]
	}
	named, ok := c.accepts(all)
	return !ok || slices.ContainsFunc(named, func(name string) bool { return !ofHead().MatchString(name) }) ||
		slices.ContainsFunc(all, func(w string) bool {
			option, value, _ := strings.Cut(w, "=")
			cluster := len(w) > 1 && w[0] == '-' && w[1] != '-' && !c.takesJoined(w[:2])
			return everywhere.has(option) || namesRefs().MatchString(value) || cluster && strings.ContainsAny(w, "arl")
		})
}

// word returns a word that stands for itself in every shell, or for paths: then it is a pattern.
func word(of *syntax.Word) (text string, pattern, ok bool) {
	var all strings.Builder
	for i, part := range of.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(part.Value, "[]{}^!$`\\#") || i == 0 && strings.HasPrefix(part.Value, "=") || !plainTildes(part.Value) {
				return "", false, false
			}
			all.WriteString(part.Value)
			if strings.ContainsAny(part.Value, "*?") {
				if pattern = true; !staysOne(all.String()) {
					return "", false, false
				}
			}
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false, false
			}
			all.WriteString(part.Value)
		case *syntax.DblQuoted:
			plain, ok := plainText(part)
			if !ok {
				return "", false, false
			}
			all.WriteString(plain)
		default:
			return "", false, false
		}
	}
	if pattern && (strings.Contains(all.String(), "**") || strings.ContainsAny(all.String(), `[]\`)) {
		return "", false, false // any number of folders, or quoted signs
	}
	return all.String(), pattern, true
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
