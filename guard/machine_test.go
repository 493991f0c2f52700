package guard

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// TestTextsOf holds the values and names of a call, in which nothing is copied, against those of its params without the
// arguments and the metadata.
func TestTextsOf(t *testing.T) {
	all := func(r *request) (texts []Text) {
		everyText(r.Arguments, "", func(path, text string, name bool) { texts = append(texts, Text{Path: path, Text: text, Name: name}) })
		everyText(rawjson.Delete(rawjson.Delete(r.Params, "_meta"), "arguments"), "", func(path, text string, name bool) {
			if !name && !(path == "name" && text == r.Name) {
				texts = append(texts, Text{Path: path, Text: text})
			}
		})
		return texts
	}
	rapid.Check(t, func(t *rapid.T) {
		params := json.RawMessage(rapid.SampledFrom([]string{
			``, `null`, `"name"`, `[]`, `["a",{"arguments":"b"}]`, `{}`, `{"name":"tool","arguments":{"path":"x"},"_meta":{"a":"b"}}`,
			`{"name":"other","":"empty",".a":"dot","_meta":1,"arguments":2}`, `{"task":{"name":"tool","arguments":["c"]},"name":["tool"],"uri":"file:///x"}`,
			` { "ref" : {"type":"t","uri":"u"} , "n" : 1 , "b" : true , "z" : null }`,
		}).Draw(t, "params"))
		r := &request{Call: Call{Name: "tool", Params: params}}
		r.Arguments, _ = rawjson.Get(params, "arguments")
		if got, want := textsOf(r), all(r); !slices.Equal(got, want) {
			t.Fatalf("%s: %+v, want %+v", params, got, want)
		}
	})
}
