package config

import (
	"cmp"
	"slices"

	"github.com/weir-mcp/weir/internal/document"
)

// A Problem is a mistake in a configuration file.
type Problem = document.Problem

// Errors is every problem of a configuration, ordered by place.
type Errors = document.Errors

// sortProblems orders problems of one file by place; those of other files come last, as they are.
func sortProblems(e Errors, file string) {
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
