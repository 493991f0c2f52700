package policy

import (
	"strings"

	"github.com/weir-mcp/weir/internal/expression"
)

// A Selection is a condition on tools. It reads facts of the tool and its server alone, so it holds for all calls of a
// tool under one contract, or for none. A nil Selection holds for no tool.
type Selection struct {
	text      string
	condition *expression.Condition
}

// ParseSelection reads a condition in the language of rules. The error is an [Errors], with places in the text.
func ParseSelection(text string) (*Selection, error) {
	c, err := language()
	if err != nil {
		return nil, err
	}
	x, wrong := c.Compile(text)
	var problems Errors
	for _, w := range wrong {
		problems = append(problems, Problem{Line: w.Line, Col: w.Col + 1, Msg: w.Msg, Hint: w.Hint})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	for _, name := range notOfTool {
		if x.Reads(name) {
			problems = append(problems, Problem{
				Msg: name + " is not known before there is a call", Hint: "use facts of the tool and its server: tool.*, server.*, call.plainRead"})
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return &Selection{strings.TrimSpace(text), x}, nil
}

// String returns the text of the condition.
func (s *Selection) String() string {
	if s == nil {
		return "false"
	}
	return s.text
}

// Holds reports whether the condition holds for the tool of these facts. It does not if it cannot be evaluated.
func (s *Selection) Holds(f *Facts) bool {
	if s == nil || f == nil {
		return false
	}
	frame, err := expression.NewFrame(new(activation).of(f))
	if err != nil {
		return false
	}
	defer frame.Close()
	holds, err := frame.Holds(s.condition)
	return err == nil && holds
}
