// Package cmdline reads command lines of a shell: which program a line runs with which words, and whether it only
// reads.
//
// A line is read as a POSIX shell, Bash and Zsh read it (mvdan.cc/sh), and programs and their options are taken from
// tables: see [Understand]. Where the shell may be any other, a line also has to be of a small language that all shells
// read alike: see [UnderstandAnywhere] for those of Unix, and [ReadOnly], which adds those of Windows.
package cmdline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const maxLine = 8 << 10 // bytes

// Words returns the words of a line that is one simple command of literal words, without their quotes. It is not ok for
// anything else: operators, redirections, expansions, patterns, escapes, assignments before the command, comments,
// keywords.
func Words(line string) (words []string, ok bool) {
	line = trimmed(line)
	if line == "" || len(line) > maxLine || !utf8.ValidString(line) || strings.ContainsFunc(line, unreadable) {
		return nil, false
	}
	for _, variant := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		read, ok := simple(line, variant)
		if !ok || words != nil && !slices.Equal(words, read) {
			return nil, false
		}
		words = read
	}
	if words[0] == "" || strings.Contains(words[0], "=") {
		return nil, false
	}
	return words, true
}

// unreadable reports whether a character is one that shells or terminals drop, complete a word or end a line at, expand
// or run, even inside of quotes. PowerShell takes some characters that are not ASCII for quotes and hyphens.
func unreadable(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsPrint(r) || strings.ContainsRune("\\`$!", r)
}

// simple returns the words of the only command in the line.
func simple(line string, variant syntax.LangVariant) ([]string, bool) {
	file, err := syntax.NewParser(syntax.Variant(variant), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, false
	}
	s := file.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || s.Coprocess || s.Disown || s.Semicolon.IsValid() || len(s.Redirs) > 0 || len(s.Comments) > 0 ||
		len(call.Assigns) > 0 || len(call.Args) == 0 {
		return nil, false
	}
	words := make([]string, len(call.Args))
	for i, arg := range call.Args {
		if words[i], ok = literal(arg); !ok {
			return nil, false
		}
	}
	return words, true
}

// literal returns a word that stands for itself.
func literal(word *syntax.Word) (string, bool) {
	var all strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(part.Value, "*?[]{}~^") {
				return "", false
			}
			all.WriteString(part.Value)
		case *syntax.SglQuoted:
			all.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				all.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return all.String(), true
}

// A read is a line of which the command and its options are on the list.
type read struct {
	command  command
	options  []string
	operands []string
}

// shows returns which files' contents the line shows, by its options.
func (r read) shows() shown {
	c := r.command
	has := func(set words, letters string) bool {
		return slices.ContainsFunc(r.options, func(o string) bool {
			name, _, _ := strings.Cut(o, "=")
			short := len(o) > 1 && o[1] != '-'
			return set.has(name) || short && (set.has(o[:2]) || strings.ContainsAny(o, letters))
		})
	}
	switch {
	case c.needle && len(r.operands) > 1 && !has("-e --recursive", "erR"):
		return named
	case c.patch != "" && !has(c.patch, "p") && (c.brief == "" || has(c.brief, "")):
		return nothing
	}
	return c.shows
}

// accepts reports whether all options are on the command's list, and returns its operands.
func (c command) accepts(words []string) (operands []string, ok bool) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		name, _, joined := strings.Cut(w, "=")
		switch {
		case w == "--":
			if operands = append(operands, words[i+1:]...); !c.ends {
				return nil, false
			}
			return operands, c.takes(operands)
		case w == "-" || len(w) > 1 && w[0] == '+' && !c.plus:
			return nil, false
		case w[0:min(1, len(w))] != "-":
			operands = append(operands, w)
		case c.long.has(w) || joined && c.takesJoined(name) && (!c.apart || strings.HasPrefix(w, "--")):
		case c.valued.has(w):
			if i++; i == len(words) || !c.isValue(words[i]) {
				return nil, false
			}
		case strings.HasPrefix(w, "--") || c.whole:
			return nil, false
		case strings.Trim(w[1:], c.letters) == "":
		case len(w) > 2 && c.takesJoined(w[:2]) && !c.apart:
		case strings.Trim(w[1:], "0123456789") == "" && c.count:
		default:
			return nil, false
		}
	}
	return operands, c.takes(operands)
}

// takesJoined reports whether an option may have a value after = or behind its letter.
func (c command) takesJoined(option string) bool {
	return c.valued.has(option) || c.valued.has(option+"=")
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

func (c command) takes(operands []string) bool {
	switch {
	case c.operand != nil && slices.ContainsFunc(operands, func(o string) bool { return !c.operand(o) }):
		return false
	case c.operands >= 0 && len(operands) > c.operands, len(operands) < c.least:
		return false
	case c.script && !printsLines(operands[0]):
		return false
	}
	return true
}

// aFolder reports whether find takes an operand for a folder: its expression begins with other signs.
func aFolder(operand string) bool { return operand != "" && !strings.ContainsAny(operand[:1], "-()!,") }

// printsLines reports whether a script of sed prints lines by their numbers and does nothing else: 5p, 10,20p.
func printsLines(script string) bool {
	numbers, ok := strings.CutSuffix(script, "p")
	from, to, both := strings.Cut(numbers, ",")
	number := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return ok && number(from) && (!both || number(to))
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func trimmed(line string) string { return strings.Trim(line, " \t\n") }
