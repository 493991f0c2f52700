package inputschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPlain holds arguments that a look at their bytes finds to fit against the whole check, which may find nothing then.
func TestPlain(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "A", "k", "\u212a", "path", "", "type"})
	types := rapid.SampledFrom([]string{
		`{"type":"string"}`, `{"type":"integer","title":"N","default":"x"}`, `{"type":"number"}`, `{"type":"boolean"}`, `{"type":["string","null"]}`,
		`{"type":"string","enum":["x"]}`, `{"type":"string","minLength":2}`, `{}`, `true`, `false`, `{"type":"integer","minimum":4}`,
		`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"$ref":"#/properties/a"}`,
	})
	values := rapid.SampledFrom([]string{
		`"x"`, `"\ud800"`, `""`, `1`, `-1`, `-0`, `1.0`, `1e3`, `1e999`, `9007199254740993`, `123456789012345`, `1234567890123456`, `true`, `null`, `{}`,
		`{"a":1}`, `[1]`,
	})
	whole := rapid.SampledFrom([]string{
		``, `,"additionalProperties":false`, `,"additionalProperties":true`, `,"additionalProperties":{"type":"string"}`, `,"minProperties":2`,
		`,"patternProperties":{"a":{"type":"boolean"}}`, `,"propertyNames":{"maxLength":2}`, `,"not":{}`, `,"title":"T","$schema":"http://json-schema.org/draft-07/schema#"`,
		`,"$schema":"http://json-schema.org/draft-03/schema#"`, `,"$schema":""`, `,"$schema":"https://json-schema.org/draft/2020-12/schema"`,
		`,"dependentRequired":{"a":["b"]}`, `,"allOf":[{"required":["b"]}]`, `,"x-more":1`,
	})
	object := func(t *rapid.T, label string, of *rapid.Generator[string]) string {
		var members []string
		for _, name := range rapid.SliceOfNDistinct(names, 0, 4, rapid.ID).Draw(t, label) {
			members = append(members, fmt.Sprintf("%q:%s", name, of.Draw(t, label+" "+name)))
		}
		return "{" + strings.Join(members, " , ") + "}"
	}
	rapid.Check(t, func(t *rapid.T) {
		required, err := json.Marshal(rapid.SliceOfN(names, 0, 2).Draw(t, "required"))
		if err != nil {
			t.Fatal(err)
		}
		kind := rapid.SampledFrom([]string{`"object"`, `"object"`, `"object"`, `"array"`, `["object"]`}).Draw(t, "type")
		schema := `{"type":` + kind + `,"properties":` + object(t, "properties", types) + `,"required":` + string(required) + whole.Draw(t, "whole") + `}`
		arguments := json.RawMessage(object(t, "arguments", values))
		s := Compile(json.RawMessage(schema))
		if !s.plain.fit(arguments) {
			return
		}
		if f := s.check(arguments); f.Violates != "" || f.Ambiguous || f.Undeclared != nil || f.Beside != nil {
			t.Fatalf("%s: %s: %+v", schema, arguments, f)
		}
	})
}

// TestPlainFits are arguments that need no more than a look at their bytes.
func TestPlainFits(t *testing.T) {
	s := Compile(json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"D"},"n":{"type":"integer"},"all":{"type":"boolean"}},
		"required":["path"],"additionalProperties":false}`))
	for arguments, want := range map[string]bool{
		`{"path":"a","n":-12,"all":true}`: true, `{ "path" : "\"" }`: true, `{"n":1}`: false, `{"path":"a","more":1}`: false, `{"path":1}`: false,
		`{"path":"a","n":1.5}`: false, `{"path":"a","path":"b"}`: false, `{"path":"a"`: false, `{"path":"a","n":-}`: false, ``: false, `[]`: false,
	} {
		if got := s.plain.fit(json.RawMessage(arguments)); got != want {
			t.Errorf("%s: %v", arguments, got)
		}
	}
}
