package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/demo/agent"
)

// reading is how long a person takes to read a question. It is shorter than in life.
const reading = 40 * time.Millisecond

// person returns someone who agrees to what they wish for and to nothing else. They know the call under way as hosts
// show it, but they agree to what they are asked: the question itself must name the tool and what they wish for.
func person(wishes []Wish) agent.Person {
	return func(_ context.Context, question *mcp.ElicitParams, pending agent.Call) (*mcp.ElicitResult, error) {
		time.Sleep(reading)
		for _, w := range wishes {
			if w.fits(pending) && w.namedIn(question.Message) {
				content, err := tick(question.RequestedSchema)
				return &mcp.ElicitResult{Action: "accept", Content: content}, err
			}
		}
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
}

// fits reports whether the call is the wished one.
func (w Wish) fits(c agent.Call) bool {
	if c.Tool != w.Tool {
		return false
	}
	for name, want := range w.Arguments {
		if c.Arguments[name] != want {
			return false
		}
	}
	return true
}

// namedIn reports whether a question names the tool and all that the wish is about. Line breaks do not count.
func (w Wish) namedIn(question string) bool {
	flat := strings.Join(strings.Fields(question), " ")
	for _, value := range w.Arguments {
		if !strings.Contains(flat, value) {
			return false
		}
	}
	return strings.Contains(flat, w.Tool)
}

// tick fills in the form that comes with a question: every yes-or-no field with yes. Other fields are left alone.
func tick(schema any) (map[string]any, error) {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("reading the form: %w", err)
	}
	var form struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, fmt.Errorf("reading the form: %w", err)
	}
	content := make(map[string]any)
	for name, field := range form.Properties {
		if field.Type == "boolean" {
			content[name] = true
		}
	}
	return content, nil
}
