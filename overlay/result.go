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

// A listing describes lists in results of a tool that no outsider can add to at will: things with their ids and the
// names that people call them by.
type listing struct {
	items    path
	id, name path
}

// A Named is a thing in a directory.
type Named struct{ ID, Name string }

// maxNamed is how many things of one result count.
const maxNamed = 1024

// listing returns the description of the tool's lists, that of the first entry that has one.
func (t *Tool) listing() listing {
	if t != nil {
		if i := slices.IndexFunc(t.layers, func(d *definition) bool { return d.lists != nil }); i >= 0 {
			return *t.layers[i].lists
		}
	}
	return listing{}
}

// Directory returns the things that a result lists by id and name, where the tool is said to list such. A thing without
// either is left out.
func (t *Tool) Directory(result []byte) (all []Named) {
	of := t.listing()
	if of.items == nil {
		return nil
	}
	for _, document := range readable(result) {
		of.items.walk(document, "", func(_ string, item []byte) bool {
			n := Named{of.id.text(item), of.name.text(item)}
			if n.ID != "" && n.Name != "" {
				all = append(all, n)
			}
			return len(all) < maxNamed
		})
	}
	return all
}
