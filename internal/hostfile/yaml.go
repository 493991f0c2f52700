package hostfile

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// decodeYAML reads one YAML document.
func decodeYAML(src []byte) (any, error) {
	if f, err := parseYAML(src); err != nil || len(f.Docs) > 1 {
		return nil, errors.Join(err, onlyOne(f))
	}
	var v any
	if err := yaml.Unmarshal(src, &v); err != nil {
		return nil, yamlError(err)
	}
	return plainValue(v)
}

func onlyOne(f *ast.File) error {
	if f != nil && len(f.Docs) > 1 {
		return &Error{Msg: "more than one YAML document", Hint: "change the file by hand"}
	}
	return nil
}

// maxYAMLDepth is how deep a document may nest: the parser calls itself for each level.
const maxYAMLDepth = 1000

func parseYAML(src []byte) (*ast.File, error) {
	for line := range bytes.Lines(src) {
		indent := len(line) - len(bytes.TrimLeft(line, " -"))
		if indent > 2*maxYAMLDepth || bytes.Count(line, []byte("["))+bytes.Count(line, []byte("{")) > maxYAMLDepth {
			return nil, &Error{Msg: "too deep"}
		}
	}
	f, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil, yamlError(err)
	}
	return f, nil
}

// yamlError returns an error of the parser without the text that it quotes.
func yamlError(err error) error {
	e := &Error{Msg: "not YAML that can be read", Hint: "check the indentation, quotes and repeated names"}
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil && at.GetToken().Position != nil {
		e.Line, e.Col = at.GetToken().Position.Line, at.GetToken().Position.Column
	}
	return e
}

// editYAML changes a list in block style.
func editYAML(src []byte, c Change) ([]byte, error) { return editLines(src, c, locateYAML) }

// locateYAML finds the lines of the entries of a mapping, or of a sequence of mappings with names.
func locateYAML(src []byte, list []string) (*layout, error) {
	f, err := parseYAML(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))) // the parser counts \r as a line of its own
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	notThere := &Error{Msg: strings.Join(list, ".") + " is not there, or not in block style", Hint: "change the file by hand"}
	if len(f.Docs) != 1 {
		return nil, notThere
	}
	node := f.Docs[0].Body
	for _, name := range list {
		value := memberOf(node, name)
		if value == nil {
			return nil, notThere
		}
		node = value.Value
	}
	l := &layout{}
	switch n := node.(type) {
	case *ast.MappingNode:
		if n.IsFlowStyle || len(n.Values) == 0 {
			return nil, notThere
		}
		for _, v := range n.Values {
			at := v.Key.GetToken().Position
			l.add(keyOf(v), lines, at.Line-1, at.Column-1)
		}
		l.render = func(e Entry) (string, error) { return renderYAML(e, l.indent, "") }
	case *ast.SequenceNode:
		if n.IsFlowStyle || len(n.Values) == 0 {
			return nil, notThere
		}
		for _, v := range n.Values {
			at := v.GetToken().Position
			l.add(nameOfNode(v), lines, firstOfElement(lines, at.Line-1), 0)
		}
		l.indent = indentOf(lines[n.Start.Position.Line-1])
		l.render = func(e Entry) (string, error) { return renderYAML(e, l.indent, "- ") }
	default:
		return nil, notThere
	}
	l.finish(lines)
	return l, nil
}

// add notes an entry that begins on a line.
func (l *layout) add(name string, lines [][]byte, line, indent int) {
	l.indent = indent
	l.blocks = append(l.blocks, block{name: name, start: commentsAbove(lines, line), end: line + 1})
}

// finish has each block end where the next one begins, and the last one with the last line that is indented as it is.
func (l *layout) finish(lines [][]byte) {
	for i := range l.blocks[:len(l.blocks)-1] {
		l.blocks[i].end = l.blocks[i+1].start
	}
	last := &l.blocks[len(l.blocks)-1]
	for i := last.end; i < len(lines); i++ {
		text := bytes.TrimSpace(lines[i])
		if len(text) == 0 {
			continue
		}
		if indentOf(lines[i]) <= l.indent {
			break
		}
		last.end = i + 1
	}
	l.end = last.end
}

func indentOf(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// firstOfElement returns the line with the hyphen of an element whose first token is on a line.
func firstOfElement(lines [][]byte, line int) int {
	for i := line; i >= 0; i-- {
		if bytes.HasPrefix(bytes.TrimLeft(lines[i], " "), []byte("-")) {
			return i
		}
	}
	return line
}

func memberOf(n ast.Node, name string) *ast.MappingValueNode {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(m.Values, func(v *ast.MappingValueNode) bool { return keyOf(v) == name })
	if i < 0 {
		return nil
	}
	return m.Values[i]
}

func keyOf(v *ast.MappingValueNode) string {
	if s, ok := v.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return v.Key.GetToken().Value
}

func nameOfNode(n ast.Node) string {
	if v := memberOf(n, "name"); v != nil {
		if s, ok := v.Value.(*ast.StringNode); ok {
			return s.Value
		}
		return v.Value.GetToken().Value
	}
	return ""
}

// renderYAML writes an entry as a member of a mapping, or as an element of a sequence with its name.
func renderYAML(e Entry, indent int, hyphen string) (string, error) {
	object, ok := valueOf(e.Value).(map[string]any)
	if !ok {
		return "", &Error{Msg: "a server must be an object"}
	}
	var b strings.Builder
	space := strings.Repeat(" ", indent)
	inner := space + "  "
	if hyphen == "" {
		b.WriteString(space + string(yamlQuote(e.Name)) + ":\n")
	} else {
		b.WriteString(space + hyphen + "name: " + string(yamlQuote(e.Name)) + "\n")
		delete(object, "name")
	}
	for _, key := range inOrder(object) {
		if sub, ok := object[key].(map[string]any); ok && len(sub) > 0 {
			b.WriteString(inner + string(yamlQuote(key)) + ":\n")
			for _, k := range slices.Sorted(maps.Keys(sub)) {
				b.WriteString(inner + "  " + string(yamlQuote(k)) + ": " + flow(sub[k]) + "\n")
			}
			continue
		}
		b.WriteString(inner + string(yamlQuote(key)) + ": " + flow(object[key]) + "\n")
	}
	return b.String(), nil
}

// inOrder returns the names of the members of a server, its program first.
func inOrder(object map[string]any) []string {
	first := []string{"enabled", "type", "cmd", "command", "args", "url"}
	return slices.SortedFunc(maps.Keys(object), func(a, b string) int {
		i, j := slices.Index(first, a), slices.Index(first, b)
		if i >= 0 && j >= 0 {
			return i - j
		}
		if i >= 0 || j >= 0 {
			return j - i
		}
		return strings.Compare(a, b)
	})
}

// yamlQuote quotes a text, unless it is a plain word.
func yamlQuote(s string) []byte {
	if isWord(s) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(s)) {
		return []byte(s)
	}
	return rawjson.Quote(s)
}

// isWord reports whether a text is of letters, digits, _ and -, and begins with a letter.
func isWord(s string) bool {
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '_' || c == '-')) {
			return false
		}
	}
	return s != ""
}

// YAML writes entries as members of a block mapping, with some columns of space before them.
func YAML(entries []Entry, indent int) (string, error) {
	var b strings.Builder
	for _, e := range entries {
		text, err := renderYAML(e, indent, "")
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}
