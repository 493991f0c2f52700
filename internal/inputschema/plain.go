package inputschema

import (
	"encoding/json"
	"slices"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// A plainSchema is what the schema of an object says of its members whose values are scalars of one type, as those of
// most tools are. Arguments of nothing but these members are held against it by a look at their bytes. It is nil if the
// schema says anything else about the object as a whole.
type plainSchema struct {
	types    map[string]string // of the plain members
	required []string
}

// Keywords that say nothing of values, and of objects nothing of the members that properties names.
var (
	remarks = []string{"title", "description", "default", "examples", "$comment"}
	whole   = []string{"$schema", "type", "properties", "required", "additionalProperties"}
)

// drafts are those that are known by name.
var drafts = []any{nil, "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"}

// plainOf reads a schema that is known to be a valid one.
func plainOf(root any) *plainSchema {
	schema, _ := root.(map[string]any)
	if schema["type"] != "object" || !slices.Contains(drafts, schema["$schema"]) {
		return nil
	}
	for keyword := range schema {
		if !slices.Contains(whole, keyword) && !slices.Contains(remarks, keyword) {
			return nil
		}
	}
	p := &plainSchema{types: map[string]string{}}
	properties, _ := schema["properties"].(map[string]any)
	alike := map[string]int{} // properties that differ in nothing but case
	for name := range properties {
		alike[rawjson.Fold(name)]++
	}
	for name, of := range properties {
		if kind := plainType(of); kind != "" && alike[rawjson.Fold(name)] == 1 {
			p.types[name] = kind
		}
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		name, _ := name.(string)
		p.required = append(p.required, name)
	}
	return p
}

// plainType returns the type of a schema that says nothing else of a scalar; "" if it does.
func plainType(schema any) string {
	m, _ := schema.(map[string]any)
	for keyword := range m {
		if keyword != "type" && !slices.Contains(remarks, keyword) {
			return ""
		}
	}
	switch kind, _ := m["type"].(string); kind {
	case "string", "boolean", "integer", "number":
		return kind
	}
	return ""
}

// fit reports whether arguments surely are as the schema has them, and name nothing else.
func (p *plainSchema) fit(arguments json.RawMessage) bool {
	if p == nil || rawjson.Kind(arguments) != '{' || rawjson.Check(arguments) != nil {
		return false
	}
	left := len(p.required)
	for name, value := range rawjson.Members(arguments) {
		if !isPlain(value, p.types[name]) {
			return false
		}
		if slices.Contains(p.required, name) {
			left--
		}
	}
	return left == 0 // of names that stand there twice some are left
}

// isPlain reports whether a value surely is of a type; of no type, it is not.
func isPlain(value []byte, kind string) bool {
	switch kind {
	case "string":
		return rawjson.Kind(value) == '"'
	case "boolean":
		_, ok := rawjson.Bool(value)
		return ok
	case "integer", "number":
		return isShortInteger(value)
	}
	return false
}

// isShortInteger reports whether a value is a whole number without a fraction that every reader takes for the same.
func isShortInteger(value []byte) bool {
	if len(value) > 0 && value[0] == '-' {
		value = value[1:]
	}
	for _, b := range value {
		if b < '0' || b > '9' {
			return false
		}
	}
	return 0 < len(value) && len(value) <= 15
}
