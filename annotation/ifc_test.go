package annotation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/label"
)

func TestIFC(t *testing.T) {
	only := label.OnlyReaders
	checkResults(t, []claims[label.Label]{
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":"public"}}}`, label.Label{}, nil},
		{`{"_meta":{"ifc":{"integrity":"untrusted","confidentiality":"public"}}}`, label.Label{Untrusted: true}, nil},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":"private"}}}`, label.Label{Private: true}, nil},
		{`{"_meta":{"ifc":{"integrity":"untrusted","confidentiality":"private"}}}`, label.Label{Private: true, Untrusted: true}, nil},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":["public"]}}}`, label.Label{}, nil},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":["octocat","hubot"]}}}`, label.Label{Readers: only("octocat", "hubot")}, nil},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":["octocat","public"]}}}`, label.Label{}, nil},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":[]}}}`, label.Label{Readers: only()}, nil},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":["octocat",1]}}}`, label.Label{Readers: only()},
			[]string{"_meta.ifc.confidentiality holds a value that is no string"}},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":[` + repeat(4096, `"%d"`) + `]}}}`, label.Label{Readers: only(numbered(4096, "%d")...)}, nil},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":[` + repeat(4097, `"%d"`) + `]}}}`, label.Label{Readers: only()},
			[]string{"_meta.ifc.confidentiality has more than 4096 readers"}},
		{`{"_meta":{"ifc":{"integrity":"low","confidentiality":"secret"}}}`, label.Label{Untrusted: true, Private: true}, []string{
			`_meta.ifc.integrity is "low", not one of trusted, untrusted`, `_meta.ifc.confidentiality is "secret", not one of private, public`}},
		{`{"_meta":{"ifc":{"integrity":1}}}`, label.Label{Untrusted: true}, []string{
			"_meta.ifc.confidentiality is missing", "_meta.ifc.integrity is a number, not a string"}},
		{`{"_meta":{"ifc":"private"}}`, label.Label{Untrusted: true, Private: true}, []string{"_meta.ifc is a string, not an object"}},
	})
	checkWritten(t, writer(t, "ifc").WriteResult, []written[label.Label]{
		{`{}`, label.Label{}, `{}`},
		{`{}`, label.Label{Untrusted: true}, `{"_meta":{"ifc":{"integrity":"untrusted"}}}`},
		{`{}`, label.Label{Private: true}, `{"_meta":{"ifc":{"confidentiality":"private"}}}`},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":"public"}}}`, label.Label{Untrusted: true, Private: true},
			`{"_meta":{"ifc":{"integrity":"untrusted","confidentiality":"private"}}}`},
		{`{"_meta":{"ifc":{"integrity":"untrusted","confidentiality":"private"}}}`, label.Label{},
			`{"_meta":{"ifc":{"integrity":"untrusted","confidentiality":"private"}}}`},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":["a","b"]}}}`, label.Label{Readers: only("b", "c")},
			`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":["b"]}}}`},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":["b", "a"]}}}`, label.Label{Private: true},
			`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":["b", "a"]}}}`},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":["public"]}}}`, label.Label{Readers: only("a")},
			`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":"private"}}}`},
	})
}

func TestIFCReaders(t *testing.T) {
	only := label.OnlyReaders
	labels := func(parts string) string { return `{"_meta":{"com.github.ifc/labels":{` + parts + `}}}` }
	where := `_meta["com.github.ifc/labels"]`
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprintf(`"$.items[%d]":{"integrity":"trusted","confidentiality":["a","%d"]}`, i, i)
	}
	checkResults(t, []claims[label.Label]{
		{labels(``), label.Label{}, nil},
		{labels(`"$":{"integrity":"trusted","confidentiality":["public"]}`), label.Label{}, nil},
		{labels(`"$['a']":{"integrity":"untrusted","confidentiality":["public"]},"$['b'][0]":{"integrity":"trusted","confidentiality":["alice","bob"]}`),
			label.Label{Untrusted: true, Readers: only("alice", "bob")}, nil},
		{labels(`"$.a":{"integrity":"trusted","confidentiality":["alice","bob"]},"$.b":{"integrity":"trusted","confidentiality":["bob","carol"]}`),
			label.Label{Readers: only("bob")}, nil},
		{labels(`"$.a":{"integrity":"trusted","confidentiality":["alice"]},"$.b":{"integrity":"trusted","confidentiality":["bob"]}`),
			label.Label{Readers: only()}, nil},
		{labels(`"$.a":{"integrity":"trusted","confidentiality":["alice"]},"$.b":{"integrity":"trusted","confidentiality":["public","bob"]}`),
			label.Label{Readers: only("alice")}, nil},
		{labels(strings.Join(many, ",")), label.Label{Readers: only("a")}, nil},
		{labels(`"a.b":{"integrity":"untrusted","confidentiality":["public"]}`), label.Label{Untrusted: true},
			[]string{where + `["a.b"] is not a JSONPath: it does not start with $`}},
		{labels(`"$":[],"$.a":{"integrity":"Trusted","confidentiality":"private"},"$.b":{}`), label.Label{Untrusted: true, Readers: only()}, []string{
			where + `["$"] is an array, not an object`,
			where + `["$.a"].integrity is "Trusted", not one of trusted, untrusted`,
			where + `["$.a"].confidentiality is a string, not an array`,
			where + `["$.b"].integrity is missing`, where + `["$.b"].confidentiality is missing`}},
		{`{"_meta":{"com.github.ifc/labels":[]}}`, label.Label{Untrusted: true, Readers: only()}, []string{where + " is an array, not an object"}},
	})
	w := writer(t, "ifc-readers")
	tests := []written[label.Label]{
		{`{}`, label.Label{Private: true}, `{}`},
		{`{}`, label.Label{Untrusted: true}, labels(`"$":{"integrity":"untrusted"}`)},
		{`{}`, label.Label{Readers: only("b", "a")}, labels(`"$":{"confidentiality":["a","b"]}`)},
		{`{}`, label.Label{Readers: only()}, labels(`"$":{"confidentiality":[]}`)},
		{labels(`"$.a":{"integrity":"untrusted","confidentiality":["a","b"]}`), label.Label{Readers: only("b", "c")},
			labels(`"$.a":{"integrity":"untrusted","confidentiality":["a","b"]},"$":{"integrity":"untrusted","confidentiality":["b"]}`)},
		{labels(`"$":{"integrity":"trusted","confidentiality":["b"]}`), label.Label{Readers: only("b", "c")},
			labels(`"$":{"integrity":"trusted","confidentiality":["b"]}`)},
	}
	checkWritten(t, w.WriteResult, tests)
	checkWritten(t, func(doc []byte, l label.Label) ([]byte, error) { return w.WriteRequest(doc, l, false) }, tests)
}
