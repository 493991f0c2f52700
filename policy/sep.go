package policy

import (
	"fmt"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/expression"
	"github.com/weir-mcp/weir/internal/spelling"
	"github.com/weir-mcp/weir/label"
)

// conditions translates the conditions of SEP-1913's example policies (Policy Layer) into an expression: and, or and
// not over { fact, equals }. A fact that is a set equals a value that it may be, as an array in an annotation means
// "one of these"; a fact that is not known equals nothing.
func (l *loader) conditions(n ast.Node) (string, bool) {
	m, ok := l.Members(n, "condition", []string{"and", "or", "not", "fact", "equals"})
	if !ok {
		return "", false
	}
	_, isFact := m["fact"]
	_, isEquals := m["equals"]
	switch {
	case isFact && isEquals && len(m) == 2:
		return l.comparison(m["fact"], m["equals"])
	case len(m) != 1 || isFact || isEquals:
		l.Complain(document.At(n), "write { fact, equals }, { and: [...] }, { or: [...] } or { not: {...} }",
			"a condition is one of and, or, not, or fact with equals")
		return "", false
	}
	if not, ok := m["not"]; ok {
		inner, ok := l.conditions(not.Value)
		return "!(" + inner + ")", ok
	}
	if and, ok := m["and"]; ok {
		return l.junction(and, " && ")
	}
	return l.junction(m["or"], " || ")
}

// junction translates the list of and or or.
func (l *loader) junction(m document.Member, operator string) (string, bool) {
	if _, isList := m.Value.(*ast.SequenceNode); isList && len(m.Value.(*ast.SequenceNode).Values) == 0 {
		l.Complain(document.At(m.Value), "name at least one condition", "%s has no conditions", m.Name)
		return "", false
	}
	elements := l.Elements(m.Value, m.Name)
	terms := make([]string, 0, len(elements))
	for _, e := range elements {
		if term, ok := l.conditions(e); ok {
			terms = append(terms, term)
		}
	}
	return "(" + strings.Join(terms, operator) + ")", len(terms) > 0 && len(terms) == len(elements)
}

// comparison translates { fact, equals }.
func (l *loader) comparison(name, value document.Member) (string, bool) {
	s := l.Text(name)
	if !s.Present() {
		return "", false
	}
	i, ok := factIndex[s.Value]
	if !ok {
		l.Complain(s.At, l.compiler.Hint(s.Value), "unknown fact %s", s.Value)
		return "", false
	}
	f := &facts[i]
	test, ok := l.equals(f, value)
	if ok && f.has != nil {
		test = "(has(" + f.name + ") && " + test + ")"
	}
	return test, ok
}

// equals translates the comparison of a fact that is known with a value.
func (l *loader) equals(f *fact, m document.Member) (string, bool) {
	switch n := m.Value.(type) {
	case *ast.BoolNode:
		if f.typ.IsExactType(cel.BoolType) {
			return fmt.Sprintf("%s == %t", f.name, n.Value), true
		}
	case *ast.IntegerNode:
		if v, err := strconv.ParseInt(fmt.Sprint(n.Value), 10, 64); err == nil && f.typ.IsExactType(cel.IntType) {
			return fmt.Sprintf("%s == %d", f.name, v), true
		}
	case *ast.StringNode:
		return l.equalsText(f, n)
	case *ast.MappingNode, *ast.MappingValueNode:
		if f.values != nil && f.ofClasses() {
			return l.equalsRegulated(f, n)
		}
	case *ast.SequenceNode:
		l.Complain(document.At(n), "write one condition a value, inside or", "equals takes one value, not a list")
		return "", false
	}
	l.Complain(document.At(m.Value), remedy(f), "%s is never %s", f.name, document.Kind(m.Value))
	return "", false
}

func (l *loader) equalsText(f *fact, n *ast.StringNode) (string, bool) {
	isSet := f.typ.IsExactType(textList)
	switch {
	case !isSet && !f.typ.IsExactType(cel.StringType):
		l.Complain(document.At(n), remedy(f), "%s is never a text", f.name)
		return "", false
	case isSet && f.ofClasses() && n.Value == "none":
		return "size(" + f.name + ") == 0", true
	case isSet && f.ofClasses() && n.Value == string(label.Regulated):
		return fmt.Sprintf("%s.exists(c, c == %q || c.startsWith(%q))", f.name, n.Value, regulated), true
	case !f.allows(n.Value):
		l.Complain(document.At(n), spelling.DidYouMean(n.Value, f.values), "%s is never %q", f.name, n.Value)
		return "", false
	case isSet:
		return quote(n.Value) + " in " + f.name, true
	}
	return f.name + " == " + quote(n.Value), true
}

// equalsRegulated translates { regulated: { scopes: [...] } }.
func (l *loader) equalsRegulated(f *fact, n ast.Node) (string, bool) {
	outer, ok := l.Members(n, "equals", []string{"regulated"})
	if !ok || len(outer) == 0 {
		return "", false
	}
	inner, ok := l.Members(outer["regulated"].Value, "regulated", []string{"scopes"})
	if !ok {
		return "", false
	}
	scopes, ok := inner["scopes"]
	if !ok {
		l.Complain(outer["regulated"].At, "name at least one scope, such as GDPR", "regulated without scopes")
		return "", false
	}
	var terms []string
	for _, e := range l.Elements(scopes.Value, "scopes") {
		if s := l.Text(document.Member{Name: "scope", Value: e}); s.Present() {
			terms = append(terms, quote(string(label.RegulatedBy(s.Value)))+" in "+f.name)
		}
	}
	if len(terms) == 0 {
		l.Complain(document.At(scopes.Value), "name at least one scope, such as GDPR", "regulated without scopes")
		return "", false
	}
	return "(" + strings.Join(terms, " || ") + ")", true
}

func remedy(f *fact) string {
	switch {
	case f.name == expression.Arguments:
		return "look at arguments in a rule with if:"
	case f.values != nil:
		return "use " + spelling.OrList(f.values)
	case f.typ.IsExactType(cel.BoolType):
		return "use true or false"
	case f.typ.IsExactType(cel.IntType):
		return "use a whole number"
	}
	return "use a text"
}

// quote writes a text as a CEL literal.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
