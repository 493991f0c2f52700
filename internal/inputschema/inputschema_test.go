package inputschema_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/inputschema"
)

const file = `{"type":"object","properties":{"path":{"type":"string"},"mode":{"enum":["r","w"]},"options":{"$ref":"#/$defs/o"},
	"headers":{"type":"object","additionalProperties":{"type":"string"}}},"required":["path"],
	"$defs":{"o":{"type":"object","properties":{"deep":{"type":"boolean"}}}}}`

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, schema, arguments string
		violates, ambiguous     bool
		undeclared              string
	}{
		{"fits", file, `{"path":"/a","mode":"r","options":{"deep":true}}`, false, false, ""},
		{"missing", file, `{"mode":"r"}`, true, false, ""},
		{"type", file, `{"path":["/a"]}`, true, false, ""},
		{"none", file, ``, true, false, ""},
		{"undeclared", file, `{"path":"/a","file":"/b"}`, true, false, "file"},
		{"undeclared inside", file, `{"path":"/a","options":{"deep":true,"wide":1}}`, true, false, "wide"},
		{"another case", file, `{"path":"/a","Path":"/b"}`, true, true, "Path"},
		{"another case alone", file, `{"PATH":"/b"}`, true, false, "PATH"},
		{"another case inside", file, `{"path":"/a","options":{"deep":true,"Deep":false}}`, true, true, "Deep"},
		{"free map", file, `{"path":"/a","headers":{"X-A":"1"}}`, false, false, "X-A"},
		{"free map with two cases", file, `{"path":"/a","headers":{"X-A":"1","x-a":"2"}}`, true, false, "X-A x-a"},
		{"Kelvin", `{"type":"object","properties":{"kind":{}}}`, `{"kind":1,"` + "\u212a" + `ind":2}`, true, true, "\u212aind"},
		{"open", `{"type":"object","properties":{"a":{}},"additionalProperties":true}`, `{"a":1,"b":2}`, false, false, "b"},
		{"open, and another case", `{"type":"object","properties":{"a":{}},"additionalProperties":true}`, `{"A":2}`, true, false, "A"},
		{"pattern", `{"type":"object","properties":{"a":{}},"patternProperties":{"^x-":{"type":"string"}}}`, `{"a":1,"x-b":"c"}`, false, false, "x-b"},
		{"nothing said", `{"type":"object"}`, `{"a":1}`, false, false, "a"},
		{"no schema", ``, `{"a":1}`, false, false, "a"},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"p":{"type":"string"}},"properties":{"p":{"$ref":"#/definitions/p"}}}`, `{"p":"x"}`, false, false, ""},
		{"branches", `{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`, `{"b":"x"}`, false, false, ""},
		{"remote", `{"$ref":"http://127.0.0.1:1/schema"}`, `{}`, true, false, ""},
		{"no schema at all", `{"type":7}`, `{"a":1}`, true, false, "a"},
		{"old draft", `{"$schema":"http://json-schema.org/draft-03/schema#","type":"object"}`, `{}`, true, false, ""},
		{"endless", `{"$ref":"#"}`, `{}`, true, false, ""},
		{"endless in turns", `{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, `{}`, true, false, ""},
		{"large number", `{"type":"object","properties":{"n":{"type":"number"}}}`, `{"n":1e999}`, true, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := inputschema.Compile(raw(c.schema)).Check(raw(c.arguments))
			if (f.Violates != "") != c.violates || f.Ambiguous != c.ambiguous || strings.Join(f.Undeclared, " ") != c.undeclared {
				t.Errorf("%+v", f)
			}
		})
	}
}

func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// A schema that branches at each level is not evaluated on a value that makes it explode.
func TestCost(t *testing.T) {
	branch := `{"anyOf":[` + strings.Repeat(`{"properties":{"a":{"$ref":"#"}}},`, 20) + `{"properties":{"a":{"$ref":"#"}}}]}`
	s := inputschema.Compile(raw(branch))
	began := time.Now()
	if f := s.Check(raw(strings.Repeat(`{"a":`, 30) + "1" + strings.Repeat("}", 30))); f.Violates == "" {
		t.Error("nobody could have checked this")
	}
	if f := s.Check(raw(`{"a":{"a":1}}`)); f.Violates != "" {
		t.Error(f)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func BenchmarkCheck(b *testing.B) {
	s := inputschema.Compile(raw(file))
	arguments := raw(`{"path":"/home/ann/notes.txt","mode":"r","options":{"deep":true}}`)
	b.ReportAllocs()
	for b.Loop() {
		if f := s.Check(arguments); f.Violates != "" {
			b.Fatal(f)
		}
	}
}

// TestBeside distinguishes members that may change the meaning of others from data.
func TestBeside(t *testing.T) {
	const open = `{"type":"object","properties":{"a":{},"map":{"type":"object"},"o":{"type":"object","properties":{"p":{}},"additionalProperties":true},
		"list":{"items":{"properties":{"p":{}},"additionalProperties":true}}},"additionalProperties":true}`
	for _, c := range []struct{ schema, arguments, beside string }{
		{open, `{"a":1,"map":{"x":1,"y":{"z":2}}}`, ""},
		{open, `{"a":1,"b":2}`, "b"},
		{open, `{"o":{"p":1,"q":2},"list":[{},{"r":1}]}`, "list[1].r o.q"},
		{`{"type":"object"}`, `{"x":{"y":1}}`, "x"},
		{`{"$ref":"http://elsewhere"}`, `{"x":1}`, "x"},
	} {
		if f := inputschema.Compile(raw(c.schema)).Check(raw(c.arguments)); strings.Join(f.Beside, " ") != c.beside {
			t.Errorf("%s: %+v", c.arguments, f)
		}
	}
}
