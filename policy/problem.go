package policy

import (
	"fmt"
	"strings"
)

// A Problem is a mistake in a policy file, or a rule that could not be evaluated.
type Problem struct {
	File string
	Line int // from 1; 0 if the problem is of the whole file
	Col  int // from 1, in characters
	Msg  string
	Hint string // what to do about it; may be empty
}

// String returns "file:line:col: message", without the hint.
func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Msg)
}

// Errors is every problem of a policy file, in the order of the file. [Load] returns it.
type Errors []Problem

// Error returns one line a problem, each followed by a line "hint: …" if it has one.
func (e Errors) Error() string {
	var b strings.Builder
	for i, p := range e {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
		if p.Hint != "" {
			b.WriteString("\n  hint: ")
			b.WriteString(p.Hint)
		}
	}
	return b.String()
}
