package rawjson_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/weir-mcp/weir/internal/rawjson"
	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	for _, test := range []struct{ doc, want string }{
		{` { "b" : 1 , "a" : [ true , null ] } `, `{"a":[true,null],"b":1}`},
		{`[1.0,1,1e0,-0,0.10,12345678901234567890]`, `[1.0,1,1e0,-0,0.10,12345678901234567890]`},
		{`"\u0041\/\u000a\u001F\u00e9\u2028"`, "\"A/\\n\\u001f\u00e9\u2028\""},
		{`"\ud83d\ude00"`, `"😀"`},
		{`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"\u00f6\":7,\"\u20ac\":1,\"\U0001F600\":5,\"\ufb33\":3}"}, // RFC 8785, 3.2.3
		{`{"a":{"c":1,"b":2}}`, `{"a":{"b":2,"c":1}}`},
		{`{"a":1,"a":2}`, ``},
		{`{`, ``},
	} {
		if got := rawjson.Canonical([]byte(test.doc)); string(got) != test.want {
			t.Errorf("Canonical(%s) = %s, want %s", test.doc, got, test.want)
		}
	}
}

// decoded is the document as another parser reads it.
func decoded(t *rapid.T, doc []byte) any {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", doc, err)
	}
	return v
}

func TestCanonicalKeepsTheMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := []byte(object(t, 4).text)
		canonical := rawjson.Canonical(doc)
		if diff := cmp.Diff(decoded(t, doc), decoded(t, canonical)); diff != "" {
			t.Fatal(diff)
		}
		if again := rawjson.Canonical(canonical); !bytes.Equal(again, canonical) {
			t.Fatalf("%q is not stable: %q", canonical, again)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":"\u0041","a":[1.0, -0]}`))
	f.Add([]byte(` { "b" : {"z":null,"a":[ ]} , "ab" : [ 1.50 , "x" , {} ], "a":true } `))
	f.Add([]byte(`{"a":tru}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		canonical := rawjson.Canonical(doc)
		if rawjson.Check(doc) != nil {
			return
		}
		// What is simple takes a shorter way to the same end.
		want := jsontext.Value(bytes.Clone(doc))
		if err := want.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(canonical, want) {
			t.Fatalf("%q, not %q", canonical, want)
		}
		if err := rawjson.Check(canonical); err != nil {
			t.Fatalf("%q: %v", canonical, err)
		}
		if again := rawjson.Canonical(canonical); !bytes.Equal(again, canonical) {
			t.Fatalf("%q is not stable: %q", canonical, again)
		}
	})
}

func TestScalars(t *testing.T) {
	for _, test := range []struct {
		doc    string
		kind   byte
		text   string
		isText bool
		b, isB bool
	}{
		{doc: `{}`, kind: '{'},
		{doc: ` [1]`, kind: '['},
		{doc: `-1`, kind: '0'},
		{doc: `9`, kind: '0'},
		{doc: `null`, kind: 'n'},
		{doc: ` true `, kind: 't', b: true, isB: true},
		{doc: `false`, kind: 'f', isB: true},
		{doc: `"true"`, kind: '"', text: "true", isText: true},
		{doc: ` "\u0061\n" `, kind: '"', text: "a\n", isText: true},
		{doc: `""`, kind: '"', isText: true},
		{doc: `"`, kind: '"'},
		{doc: `"a`, kind: '"'},
		{doc: `"a"b"`, kind: '"'},
		{doc: ``},
		{doc: `+1`},
		{doc: `truth`, kind: 't'},
	} {
		if got := rawjson.Kind([]byte(test.doc)); got != test.kind {
			t.Errorf("Kind(%s) = %q, want %q", test.doc, got, test.kind)
		}
		if s, ok := rawjson.String([]byte(test.doc)); s != test.text || ok != test.isText {
			t.Errorf("String(%s) = %q, %v", test.doc, s, ok)
		}
		if v, ok := rawjson.Bool([]byte(test.doc)); v != test.b || ok != test.isB {
			t.Errorf("Bool(%s) = %v, %v", test.doc, v, ok)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", `""`}, {`a"\`, `"a\"\\"`}, {"\n\x1b", `"\n\u001b"`}, {"é<>&", `"é<>&"`}, {"a\xff", "\"a\ufffd\""},
	} {
		if got := rawjson.Quote(test.text); string(got) != test.want {
			t.Errorf("Quote(%q) = %s, want %s", test.text, got, test.want)
		}
		if got := rawjson.AppendQuote([]byte("x"), test.text); string(got) != "x"+test.want {
			t.Errorf("AppendQuote(%q) = %s", test.text, got)
		}
	}
}

func TestElements(t *testing.T) {
	for _, test := range []struct {
		doc  string
		want []string
	}{
		{`[]`, nil},
		{` [ 1 , "a,]" , [2] , {"b":3} ] `, []string{`1`, `"a,]"`, `[2]`, `{"b":3}`}},
		{`{"a":1}`, nil},
		{`"[1]"`, nil},
		{``, nil},
		{`[1`, []string{"1"}},
	} {
		var got []string
		for v := range rawjson.Elements([]byte(test.doc)) {
			got = append(got, string(v))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("Elements(%s): %s", test.doc, diff)
		}
	}
}

// HasName finds the names that another parser reads, and takes no string for a name.
func TestHasName(t *testing.T) {
	var holds func(v any, names []string) bool
	holds = func(v any, names []string) bool {
		switch v := v.(type) {
		case []any:
			return slices.ContainsFunc(v, func(e any) bool { return holds(e, names) })
		case map[string]any:
			for name, e := range v {
				if slices.Contains(names, name) || holds(e, names) {
					return true
				}
			}
		}
		return false
	}
	rapid.Check(t, func(t *rapid.T) {
		doc, names := []byte(blank(t)+value(t, 4).text+blank(t)), []string{name(t), name(t)}
		if rapid.Bool().Draw(t, "in a string") { // where its names are text
			doc = []byte(`{"text":` + literal(t, string(doc)) + `}`)
		}
		if got, want := rawjson.HasName(doc, names...), holds(decoded(t, doc), names); got != want {
			t.Fatalf("HasName(%q, %q) = %t", doc, names, got)
		}
	})
	if !rawjson.HasName([]byte(`{"a":"without an end`), "b") {
		t.Error("text that cannot be read counts as free of names")
	}
}
