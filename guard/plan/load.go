package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Load reads a plan from a file that a person wrote, in YAML or JSON, with the members that weir_plan takes. The name
// stands in messages. The error is a list of problems with their places.
func Load(name string, src []byte) (*Plan, error) {
	l := &loader{document.Document{Name: name, Empty: "begin with goal: and a list of steps"}}
	p := l.load(src)
	if len(l.Problems) == 0 {
		return p, nil
	}
	l.Problems.Sort()
	return nil, l.Problems
}

// maxSource bounds the bytes of a file, which may have comments.
const maxSource = 1 << 20

type loader struct{ document.Document }

func (l *loader) load(src []byte) *Plan {
	root := l.Parse(src, maxSource)
	if root == nil {
		return nil
	}
	members, ok := l.Members(root, "the plan", []string{"goal", "steps"})
	if !ok {
		return nil
	}
	var at []document.Mark // of the steps
	if steps, ok := members["steps"]; ok {
		for _, n := range l.Elements(steps.Value, "steps") {
			at = append(at, document.At(n))
			l.Members(n, "step", []string{"id", "tool", "arguments", "repeat", "optional"})
		}
	}
	if len(l.Problems) > 0 {
		return nil
	}
	raw := l.value(root)
	if len(l.Problems) > 0 {
		return nil
	}
	p, err := Parse(raw)
	var wrong *StepError
	switch {
	case errors.As(err, &wrong):
		l.Complain(at[wrong.Step], "", "step %d: %v", wrong.Step+1, wrong.Err)
	case err != nil:
		l.Complain(document.Mark{Line: 1, Col: 1}, "write goal: and a list of steps, see docs/patterns.md", "%v", err)
	default:
		for i := range p.Steps {
			p.Steps[i].Line = at[i].Line
		}
	}
	return p
}

// value returns a node as JSON.
func (l *loader) value(n ast.Node) json.RawMessage {
	var parts [][]byte
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		for _, m := range l.Entries(n, "a mapping") {
			parts = append(parts, slices.Concat(rawjson.Quote(m.Name), []byte{':'}, l.value(m.Value)))
		}
		return slices.Concat([]byte{'{'}, bytes.Join(parts, []byte{','}), []byte{'}'})
	case *ast.SequenceNode:
		for _, element := range n.Values {
			parts = append(parts, l.value(element))
		}
		return slices.Concat([]byte{'['}, bytes.Join(parts, []byte{','}), []byte{']'})
	case *ast.StringNode, *ast.LiteralNode:
		return rawjson.Quote(l.Text(document.Member{Value: n}).Value)
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		if text := []byte(n.GetToken().Value); json.Valid(text) {
			return text
		}
	}
	l.Complain(document.At(n), "write it as JSON does, or in quotes if it is meant to be a text", "a plan has no such value")
	return json.RawMessage("null")
}
