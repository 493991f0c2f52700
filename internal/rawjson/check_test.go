package rawjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/rawjson"
)

func nested(depth int, opening, closing string) string {
	return strings.Repeat(opening, depth) + "0" + strings.Repeat(closing, depth)
}

func TestCheckAccepts(t *testing.T) {
	for _, doc := range []string{
		`{}`, `[]`, `""`, `0`, `-0`, `-1.5e+10`, `true`, `false`, `null`,
		" \t\r\n{ \"a\" : [ 1 , 2 ] }\n",
		`{"a":{"a":{"a":1}}}`,
		`{"a":1,"A":2}`,
		`{"":1," ":2}`,
		`{"a":1e400}`,
		`["\u0000\u001f\"\\\/\b\f\n\r\t"]`,
		`"\ud83d\ude00"`,
		"\"\u2028\U0001F600\"",
		nested(rawjson.MaxDepth, "[", "]"),
		nested(rawjson.MaxDepth, `{"":`, "}"),
		`"` + strings.Repeat("[", 2*rawjson.MaxDepth) + `"`,
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"\u006a":1}`,
	} {
		if err := rawjson.Check([]byte(doc)); err != nil {
			t.Errorf("Check(%.60q) = %v", doc, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, test := range []struct {
		doc    string
		fault  rawjson.Fault
		offset int64
	}{
		{``, rawjson.BadSyntax, 0},
		{" \n", rawjson.BadSyntax, 2},
		{`{`, rawjson.BadSyntax, 1},
		{`{"a"`, rawjson.BadSyntax, 4},
		{`{"a":1,}`, rawjson.BadSyntax, 7},
		{`[1,]`, rawjson.BadSyntax, 3},
		{`[1 2]`, rawjson.BadSyntax, 3},
		{`[1}`, rawjson.BadSyntax, 2},
		{`{'a':1}`, rawjson.BadSyntax, 1},
		{`{a:1}`, rawjson.BadSyntax, 1},
		{`{1:1}`, rawjson.BadSyntax, 1},
		{`01`, rawjson.BadSyntax, 1},
		{`1.`, rawjson.BadSyntax, 2},
		{`.5`, rawjson.BadSyntax, 0},
		{`+1`, rawjson.BadSyntax, 0},
		{`NaN`, rawjson.BadSyntax, 0},
		{`tru`, rawjson.BadSyntax, 3},
		{`True`, rawjson.BadSyntax, 0},
		{`"a`, rawjson.BadSyntax, 2},
		{`"\x41"`, rawjson.BadSyntax, 1},
		{"\"a\nb\"", rawjson.BadSyntax, 2},
		{`{} {}`, rawjson.BadSyntax, 3},
		{`{},`, rawjson.BadSyntax, 2},
		{`/**/{}`, rawjson.BadSyntax, 0},
		{"\ufeff{}", rawjson.BadSyntax, 0},
		{"{}\x00", rawjson.BadSyntax, 2},
		{"\"\xff\"", rawjson.BadUTF8, 1},
		{"\"\xed\xa0\x80\"", rawjson.BadUTF8, 1},
		{"\"\xc0\xaf\"", rawjson.BadUTF8, 1},
		{"{\"a\xff\":1}", rawjson.BadUTF8, 3},
		{`"\ud800"`, rawjson.BadUTF8, 1},
		{`"\ud800\u0041"`, rawjson.BadUTF8, 1},
		{`"\udc00"`, rawjson.BadUTF8, 1},
		{`{"\ud800":1}`, rawjson.BadUTF8, 2},
		{`{"a":1,"a":1}`, rawjson.DuplicateName, 7},
		{`{"name":1,"\u006eame":2}`, rawjson.DuplicateName, 10},
		{`{"a\/b":1,"a/b":2}`, rawjson.DuplicateName, 10},
		{"{\"\u00e9\":1,\"\\u00E9\":2}", rawjson.DuplicateName, 8},
		{`{"":1,"":2}`, rawjson.DuplicateName, 6},
		{`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"h":1}`, rawjson.DuplicateName, 55},
		{`[{"x":[{"a":1,"b":2,"a":3}]}]`, rawjson.DuplicateName, 20},
		{nested(rawjson.MaxDepth+1, "[", "]"), rawjson.TooDeep, rawjson.MaxDepth},
		{nested(rawjson.MaxDepth+1, `{"":`, "}"), rawjson.TooDeep, 4 * rawjson.MaxDepth},
		{strings.Repeat("[", 1<<20), rawjson.TooDeep, rawjson.MaxDepth},
	} {
		err := rawjson.Check([]byte(test.doc))
		var syntax *rawjson.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Check(%.60q) = %v, want a SyntaxError", test.doc, err)
			continue
		}
		if syntax.Fault != test.fault || syntax.Offset != test.offset {
			t.Errorf("Check(%.60q): %v at %d (%s), want %v at %d",
				test.doc, syntax.Fault, syntax.Offset, syntax.Reason, test.fault, test.offset)
		}
	}
}

// Many members must not make the search for duplicates quadratic, and the last of them must still be found.
func TestCheckFindsADuplicateAmongMany(t *testing.T) {
	var doc strings.Builder
	doc.WriteString(`{"first":0`)
	for i := range 100_000 {
		fmt.Fprintf(&doc, `,"m%d":%d`, i, i)
	}
	if err := rawjson.Check([]byte(doc.String() + `}`)); err != nil {
		t.Fatalf("without a duplicate: %v", err)
	}
	var syntax *rawjson.SyntaxError
	if err := rawjson.Check([]byte(doc.String() + `,"f\u0069rst":1}`)); !errors.As(err, &syntax) || syntax.Fault != rawjson.DuplicateName {
		t.Fatalf("with a duplicate: %v", err)
	}
}

// An error message quotes hostile input, so it must be short and printable.
func TestCheckErrorsAreBounded(t *testing.T) {
	long := strings.Repeat(`\u001b[2J`, 1000)
	for _, doc := range []string{
		`{"` + long + `":1,"` + long + `":2}`,
		`{"a":` + strings.Repeat("\x1b", 1000),
		`"` + strings.Repeat("\x1b", 1000) + `"`,
	} {
		err := rawjson.Check([]byte(doc))
		if err == nil || len(err.Error()) > 600 || strings.ContainsRune(err.Error(), 0x1b) {
			t.Errorf("Check(%.20q…) = %.700q", doc, err)
		}
	}
}

// A string is looked at in words of eight bytes, two at once: no byte may change the answer for another, wherever in the
// words the two stand.
func TestCheckReadsEachByte(t *testing.T) {
	bytes := []byte("\x00\x01\x1f !\"#Z[\\]^bnu/~\x7f\x80\x81\xa2\xbf\xc2\xdc\xff")
	for _, filler := range []string{"a", "!"} {
		for at := range 20 {
			for _, one := range bytes {
				for _, two := range bytes {
					doc := []byte(`"` + strings.Repeat(filler, 40) + `"`)
					doc[1+at], doc[2+at] = one, two
					if got, want := rawjson.Check(doc) == nil, jsontext.Value(doc).IsValid(); got != want {
						t.Fatalf("%q is accepted: %v, want %v", doc, got, want)
					}
				}
			}
		}
	}
}

// A document that ends anywhere, a string in it too, is refused like any other that is none.
func TestCheckReadsNoFurther(t *testing.T) {
	for _, doc := range []string{
		`{"method":"` + strings.Repeat("a", 70) + `","b":"` + strings.Repeat(`\u00e9\n`, 9) + `","c":[1.5e+3,true,null]}`,
		`"` + strings.Repeat("é", 40) + strings.Repeat(`\ud83d\ude00`, 4) + `"`,
	} {
		for from := range 20 { // so that words begin anywhere
			doc := strings.Repeat(" ", from) + doc
			for end := range len(doc) + 1 {
				cut := slices.Clip([]byte(doc[:end]))
				_, _, err := rawjson.CheckMembers(cut, nil)
				if got, want := err == nil, json.Valid(cut); got != want || want != (rawjson.Check(cut) == nil) {
					t.Fatalf("%q is accepted: %v, want %v", cut, got, want)
				}
			}
		}
	}
}

// Check must never accept what encoding/json or jsontext refuses; what it refuses for its syntax, encoding/json refuses too.
func FuzzCheck(f *testing.F) {
	for _, doc := range []string{
		`{"a":[1,2.5e3,true,null,"\u00e9\n"]}`, `{"a":1,"\u0061":2}`, `"0123456\"0123456\\\ud83d\ude00é0123456789"`,
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"a":1}`, `[-0.5E-3,0]`, "\"\xff\"", `"\ud800"`, `[[[[]]]]`, `{"a":}`, ` 0 `, `1 1`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		err := rawjson.Check(doc)
		var syntax *rawjson.SyntaxError
		switch {
		case err == nil && !json.Valid(doc):
			t.Fatal("accepted what encoding/json refuses")
		case err == nil && !jsontext.Value(doc).IsValid():
			t.Fatal("accepted what jsontext refuses")
		case err == nil:
			return
		case !errors.As(err, &syntax):
			t.Fatalf("not a SyntaxError: %v", err)
		case syntax.Offset < 0 || syntax.Offset > int64(len(doc)):
			t.Fatalf("offset %d of %d", syntax.Offset, len(doc))
		case syntax.Fault == rawjson.BadSyntax && json.Valid(doc):
			t.Fatalf("refused what encoding/json accepts: %v", err)
		}
	})
}

// CheckMembers is two functions in one, and must not differ from them.
func FuzzCheckMembers(f *testing.F) {
	for _, doc := range []string{`{"a":1,"\u0062":{"a":[1]}}`, ` { "a" : [ ] , "b" : { } } `, `[{"a":1}]`, `{"a":1,"a":2}`, `0`} {
		f.Add([]byte(doc))
	}
	f.Add([]byte(`{"a":{"Name":1},"b":{"x":1,"X":2}}`))
	f.Add([]byte(`{"a":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"I":9,"i":10,"I":11}}`))
	f.Add([]byte(`{"a":{"x":[{"mark":1}]},"mark":{"a":1},"b":[{"m\u0061rk":1}],"c":"mark"}`))
	names := rawjson.NewNames("name", "uri", "mimeType").Mark("mark")
	f.Fuzz(func(t *testing.T, doc []byte) {
		members, odd, err := rawjson.CheckMembers(doc, names)
		if want := rawjson.Check(doc); (err == nil) != (want == nil) {
			t.Fatalf("%v; Check: %v", err, want)
		}
		if err != nil {
			return
		}
		var got, want []string
		for _, m := range members {
			got = append(got, string(m.Name), string(m.Value))
			if m.Bare && rawjson.HasName(m.Value, "mark") {
				t.Fatalf("%s is bare", m.Value)
			}
		}
		for name, value := range rawjson.Members(doc) {
			want = append(want, name, string(value))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q; Members: %q", got, want)
		}
		if !odd && foldedAnywhere(doc, names) {
			t.Fatalf("%s has names that fold to the same", doc)
		}
	})
}

// foldedAnywhere is the plain reading of what CheckMembers says of names.
func foldedAnywhere(doc []byte, names *rawjson.Names) bool {
	found := rawjson.Folded(doc, names)
	for _, value := range rawjson.Members(doc) {
		found = found || foldedAnywhere(value, names)
	}
	for value := range rawjson.Elements(doc) {
		found = found || foldedAnywhere(value, names)
	}
	return found
}

// BenchmarkCheckMembers is BenchmarkCheck with the names of a protocol.
func BenchmarkCheckMembers(b *testing.B) {
	names := rawjson.NewNames("type", "text", "data", "name", "uri", "_meta", "content", "annotations", "mimeType", "isError", "description", "title", "message", "method", "params", "result", "error", "size", "icons", "arguments")
	for _, size := range sizes {
		doc := document(size.bytes)
		b.Run(size.name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := rawjson.CheckMembers(doc, names); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, size := range sizes {
		doc := document(size.bytes)
		b.Run(size.name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if err := rawjson.Check(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
