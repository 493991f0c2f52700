package mcptool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// A form is the fields of an answer (2025-11-25, Elicitation, Requested Schema).
type form struct {
	shown  json.RawMessage // to the user
	schema *jsonschema.Resolved
}

// confirmation is the form of an answer that is yes or no.
var confirmation = &form{shown: json.RawMessage(`{"type":"object","properties":{}}`)}

// formOf returns the form for the fields of T.
func formOf[T any]() (*form, error) {
	schema, err := jsonschema.ForType(reflect.TypeFor[T](), &jsonschema.ForOptions{})
	if err != nil {
		return nil, fmt.Errorf("the form: %w", err)
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("the form: %v is no struct", reflect.TypeFor[T]())
	}
	for name, field := range schema.Properties {
		switch field.Type {
		case "string", "number", "integer", "boolean":
		default:
			return nil, fmt.Errorf("the form: field %q is neither text nor number nor truth value", name)
		}
	}
	schema.AdditionalProperties = nil // a form of the protocol has no such member
	f := &form{}
	if f.shown, err = json.Marshal(schema); err != nil {
		return nil, fmt.Errorf("the form: %w", err)
	}
	if f.schema, err = schema.Resolve(nil); err != nil {
		return nil, fmt.Errorf("the form: %w", err)
	}
	return f, nil
}

// digest stands for a question with this form.
func (f *form) digest(text string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(text), text, f.shown))
	return hex.EncodeToString(sum[:])
}

// read decodes the content of an answer, which a client may send in any form.
func (f *form) read(content json.RawMessage, into any) error {
	var fields map[string]any
	if err := json.Unmarshal(content, &fields); err != nil {
		return fmt.Errorf("refused: the answer: %w", err)
	}
	if fields == nil {
		fields = map[string]any{}
	}
	if err := f.schema.Validate(fields); err != nil {
		return fmt.Errorf("refused: the answer: %w", err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("refused: the answer: %w", err)
	}
	return nil
}
