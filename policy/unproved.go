package policy

import (
	"fmt"
	"slices"
)

// unproved are the facts that a store keeps and its log does not prove: write access to the store is enough to change them.
var unproved = []string{"session.calls"}

// Unproved returns the rules that go by facts which the log does not prove.
func (p *Policy) Unproved() []Problem {
	if p == nil {
		return nil
	}
	var found []Problem
	for _, rules := range p.phases {
		for _, r := range rules {
			for _, fact := range unproved {
				if r.condition.Reads(fact) {
					found = append(found, Problem{File: p.name, Line: r.Line, Col: r.conditionAt.Col,
						Msg:  fmt.Sprintf("rule %q goes by %s, which the log does not prove", r.Name, fact),
						Hint: "write access to the store is enough to lower it: let no rule depend on it that has to hold against that"})
				}
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Problem) int { return a.Line - b.Line })
	return found
}
