package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is a mistake in a file. The packages that read files name this type in their own interface.
type Problem struct {
	File string // "" if it is in no file
	Line int    // from 1; 0 if the problem is of the whole file
	Col  int    // from 1, in characters
	Msg  string
	Hint string // the remedy; may be empty
}

// String returns "file:line:col: message", without the hint.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Msg
	case p.Line == 0:
		return fmt.Sprintf("%s: %s", p.File, p.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Msg)
}

// Errors is every problem of a file, in its order.
type Errors []Problem

// Sort puts the problems into the order of the file.
func (p Errors) Sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
}

// Error returns one line a problem, each followed by a line "hint: …" if it has one.
func (p Errors) Error() string {
	var b strings.Builder
	for i, one := range p {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.String())
		if one.Hint != "" {
			b.WriteString("\n  hint: ")
			b.WriteString(one.Hint)
		}
	}
	return b.String()
}
