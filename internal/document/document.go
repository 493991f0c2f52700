// Package document reads the YAML files that operators write, strictly and with every problem at once: unknown and
// repeated names, values of the wrong kind, anchors and tags are complained of with the place and a remedy.
//
// Begin with a [Document] of the file's name and [Document.Parse]; then take the tree apart with Members, Entries,
// Elements, Text, Texts and Bool. Each of them reports values that do not fit and returns those that do; a caller that
// continues after a problem finds the other problems too. [Document.Locate] finds the place in the file of a place in a
// text, for parsers of such texts.
//
// The package bounds the depth of a text before the YAML parser reads it; the caller bounds its size.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/spelling"
)

// A Mark is a place in a file, both from 1, columns in characters. The zero Mark is the whole file.
type Mark struct{ Line, Col int }

// A Scalar is one text of the file. The zero Scalar stands for one that is absent.
type Scalar struct {
	Value string
	At    Mark
	Start Mark // where its characters begin
}

// Present reports whether there is a text.
func (s Scalar) Present() bool { return s.At != Mark{} }

// A Document reads one file and collects its problems. It belongs to one goroutine.
type Document struct {
	Name     string // of the file, for messages
	Empty    string // the hint for a file with nothing in it
	Problems Errors

	lines []string
}

// Complain adds a problem.
func (d *Document) Complain(at Mark, hint, format string, args ...any) {
	d.Problems = append(d.Problems, Problem{
		File: d.Name, Line: at.Line, Col: at.Col, Msg: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// QuoteHint is the remedy for the commonest mistake in YAML.
const QuoteHint = `a text that begins with a quote, ! or [, or that holds ": " or " #", needs quotes; a condition is best put under if: >-`

// Parse returns the root of the file, which has at most so many bytes, or nil after a complaint.
func (d *Document) Parse(src []byte, most int) ast.Node {
	switch {
	case len(src) > most:
		d.Complain(Mark{}, "part it into several files", "the file has %d bytes, more than the %d that one may", len(src), most)
		return nil
	case !utf8.Valid(src):
		d.Complain(Mark{}, "save the file as UTF-8", "the file is not valid UTF-8")
		return nil
	}
	text := string(src)
	if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		// JSON: a tab can only be white space there, and a space in its place keeps all columns.
		text = strings.ReplaceAll(text, "\t", " ")
	}
	d.lines = strings.Split(text, "\n")
	if at, ok := tooDeep(d.lines); ok {
		d.Complain(at, "", "nested too deeply")
		return nil
	}
	file, err := parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var syntax yaml.Error
		if errors.As(err, &syntax) && syntax.GetToken() != nil {
			d.Complain(markOf(syntax.GetToken()), QuoteHint, "%s", syntax.GetMessage())
		} else {
			d.Complain(Mark{}, "", "%v", err)
		}
		return nil
	}
	var root ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case root != nil:
			d.Complain(At(doc.Body), "keep one document in a file", "a second document")
		default:
			root = doc.Body
		}
	}
	if root == nil {
		d.Complain(Mark{}, d.Empty, "the file is empty")
	}
	return root
}

// tooDeep finds where brackets or list marks nest deeper than any policy does, so that the parser need not.
func tooDeep(lines []string) (Mark, bool) {
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
				return Mark{i + 1, j + 1}, true
			}
		}
	}
	return Mark{}, false
}

// A Member is one name and value of a mapping.
type Member struct {
	Name  string
	At    Mark // of the name
	Value ast.Node
}

// names is the form of names of fields.
var names = pattern.New(`^[\w.$@/-]{1,64}$`)

// Unknown names an unknown field in a message. Text that is no name is left out: the file may be a link to one that
// nobody should read from messages.
func Unknown(name string) string {
	if !names().MatchString(name) {
		return "unknown field"
	}
	return "unknown field " + strconv.Quote(name)
}

// Members returns the members of a mapping by name. Unknown and repeated names and anything that is no mapping are
// complained of.
func (d *Document) Members(n ast.Node, what string, allowed []string) (map[string]Member, bool) {
	values, ok := values(n)
	if !ok {
		d.Complain(At(n), "write name: value, with the names "+spelling.OrList(allowed), "%s is %s, not a mapping", what, Kind(n))
		return nil, false
	}
	found := make(map[string]Member, len(values))
	for _, v := range values {
		m := Member{Name: keyOf(v.Key), At: At(v.Key), Value: v.Value}
		first, seen := found[m.Name]
		switch {
		case !slices.Contains(allowed, m.Name):
			d.Complain(m.At, spelling.DidYouMean(m.Name, allowed), "%s in %s", Unknown(m.Name), what)
		case seen:
			d.Complain(m.At, "", "field %q occurs twice; first in line %d", m.Name, first.At.Line)
		default:
			found[m.Name] = m
		}
	}
	return found, true
}

// Entries returns the members of a mapping whose names are the writer's, in the order of the file. Repeated names and
// anything that is no mapping are complained of.
func (d *Document) Entries(n ast.Node, what string) []Member {
	values, ok := values(n)
	if !ok {
		d.Complain(At(n), "write NAME: and below it what is said of it", "%s is %s, not a mapping", what, Kind(n))
		return nil
	}
	lines := make(map[string]int, len(values))
	var entries []Member
	for _, v := range values {
		m := Member{Name: keyOf(v.Key), At: At(v.Key), Value: v.Value}
		if line, seen := lines[m.Name]; seen {
			d.Complain(m.At, "", "%q occurs twice in %s; first in line %d", m.Name, what, line)
			continue
		}
		lines[m.Name] = m.At.Line
		entries = append(entries, m)
	}
	return entries
}

func values(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// Elements returns the elements of a list.
func (d *Document) Elements(n ast.Node, what string) []ast.Node {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.Complain(At(n), "write a list, each element after a dash", "%s is %s, not a list", what, Kind(n))
		return nil
	}
	return seq.Values
}

// Text returns the text of a member, and an absent Scalar after a complaint.
func (d *Document) Text(m Member) Scalar {
	switch n := m.Value.(type) {
	case *ast.StringNode:
		s := Scalar{Value: n.Value, At: At(n), Start: At(n)}
		if n.Token.Type == token.DoubleQuoteType || n.Token.Type == token.SingleQuoteType {
			s.Start.Col++
		}
		return s
	case *ast.LiteralNode:
		s := Scalar{Value: n.Value.Value, At: markOf(n.Start)}
		s.Start = Mark{s.At.Line + 1, 1}
		return s
	case *ast.BoolNode:
		if m.Name == "if" {
			return Scalar{Value: n.Token.Value, At: At(n), Start: At(n)}
		}
	}
	hint := "put it in quotes if it is meant to be a text"
	if m.Name == "if" {
		hint = QuoteHint
	}
	d.Complain(At(m.Value), hint, "%s is %s, not a text", m.Name, Kind(m.Value))
	return Scalar{}
}

// JSON returns a node as JSON. Values that JSON does not have are complained of.
func (d *Document) JSON(n ast.Node) json.RawMessage {
	var parts [][]byte
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		for _, m := range d.Entries(n, "a mapping") {
			parts = append(parts, slices.Concat(quote(m.Name), []byte{':'}, d.JSON(m.Value)))
		}
		return slices.Concat([]byte{'{'}, bytes.Join(parts, []byte{','}), []byte{'}'})
	case *ast.SequenceNode:
		for _, element := range n.Values {
			parts = append(parts, d.JSON(element))
		}
		return slices.Concat([]byte{'['}, bytes.Join(parts, []byte{','}), []byte{']'})
	case *ast.StringNode, *ast.LiteralNode:
		return quote(d.Text(Member{Value: n}).Value)
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		if text := []byte(n.GetToken().Value); json.Valid(text) {
			return text
		}
	}
	d.Complain(At(n), "write it as JSON does, or in quotes if it is meant to be a text", "a plan has no such value")
	return json.RawMessage("null")
}

// quote returns a text as JSON.
func quote(s string) []byte {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // no text has no form
	}
	return raw
}

// Texts returns the texts of a list.
func (d *Document) Texts(m Member) []Scalar {
	var texts []Scalar
	for _, n := range d.Elements(m.Value, m.Name) {
		if s := d.Text(Member{Name: "an element of " + m.Name, At: At(n), Value: n}); s.Present() {
			texts = append(texts, s)
		}
	}
	return texts
}

// Bool returns the value of a member, and false for ok after a complaint.
func (d *Document) Bool(m Member) (v, ok bool) {
	n, ok := m.Value.(*ast.BoolNode)
	if !ok {
		d.Complain(At(m.Value), "write true or false", "%s is %s, not true or false", m.Name, Kind(m.Value))
		return false, false
	}
	return n.Value, true
}

func keyOf(k ast.MapKeyNode) string {
	if s, ok := k.(*ast.StringNode); ok {
		return s.Value
	}
	return k.String()
}

// At returns the place of a node.
func At(n ast.Node) Mark {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return At(m.Values[0].Key)
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return At(m.Key)
	}
	return markOf(n.GetToken())
}

func markOf(t *token.Token) Mark {
	if t == nil || t.Position == nil {
		return Mark{}
	}
	return Mark{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

// Kind returns the kind of a node, for messages.
func Kind(n ast.Node) string {
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
