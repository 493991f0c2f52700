package vault

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// documents draws JSON documents with few names, of which some are declared, some wrap and some come twice.
func documents(depth int) *rapid.Generator[string] {
	scalar := rapid.SampledFrom([]string{`"a"`, `"bb"`, `1`, `22`, `true`, `null`, `"{\"a\":1}"`, `"{\"b\":[7]}"`, `"[1]"`})
	if depth == 0 {
		return scalar
	}
	list := rapid.Custom(func(t *rapid.T) string {
		out := ""
		for i := range rapid.IntRange(0, 2).Draw(t, "elements") {
			out += []string{"", ","}[min(i, 1)] + documents(depth-1).Draw(t, "element")
		}
		return "[" + out + "]"
	})
	object := rapid.Custom(func(t *rapid.T) string {
		out := ""
		for i := range rapid.IntRange(0, 2).Draw(t, "members") {
			name := rapid.SampledFrom([]string{`"a"`, `"b"`, `"text"`}).Draw(t, "name")
			out += []string{"", ","}[min(i, 1)] + name + ":" + documents(depth-1).Draw(t, "member")
		}
		return "{" + out + "}"
	})
	return rapid.OneOf(scalar, list, object, object)
}

// An agent is taken to know of a part only what its shape tells: values of the same shape have the same parts, as far as it is known, and
// what is known is true.
func TestShapesTellOfPartsAlike(t *testing.T) {
	schemas := []json.RawMessage{
		json.RawMessage(`{}`), json.RawMessage(`{"properties":{"a":{"properties":{"a":{},"text":{}}}}}`),
		json.RawMessage(`{"properties":{"text":{"items":{"properties":{"b":{}}}},"b":{}},"items":{"properties":{"a":{}}}}`),
	}
	type knowledge struct {
		there  presence
		length int
	}
	rapid.Check(t, func(t *rapid.T) {
		schema := rapid.SampledFrom(schemas).Draw(t, "schema")
		pointer := rapid.StringMatching(`(/(a|b|text|0|1|2|01)){1,4}`).Draw(t, "pointer")
		by := map[string]knowledge{}
		for _, doc := range rapid.SliceOfN(documents(2), 20, 20).Draw(t, "documents") {
			v := Value{Part: json.RawMessage(doc), Output: schema}
			there, length := toldOf(&v, handle{pointer: pointer})
			shape := v.Shape(schema)
			if before, ok := by[shape]; ok && before != (knowledge{there, length}) {
				t.Fatalf("%s, of the same shape as another: %v, and %v", doc, knowledge{there, length}, before)
			}
			by[shape] = knowledge{there, length}
			part, err := Select(v.Document(), pointer)
			switch {
			case there == present && (err != nil || length >= 0 && len(textOf(part)) > length):
				t.Fatalf("%s of %s: %s, %v, and the agent knows that it is there, with %d bytes", pointer, doc, part, err, length)
			case there == absent && !errors.Is(err, ErrNotThere):
				t.Fatalf("%s of %s: %s, %v, and the agent knows that it is not there", pointer, doc, part, err)
			}
		}
	})
}

// Where the shape tells whether there is an expansion, nothing is spent.
func TestWhatShapesTellIsFree(t *testing.T) {
	kept := New(Limits{})
	schema := json.RawMessage(`{"properties":{"from":{},"to":{"items":{"properties":{"name":{}}}},"cc":{}}}`)
	result := json.RawMessage(`{"content":[],"structuredContent":{"from":"ann","to":[{"name":"bob","more":1},{"name":"eve"}]}}`)
	shown, err := kept.Put(t.Context(), Space{Key: "a"}, Value{Result: result, Output: schema})
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := kept.Put(t.Context(), Space{Key: "a"}, Value{Result: result})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		value   Value
		pointer string
		spends  bool
		want    error
	}{
		{shown, "", false, nil}, {shown, "#/from", false, nil}, {shown, "#/to/0/name", false, nil}, {shown, "#/to/1", false, nil},
		{shown, "#/form", false, ErrShape}, {shown, "#/cc", false, ErrShape}, {shown, "#/to/2", false, ErrShape}, {shown, "#/to/x", false, ErrShape},
		{shown, "#/to/0/more", true, nil}, {shown, "#/to/1/name", true, nil}, {shown, "#/to/0/other", true, ErrNotThere},
		{hidden, "", false, nil}, {hidden, "#/from", true, nil}, {hidden, "#/form", true, ErrNotThere},
	} {
		spends := false
		spend := func() error { spends = true; return nil }
		doc, err := json.Marshal([]string{"[[" + c.value.Name + c.pointer + "]]"})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := kept.Expand(t.Context(), doc, spend, Space{Key: "a"}); spends != c.spends || !errors.Is(err, c.want) {
			t.Errorf("%s: spends is %t, and the error %v", doc, spends, err)
		}
	}
}
