package overlay

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/rawjson"
)

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

// lists reads the description of lists in results.
func (l *loader) lists(d *definition, member document.Member) {
	m, ok := l.Members(member.Value, "lists", []string{"items", "id", "name"})
	if !ok {
		return
	}
	d.lists = &listing{}
	for _, part := range []struct {
		name string
		root bool
		to   *path
	}{{"items", true, &d.lists.items}, {"id", false, &d.lists.id}, {"name", false, &d.lists.name}} {
		field, ok := m[part.name]
		if !ok {
			l.Complain(document.At(member.Value), "write items, id and name", "lists has no %s", part.name)
			return
		}
		s := l.Text(field)
		p, err := parsePath(s.Value, part.root)
		if s.Present() && err != nil {
			l.Complain(s.At, "write items as $.channels[*], id and name as a or a.b", "bad path: %v", err)
		}
		*part.to = p
	}
}

// listing returns the description of the tool's lists, that of the first entry that has one.
func (t *Tool) listing() listing {
	if t != nil {
		if i := slices.IndexFunc(t.layers, func(d *definition) bool { return d.lists != nil }); i >= 0 {
			return *t.layers[i].lists
		}
	}
	return listing{}
}

// Directory returns the things that a result lists by id and name, where the tool is said to list such. A thing without either is left out.
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

// text returns the only text or number that the path leads to; "" if there is none.
func (p path) text(value []byte) (text string) {
	p.walk(value, "", func(_ string, v []byte) bool {
		if s, ok := rawjson.String(v); ok {
			text = s
		} else if rawjson.Kind(v) == '0' {
			text = strings.TrimSpace(string(v))
		}
		return false
	})
	return text
}
