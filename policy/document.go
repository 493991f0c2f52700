package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// A mark is a place in a file, both from 1, columns in characters. The zero mark is the whole file.
type mark struct{ line, col int }

// A scalar is one text of the file. The zero scalar stands for one that is absent.
type scalar struct {
	value string
	at    mark
	start mark // where its characters begin
}

func (s scalar) present() bool { return s.at != mark{} }

// A document reads one file and collects what is wrong with it.
type document struct {
	name     string
	lines    []string
	problems Errors
}

func (d *document) complain(at mark, hint, format string, args ...any) {
	d.problems = append(d.problems, Problem{
		File: d.name, Line: at.line, Col: at.col, Msg: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// quoteHint is the remedy for the commonest mistake in YAML.
const quoteHint = `a text that begins with a quote, ! or [, or that holds ": " or " #", needs quotes; a condition is best put under if: >-`

// parse returns the root of the file, or nil after a complaint.
func (d *document) parse(src []byte) ast.Node {
	text := string(src)
	if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		// JSON: a tab can only be white space there, and one column wide it does not move what follows it.
		text = strings.ReplaceAll(text, "\t", " ")
	}
	d.lines = strings.Split(text, "\n")
	if at, ok := tooDeep(d.lines); ok {
		d.complain(at, "", "nested too deeply")
		return nil
	}
	file, err := parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var syntax yaml.Error
		if errors.As(err, &syntax) && syntax.GetToken() != nil {
			d.complain(markOf(syntax.GetToken()), quoteHint, "%s", syntax.GetMessage())
		} else {
			d.complain(mark{}, "", "%v", err)
		}
		return nil
	}
	var root ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case root != nil:
			d.complain(at(doc.Body), "keep one document in a file", "a second document")
		default:
			root = doc.Body
		}
	}
	if root == nil {
		d.complain(mark{}, "begin with version: 1 and a list of rules", "the file is empty")
	}
	return root
}

// tooDeep finds where brackets or list marks nest deeper than any policy does, so that the parser need not.
func tooDeep(lines []string) (mark, bool) {
	const deepest = 100
	depth := 0
	for i, line := range lines {
		marks := 0
		for j, c := range line {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(depth-1, 0)
			case '-', '?', ':':
				marks++
			case ' ':
			default:
				marks = 0
			}
			if depth > deepest || marks > deepest {
				return mark{i + 1, j + 1}, true
			}
		}
	}
	return mark{}, false
}

// A member is one name and value of a mapping.
type member struct {
	name  string
	at    mark
	value ast.Node
}

// members returns the members of a mapping by name. Unknown and repeated names and anything that is no mapping are
// complained of.
func (d *document) members(n ast.Node, what string, allowed []string) (map[string]member, bool) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		d.complain(at(n), "write name: value, with the names "+orList(allowed), "%s is %s, not a mapping", what, kindOf(n))
		return nil, false
	}
	found := make(map[string]member, len(values))
	for _, v := range values {
		m := member{name: keyOf(v.Key), at: at(v.Key), value: v.Value}
		first, seen := found[m.name]
		switch {
		case !slices.Contains(allowed, m.name):
			d.complain(m.at, didYouMean(m.name, allowed), "unknown field %q in %s", m.name, what)
		case seen:
			d.complain(m.at, "", "field %q occurs twice; first in line %d", m.name, first.at.line)
		default:
			found[m.name] = m
		}
	}
	return found, true
}

// elements returns the elements of a list.
func (d *document) elements(n ast.Node, what string) []ast.Node {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.complain(at(n), "write a list, each element after a dash", "%s is %s, not a list", what, kindOf(n))
		return nil
	}
	return seq.Values
}

// text returns the text of a member, and an absent scalar after a complaint.
func (d *document) text(m member) scalar {
	switch n := m.value.(type) {
	case *ast.StringNode:
		s := scalar{value: n.Value, at: at(n), start: at(n)}
		if n.Token.Type == token.DoubleQuoteType || n.Token.Type == token.SingleQuoteType {
			s.start.col++
		}
		return s
	case *ast.LiteralNode:
		s := scalar{value: n.Value.Value, at: markOf(n.Start)}
		s.start = mark{s.at.line + 1, 1}
		return s
	case *ast.BoolNode:
		if m.name == "if" {
			return scalar{value: n.Token.Value, at: at(n), start: at(n)}
		}
	}
	hint := "put it in quotes if it is meant to be a text"
	if m.name == "if" {
		hint = quoteHint
	}
	d.complain(at(m.value), hint, "%s is %s, not a text", m.name, kindOf(m.value))
	return scalar{}
}

func keyOf(k ast.MapKeyNode) string {
	if s, ok := k.(*ast.StringNode); ok {
		return s.Value
	}
	return k.String()
}

func at(n ast.Node) mark {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return at(m.Values[0].Key)
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return at(m.Key)
	}
	return markOf(n.GetToken())
}

func markOf(t *token.Token) mark {
	if t == nil || t.Position == nil {
		return mark{}
	}
	return mark{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.NullNode:
		return "empty"
	case *ast.BoolNode:
		return "true or false"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode:
		return "an anchor or alias"
	}
	return "a tagged value"
}
