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
