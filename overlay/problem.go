package overlay

import "github.com/weir-mcp/weir/internal/document"

// A Problem is a mistake in an overlay file.
type Problem struct {
	File string
	Line int // from 1; 0 if the problem is of the whole file
	Col  int // from 1, in characters
	Msg  string
	Hint string // what to do about it; may be empty
}

// String returns "file:line:col: message", without the hint.
func (p Problem) String() string { return document.Problem(p).String() }

// Errors is every problem of an overlay file, in the order of the file. [Load] returns it.
type Errors []Problem

// Error returns one line a problem, each followed by a line "hint: …" if it has one.
func (e Errors) Error() string {
	problems := make(document.Problems, len(e))
	for i, p := range e {
		problems[i] = document.Problem(p)
	}
	return problems.String()
}
