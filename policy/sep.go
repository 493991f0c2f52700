package policy

import (
	"fmt"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/label"
)

// conditions translates the conditions of SEP-1913's example policies (Policy Layer) into an expression: and, or and not
// over { fact, equals }. A fact that is a set equals a value that it may be, as an array in an annotation means
// "one of these"; a fact that is not known equals nothing.
func (d *document) conditions(n ast.Node) (string, bool) {
	m, ok := d.members(n, "condition", []string{"and", "or", "not", "fact", "equals"})
	if !ok {
		return "", false
	}
	_, isFact := m["fact"]
	_, isEquals := m["equals"]
	switch {
	case isFact && isEquals && len(m) == 2:
		return d.comparison(m["fact"], m["equals"])
	case len(m) != 1 || isFact || isEquals:
		d.complain(at(n), "write { fact, equals }, { and: [...] }, { or: [...] } or { not: {...} }",
			"a condition is one of and, or, not, or fact with equals")
		return "", false
	}
	if not, ok := m["not"]; ok {
		inner, ok := d.conditions(not.value)
		return "!(" + inner + ")", ok
	}
	if and, ok := m["and"]; ok {
		return d.junction(and, " && ")
	}
	return d.junction(m["or"], " || ")
}

// junction translates the list of and or or.
func (d *document) junction(m member, operator string) (string, bool) {
	if _, isList := m.value.(*ast.SequenceNode); isList && len(m.value.(*ast.SequenceNode).Values) == 0 {
		d.complain(at(m.value), "name at least one condition", "%s has no conditions", m.name)
		return "", false
	}
	elements := d.elements(m.value, m.name)
	terms := make([]string, 0, len(elements))
	for _, e := range elements {
		if term, ok := d.conditions(e); ok {
			terms = append(terms, term)
		}
	}
	return "(" + strings.Join(terms, operator) + ")", len(terms) > 0 && len(terms) == len(elements)
}

// comparison translates { fact, equals }.
func (d *document) comparison(name, value member) (string, bool) {
	s := d.text(name)
	if !s.present() {
		return "", false
	}
	i, ok := factIndex[s.value]
	if !ok {
		d.complain(s.at, factHint(s.value), "unknown fact %s", s.value)
		return "", false
	}
	f := &facts[i]
	test, ok := d.equals(f, value)
	if ok && f.has != nil {
		test = "(has(" + f.name + ") && " + test + ")"
	}
	return test, ok
}

// equals translates the comparison of a fact that is known with a value.
func (d *document) equals(f *fact, m member) (string, bool) {
	switch n := m.value.(type) {
	case *ast.BoolNode:
		if f.typ.IsExactType(cel.BoolType) {
			return fmt.Sprintf("%s == %t", f.name, n.Value), true
		}
	case *ast.IntegerNode:
		if v, err := strconv.ParseInt(fmt.Sprint(n.Value), 10, 64); err == nil && f.typ.IsExactType(cel.IntType) {
			return fmt.Sprintf("%s == %d", f.name, v), true
		}
	case *ast.StringNode:
		return d.equalsText(f, n)
	case *ast.MappingNode, *ast.MappingValueNode:
		if f.values != nil && f.ofClasses() {
			return d.equalsRegulated(f, n)
		}
	case *ast.SequenceNode:
		d.complain(at(n), "write one condition a value, inside or", "equals takes one value, not a list")
		return "", false
	}
	d.complain(at(m.value), remedy(f), "%s is never %s", f.name, kindOf(m.value))
	return "", false
}

func (d *document) equalsText(f *fact, n *ast.StringNode) (string, bool) {
	isSet := f.typ.IsExactType(textList)
	switch {
	case !isSet && !f.typ.IsExactType(cel.StringType):
		d.complain(at(n), remedy(f), "%s is never a text", f.name)
		return "", false
	case isSet && f.ofClasses() && n.Value == "none":
		return "size(" + f.name + ") == 0", true
	case isSet && f.ofClasses() && n.Value == string(label.Regulated):
		return fmt.Sprintf("%s.exists(c, c == %q || c.startsWith(%q))", f.name, n.Value, regulated), true
	case !f.allows(n.Value):
		d.complain(at(n), didYouMean(n.Value, f.values), "%s is never %q", f.name, n.Value)
		return "", false
	case isSet:
		return quote(n.Value) + " in " + f.name, true
	}
	return f.name + " == " + quote(n.Value), true
}

// equalsRegulated translates { regulated: { scopes: [...] } }.
func (d *document) equalsRegulated(f *fact, n ast.Node) (string, bool) {
	outer, ok := d.members(n, "equals", []string{"regulated"})
	if !ok || len(outer) == 0 {
		return "", false
	}
	inner, ok := d.members(outer["regulated"].value, "regulated", []string{"scopes"})
	if !ok {
		return "", false
	}
	scopes, ok := inner["scopes"]
	if !ok {
		d.complain(outer["regulated"].at, "name at least one scope, such as GDPR", "regulated without scopes")
		return "", false
	}
	var terms []string
	for _, e := range d.elements(scopes.value, "scopes") {
		if s := d.text(member{name: "scope", value: e}); s.present() {
			terms = append(terms, quote(string(label.RegulatedBy(s.value)))+" in "+f.name)
		}
	}
	if len(terms) == 0 {
		d.complain(at(scopes.value), "name at least one scope, such as GDPR", "regulated without scopes")
		return "", false
	}
	return "(" + strings.Join(terms, " || ") + ")", true
}

func remedy(f *fact) string {
	switch {
	case f.name == argumentsName:
		return "look at arguments in a rule with if:"
	case f.values != nil:
		return "use " + orList(f.values)
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
