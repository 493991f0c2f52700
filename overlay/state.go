package overlay

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/spelling"
	"github.com/weir-mcp/weir/label"
)

// contractMembers are the members that a contract may have.
var contractMembers = func() (names []string) {
	for _, h := range hints {
		names = append(names, h.Short)
	}
	return append(names, "destinations", "accepts", "outcomes", "sources", "returns")
}()

// hints are the hints that operators state.
var hints = slices.DeleteFunc(contract.Hints(), func(h contract.Member) bool { return !h.Overlay })

// contract reads the stated members; the rest stays unknown.
func (l *loader) contract(member document.Member) (c contract.Contract) {
	before := len(l.Problems)
	m, ok := l.Members(member.Value, "contract", contractMembers)
	if !ok {
		return c
	}
	if len(m) == 0 && len(l.Problems) == before {
		l.Complain(document.At(member.Value), "state what is true of the tool", "the contract says nothing")
	}
	for _, h := range hints {
		if field, ok := m[h.Short]; ok {
			if v, ok := l.Bool(field); ok {
				*h.Of(&c) = contract.HintOf(v)
			}
		}
	}
	c.Destinations = possible(l, m, "destinations", contract.Destinations())
	c.Outcomes = possible(l, m, "outcomes", contract.Outcomes())
	c.Sources = possible(l, m, "sources", label.Sources())
	for name, to := range map[string]*contract.Values[label.Class]{"accepts": &c.Accepts, "returns": &c.Returns} {
		if field, ok := m[name]; ok {
			*to = contract.Possible(l.classes(field)...)
		}
	}
	if c.ReadOnly == contract.Yes && c.Destructive == contract.Yes {
		l.Complain(member.At, "one of them is wrong", "a contract that is both readOnly and destructive")
	}
	return c
}

// possible reads a list of which one value at least is possible.
func possible[T ~string](l *loader, m map[string]document.Member, name string, known []T) contract.Values[T] {
	field, ok := m[name]
	if !ok {
		return contract.Values[T]{}
	}
	if list, ok := field.Value.(*ast.SequenceNode); ok && len(list.Values) == 0 {
		l.Complain(document.At(field.Value), "leave it out if it is not known", "%s is empty, but a call has at least one", name)
		return contract.Values[T]{}
	}
	return contract.Possible(words(l, field, known)...)
}

// words reads a list of words that are known.
func words[T ~string](l *loader, field document.Member, known []T) []T {
	var values []T
	for _, s := range l.Texts(field) {
		if !slices.Contains(known, T(s.Value)) {
			l.Complain(s.At, spelling.DidYouMean(s.Value, texts(known)), "unknown value %q in %s", s.Value, field.Name)
			continue
		}
		values = append(values, T(s.Value))
	}
	return values
}

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// classes reads a list of sensitivity classes; the empty list is none.
func (l *loader) classes(field document.Member) []label.Class {
	var all []label.Class
	for _, s := range l.Texts(field) {
		_, scoped := label.Class(s.Value).Scope()
		switch {
		case s.Value == "none":
			l.Complain(s.At, "write [] for none", "none is the empty list")
		case scoped && !strings.ContainsAny(s.Value, "\r\n"), slices.Contains(label.Classes(), label.Class(s.Value)):
			all = append(all, label.Class(s.Value))
		default:
			l.Complain(s.At, spelling.DidYouMean(s.Value, texts(label.Classes())), "unknown value %q in %s", s.Value, field.Name)
		}
	}
	return all
}
