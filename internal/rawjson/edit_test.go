package rawjson_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-mcp/weir/internal/rawjson"
	"pgregory.net/rapid"
)

func TestSetAndDelete(t *testing.T) {
	for _, test := range []struct {
		doc, path, value, set, deleted string // the path's names are parted by spaces
	}{
		{`{}`, `a`, `1`, `{"a":1}`, `{}`},
		{` { } `, `a`, `1`, ` {"a":1 } `, ` { } `},
		{`{"b":2}`, `a`, `1`, `{"b":2,"a":1}`, `{"b":2}`},
		{`{ "b" : 2 }`, `a`, `1`, `{ "b" : 2,"a":1 }`, `{ "b" : 2 }`},
		{`{"a":0}`, `a`, `1`, `{"a":1}`, `{}`},
		{`{ "a" : 0 }`, `a`, `1`, `{ "a" : 1 }`, `{  }`},
		{`{"a":0,"b":2}`, `a`, `1`, `{"a":1,"b":2}`, `{"b":2}`},
		{`{"b":2,"a":0}`, `a`, `1`, `{"b":2,"a":1}`, `{"b":2}`},
		{`{"b":2 , "a":0 , "c":3}`, `a`, `1`, `{"b":2 , "a":1 , "c":3}`, `{"b":2 ,  "c":3}`},
		{`{"b":2 , "a":0 }`, `a`, `1`, `{"b":2 , "a":1 }`, `{"b":2  }`},
		{`{"\u0061":0}`, `a`, `1`, `{"\u0061":1}`, `{}`},
		{`{"aa":0,"A":0}`, `a`, `1`, `{"aa":0,"A":0,"a":1}`, `{"aa":0,"A":0}`},
		{`{"x":{"a":0}}`, `a`, `1`, `{"x":{"a":0},"a":1}`, `{"x":{"a":0}}`},
		{`{"x":"\"a\":0,{"}`, `a`, `1`, `{"x":"\"a\":0,{","a":1}`, `{"x":"\"a\":0,{"}`},
		{`{"x":"\\"}`, `a`, `1`, `{"x":"\\","a":1}`, `{"x":"\\"}`},
		{`{}`, `a b c`, `1`, `{"a":{"b":{"c":1}}}`, `{}`},
		{`{"a":{}}`, `a b`, `1`, `{"a":{"b":1}}`, `{"a":{}}`},
		{`{"a":{"x":[1, 2]},"y":3}`, `a b`, `[]`, `{"a":{"x":[1, 2],"b":[]},"y":3}`, `{"a":{"x":[1, 2]},"y":3}`},
		{`{"a":{"b":{"c":true}}}`, `a b c`, `1`, `{"a":{"b":{"c":1}}}`, `{"a":{"b":{}}}`},
		{`{}`, `a"`, `1`, `{"a\"":1}`, `{}`},
		{` {"a":1} `, ``, `2`, ` 2 `, ` {"a":1} `},
	} {
		doc, path := []byte(test.doc), strings.Fields(test.path)
		set, err := rawjson.Set(doc, []byte(test.value), path...)
		if err != nil || string(set) != test.set {
			t.Errorf("Set(%s, %s) = %s, %v, want %s", test.doc, test.path, set, err, test.set)
		}
		if got := rawjson.Delete(doc, path...); string(got) != test.deleted {
			t.Errorf("Delete(%s, %s) = %s, want %s", test.doc, test.path, got, test.deleted)
		}
		if string(doc) != test.doc {
			t.Errorf("%s was changed to %s", test.doc, doc)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	for _, test := range []struct{ doc, path, message string }{
		{`[]`, `a`, "document: not an object"},
		{`1`, `a`, "document: not an object"},
		{``, `a`, "document: not an object"},
		{`{"a":null}`, `a b`, "a: not an object"},
		{`{"a":{"b":[]}}`, `a b c`, "a.b: not an object"},
		{`{"a":"{}"}`, `a b`, "a: not an object"},
		{`{"a":1`, `b`, "document: not an object"},
	} {
		_, err := rawjson.Set([]byte(test.doc), []byte("1"), strings.Fields(test.path)...)
		if !errors.Is(err, rawjson.ErrNotObject) || err.Error() != test.message {
			t.Errorf("Set(%s, %s): %v, want %s", test.doc, test.path, err, test.message)
		}
	}
}

func TestGetFindsWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := object(t, 4)
		doc := []byte(blank(t) + n.text + blank(t))
		if err := rawjson.Check(doc); err != nil {
			t.Fatalf("generated %q: %v", doc, err)
		}
		path := walk(t, n)
		want, ok := n.look(path)
		got, found := rawjson.Get(doc, path...)
		if found != ok || string(got) != want.text {
			t.Fatalf("Get(%q, %q) = %q, %v, want %q, %v", doc, path, got, found, want.text, ok)
		}
		members := map[string]string{}
		for key, v := range rawjson.Members(doc) {
			members[key] = string(v)
		}
		all := map[string]string{}
		for key, v := range n.members {
			all[key] = v.text
		}
		if diff := cmp.Diff(all, members); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestEdit(t *testing.T) {
	for _, test := range []struct{ doc, path, old, want string }{
		{`{"a":{"b": 1 }}`, `a b`, `1`, `{"a":{"b": 1! }}`},
		{`{"a":{}}`, `a b`, ``, `{"a":{"b":!}}`},
		{`{}`, `a b`, ``, `{"a":{"b":!}}`},
		{` [] `, ``, `[]`, ` []! `},
	} {
		doc, path := []byte(test.doc), strings.Fields(test.path)
		got, err := rawjson.Edit(doc, func(old []byte) ([]byte, error) {
			if string(old) != test.old || (old == nil) != (test.old == "") {
				t.Errorf("Edit(%s, %s) finds %q", test.doc, test.path, old)
			}
			return append(bytes.Clone(old), '!'), nil
		}, path...)
		if err != nil || string(got) != test.want {
			t.Errorf("Edit(%s, %s) = %s, %v, want %s", test.doc, test.path, got, err, test.want)
		}
		if got, err = rawjson.Edit(doc, func([]byte) ([]byte, error) { return nil, nil }, path...); err != nil || &got[0] != &doc[0] {
			t.Errorf("Edit(%s, %s) without a change = %s, %v", test.doc, test.path, got, err)
		}
		refused := errors.New("refused")
		if _, err = rawjson.Edit(doc, func([]byte) ([]byte, error) { return []byte("1"), refused }, path...); err != refused {
			t.Errorf("Edit(%s, %s) with an error: %v", test.doc, test.path, err)
		}
	}
}

// Set touches no other byte: what it gives is the document with one insertion, and taking that out again gives the
// document back. Every member that is not on the path keeps its text, at every depth.
func TestSetTouchesNoOtherByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := object(t, 4)
		doc := []byte(blank(t) + n.text + blank(t))
		path, v := walk(t, n), value(t, 1).text
		set, err := rawjson.Set(doc, []byte(v), path...)
		if err != nil {
			if !errors.Is(err, rawjson.ErrNotObject) || !bytes.Equal(rawjson.Delete(doc, path...), doc) {
				t.Fatalf("Set(%q, %q): %v", doc, path, err)
			}
			return
		}
		if err := rawjson.Check(set); err != nil {
			t.Fatalf("Set(%q, %q) = %q: %v", doc, path, set, err)
		}
		if got, ok := rawjson.Get(set, path...); !ok || string(got) != v {
			t.Fatalf("Set(%q, %q), then Get: %q, %v", doc, path, got, ok)
		}
		old, existed := n.look(path)
		if existed {
			back, err := rawjson.Set(set, []byte(old.text), path...)
			if err != nil || !bytes.Equal(back, doc) {
				t.Fatalf("Set back: %q, %v, want %q", back, err, doc)
			}
		}
		unchanged(t, n, set, path)
		for at := len(path); at > 0 && !existed; at-- {
			if _, ok := n.look(path[:at-1]); ok {
				if back := rawjson.Delete(set, path[:at]...); !bytes.Equal(back, doc) {
					t.Fatalf("Delete after Set: %q, want %q", back, doc)
				}
				break
			}
		}
		unchanged(t, n, rawjson.Delete(doc, path...), path)
	})
}

// unchanged checks that every member of n that is not on the path has its text in doc.
func unchanged(t *rapid.T, n node, doc []byte, path []string) {
	if err := rawjson.Check(doc); err != nil {
		t.Fatalf("%q: %v", doc, err)
	}
	for key, v := range n.members {
		got, ok := rawjson.Get(doc, key)
		switch {
		case len(path) == 0 || key != path[0]:
			if !ok || string(got) != v.text {
				t.Fatalf("member %q of %q is %q, want %q", key, doc, got, v.text)
			}
		case ok && v.members != nil && len(path) > 1:
			unchanged(t, v, got, path[1:])
		}
	}
}

// Nothing panics or reads out of bounds on what Check would refuse; on the rest, Set and Get agree.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,"x\"y"]}}`), "a", "b")
	f.Add([]byte(`{"\u0061":{}}`), "a", "b")
	f.Add([]byte(`{"a":"\\\"`), "a", "")
	f.Add([]byte(`{"a" : 1 ,}`), "a", "x")
	f.Add([]byte(`}{`), "a", "b")
	f.Fuzz(func(t *testing.T, doc []byte, first, second string) {
		before := bytes.Clone(doc)
		valid := rawjson.Check(doc) == nil
		set, err := rawjson.Set(doc, []byte(`[0]`), first, second)
		deleted := rawjson.Delete(doc, first, second)
		rawjson.Get(doc, first, second)
		rawjson.Canonical(doc)
		rawjson.String(doc)
		rawjson.Bool(doc)
		for range rawjson.Elements(doc) {
		}
		for name := range rawjson.Members(doc) {
			if _, ok := rawjson.Get(doc, name); valid && !ok {
				t.Fatalf("member %q is not found", name)
			}
		}
		if !bytes.Equal(doc, before) {
			t.Fatal("the document was changed")
		}
		if !valid || err != nil || !utf8.ValidString(first) || !utf8.ValidString(second) {
			return
		}
		if err := rawjson.Check(set); err != nil {
			t.Fatalf("Set gave %q: %v", set, err)
		}
		if err := rawjson.Check(deleted); err != nil {
			t.Fatalf("Delete gave %q: %v", deleted, err)
		}
		if got, ok := rawjson.Get(set, first, second); !ok || string(got) != "[0]" {
			t.Fatalf("Set gave %q, in which Get finds %q", set, got)
		}
	})
}

func TestSelect(t *testing.T) {
	for _, test := range []struct{ doc, want string }{
		{`{}`, ``},
		{`{"b":1}`, ``},
		{`{"a":1,"b":2,"c":3}`, `a=1;c=3;`},
		{` { "c" : [ 1 ] , "\u0061" : { } } `, `c=[ 1 ];a={ };`},
		{`{"b":{"a":1},"a\u0000":2,"\u00zz":3}`, ``},
		{`{"a":1,"b`, `a=1;`},
		{`[1]`, ``},
		{``, ``},
	} {
		got := ""
		rawjson.Select([]byte(test.doc), []string{"c", "a"}, func(name string, value []byte) bool {
			got += name + "=" + string(value) + ";"
			return true
		})
		if got != test.want {
			t.Errorf("Select(%s) gives %s, want %s", test.doc, got, test.want)
		}
	}
	rawjson.Select([]byte(`{"a":1,"c":2}`), []string{"c", "a"}, func(name string, _ []byte) bool {
		if name != "a" {
			t.Errorf("Select went on to %s", name)
		}
		return false
	})
}

func TestPick(t *testing.T) {
	for _, test := range []struct{ doc, want string }{
		{`{}`, `{}`},
		{`{"b":1}`, `{}`},
		{`{"a":1,"b":2,"c":3}`, `{"a":1,"c":3}`},
		{` { "c" : [ 1 ] , "\u0061" : { } } `, `{"c":[ 1 ],"\u0061":{ }}`},
		{`{"b":{"a":1}}`, `{}`},
		{`[1]`, `[1]`},
		{``, ``},
	} {
		if got := rawjson.Pick([]byte(test.doc), "a", "c"); string(got) != test.want {
			t.Errorf("Pick(%s) = %s, want %s", test.doc, got, test.want)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	for _, size := range sizes {
		doc := document(size.bytes)
		b.Run(size.name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := rawjson.Get(doc, "_meta", "annotations"); !ok {
					b.Fatal("not found")
				}
			}
		})
	}
}

func BenchmarkSet(b *testing.B) {
	for _, size := range sizes {
		doc := document(size.bytes)
		b.Run(size.name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := rawjson.Set(doc, []byte("{}"), "_meta", "annotations"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Add gives what Set gives, and writes into the document only where there is room behind it.
func TestAdd(t *testing.T) {
	for _, doc := range []string{`{}`, ` { } `, `{"b":{}}`, "{\"b\":[1, 2]\n}\t", `{"b":"{"}`} {
		want, err := rawjson.Set([]byte(doc), []byte(`{"x":1}`), "a")
		if err != nil {
			t.Fatal(err)
		}
		tight := slices.Clip([]byte(doc))
		roomy := append(make([]byte, 0, 100), doc...)
		for _, data := range [][]byte{tight, roomy} {
			got, err := rawjson.Add(data, []byte(`{"x":1}`), "a")
			if err != nil || string(rawjson.Canonical(got)) != string(rawjson.Canonical(want)) {
				t.Errorf("%q: %q, error %v; Set gives %q", doc, got, err, want)
			}
		}
		if string(tight) != doc {
			t.Errorf("%q became %q", doc, tight)
		}
		if got, err := rawjson.Add(roomy[:0], nil, "a"); err == nil {
			t.Errorf("nothing became %q", got)
		}
	}
	for _, doc := range []string{``, ` `, `[]`, `"{}"`, `1`, `null`} {
		if got, err := rawjson.Add([]byte(doc), []byte(`1`), "a"); !errors.Is(err, rawjson.ErrNotObject) {
			t.Errorf("%q became %q, error %v", doc, got, err)
		}
	}
}
