package plan

import (
	"errors"

	"github.com/weir-mcp/weir/internal/document"
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
	raw := l.JSON(root)
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
