package config

import (
	"cmp"
	"slices"

	"github.com/weir-mcp/weir/internal/document"
)

// A Problem is a mistake in a configuration file. It has the fields of policy.Problem.
type Problem struct {
	File string // "" if it is in no file
	Line int    // from 1; 0 if the problem is of the whole file
	Col  int    // from 1, in characters
	Msg  string
	Hint string // the remedy; may be empty
}

// String returns "file:line:col: message", without the hint.
func (p Problem) String() string { return document.Problem(p).String() }

// Errors is every problem of a configuration, ordered by place.
type Errors []Problem

// Error returns one line a problem, each followed by a line "hint: …" if it has one.
func (e Errors) Error() string {
	problems := make(document.Problems, len(e))
	for i, p := range e {
		problems[i] = document.Problem(p)
	}
	return problems.String()
}

// sort orders problems of one file by place; those of other files come last, as they are.
func (e Errors) sort(file string) {
	slices.SortStableFunc(e, func(a, b Problem) int {
		switch {
		case a.File != file && b.File != file:
			return 0
		case a.File != b.File:
			return map[bool]int{true: -1, false: 1}[a.File == file]
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
}

// A Place is a position in a file, counted from 1; the column in characters. The zero Place is the whole file.
type Place struct{ Line, Col int }
