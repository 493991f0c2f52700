package vault

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// Limits of a shape.
const (
	maxShapeDepth = 4
	maxShapeLines = 40
	maxDigits     = 64 // of a number whose length is not told
)

// Shape tells the size of a value, its types and lengths, and those of its keys that the tool's output schema declares: any other key is
// text that its author chose.
func (v *Value) Shape(outputSchema json.RawMessage) string {
	if v.Error != nil {
		return "an error"
	}
	s := shaper{}
	s.add(v.Document(), outputSchema, "", 0)
	if len(s.lines) > maxShapeLines {
		s.lines = append(s.lines[:maxShapeLines], "and so on")
	}
	return strings.Join(s.lines, "\n")
}

type shaper struct{ lines []string }

// add describes a JSON value and, below it, the members that its schema declares.
func (s *shaper) add(doc, schema json.RawMessage, pointer string, depth int) {
	if len(s.lines) > maxShapeLines {
		return
	}
	where := ""
	if pointer != "" {
		where = pointer + ": "
	}
	switch rawjson.Kind(doc) {
	case '{':
		s.object(doc, schema, pointer, depth)
	case '[':
		n, first := 0, json.RawMessage(nil)
		for element := range rawjson.Elements(doc) {
			if n++; n == 1 {
				first = element
			}
		}
		s.lines = append(s.lines, fmt.Sprintf("%san array of %d", where, n))
		items, _ := rawjson.Get(schema, "items")
		if n > 0 && depth < maxShapeDepth {
			s.add(first, items, pointer+"/0", depth+1)
		}
	case '"':
		text, _ := rawjson.String(doc)
		s.lines = append(s.lines, fmt.Sprintf("%sa text of %d bytes", where, len(text)))
	case 't', 'f':
		s.lines = append(s.lines, where+"a boolean")
	case 'n':
		s.lines = append(s.lines, where+"null")
	default:
		if len(doc) > maxDigits {
			s.lines = append(s.lines, fmt.Sprintf("%sa number of %d digits", where, len(doc)))
			return
		}
		s.lines = append(s.lines, where+"a number")
	}
}

// object describes an object.
func (s *shaper) object(doc, schema json.RawMessage, pointer string, depth int) {
	where := ""
	if pointer != "" {
		where = pointer + ": "
	}
	properties, _ := rawjson.Get(schema, "properties")
	n, undeclared := 0, 0
	for name := range rawjson.Members(doc) {
		n++
		if _, declared := rawjson.Get(properties, name); !declared {
			undeclared++
		}
	}
	line := fmt.Sprintf("%san object of %d members", where, n)
	if undeclared > 0 {
		line += fmt.Sprintf(", %d with names that the tool does not declare", undeclared)
	}
	s.lines = append(s.lines, line)
	if depth >= maxShapeDepth {
		return
	}
	for name, declared := range rawjson.Members(properties) {
		if value, ok := rawjson.Get(doc, name); ok {
			s.add(value, declared, pointer+rawjson.Pointer(name), depth+1)
		}
	}
}
