package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is a mistake in a configuration file. It has the fields of policy.Problem.
type Problem struct {
	File string // "" if it is in no file
	Line int    // from 1; 0 if the problem is of the whole file
	Col  int    // from 1, in characters
	Msg  string
	Hint string // what to do about it; may be empty
}

// String returns "file:line:col: message", without the hint.
func (p Problem) String() string {
	if p.File == "" {
		return p.Msg
	}
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Msg)
}

// Errors is every problem of a configuration, ordered by place.
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

// suggest returns a hint that names the nearest candidate, or all of them if none is near.
func suggest(word string, candidates []string) string {
	if best := nearest(word, candidates); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known here: " + strings.Join(candidates, ", ")
}

// nearest returns the candidate that a misspelt word most likely means, or "" if none is near.
func nearest(word string, candidates []string) string {
	best, least := "", 1+max(1, len(word)/3)
	for _, c := range candidates {
		d := distance(strings.ToLower(word), strings.ToLower(c))
		if d < least || strings.HasPrefix(word, c) && best == "" {
			best, least = c, d
		}
	}
	return best
}

// distance is the Levenshtein distance over bytes. A word longer than any name here is as far away as it is long.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
