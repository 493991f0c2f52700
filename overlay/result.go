package overlay

import (
	"slices"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// A rule labels a result in which a path leads to one of some values.
type rule struct {
	path   path
	equals [][]byte // canonical JSON of scalars
	label  label.Label
}

// Label returns the label that the rules give a result, a JSON object without duplicate names: of a tool, a resource or
// a prompt. It only adds to the result's other labels. A rule looks at structuredContent, and at the first text read as
// JSON; with neither to read it counts as matched, and so does every rule where result is nil, for an error.
func (t *Tool) Label(result []byte) label.Label {
	var l label.Label
	if t == nil {
		return l
	}
	var documents [][]byte
	read := false
	for _, d := range t.drafts {
		possible := d.possible()
		l = label.Join(l, label.Label{Sources: possible.Sources.Set(), Sensitivity: possible.Returns.Set()})
	}
	for _, d := range slices.Concat(t.layers, t.drafts) {
		for _, r := range d.results {
			if !read {
				documents, read = readable(result), true
			}
			if len(documents) == 0 || slices.ContainsFunc(documents, r.matches) {
				l = label.Join(l, r.label)
			}
		}
	}
	return l.Normal()
}

// matches reports whether the path leads to one of the values.
func (r rule) matches(document []byte) bool {
	return !r.path.walk(document, "", func(_ string, value []byte) bool {
		return !slices.ContainsFunc(r.equals, func(want []byte) bool { return equal(value, want) })
	})
}

// equal compares a value with a scalar in canonical form.
func equal(value, want []byte) bool {
	kind := rawjson.Kind(value)
	return kind == rawjson.Kind(want) && kind != '{' && kind != '[' && slices.Equal(rawjson.Canonical(value), want)
}

// readable returns the parts of a result that rules can read.
func readable(result []byte) (documents [][]byte) {
	if structured, ok := rawjson.Get(result, "structuredContent"); ok && rawjson.Kind(structured) == '{' {
		documents = append(documents, structured)
	}
	for _, list := range []string{"content", "contents"} {
		blocks, _ := rawjson.Get(result, list)
		for block := range rawjson.Elements(blocks) {
			raw, _ := rawjson.Get(block, "text")
			text, ok := rawjson.String(raw)
			if !ok {
				continue
			}
			if rawjson.Check([]byte(text)) == nil {
				documents = append(documents, []byte(text))
			}
			break
		}
	}
	return documents
}
