package annotation

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// organization is the labels that organisations make for themselves: members in reverse-DNS form, such as
// com.example/label, of the _meta and the annotations of tools and results. Their words mean something once an operator
// says so: see [NewReader]. The others are carried, and [Notes] lists them.
func organization() dialect {
	return dialect{id: "organization", readTool: readOrganizationTool, readResult: readOrganizationResult}
}

func readOrganizationTool(in places, c *contract.Contract) {
	classes := in.organization()
	if classes.Len() == 0 {
		return
	}
	if said, known := c.Returns.Known(); known {
		c.Returns = contract.Possible(said.Union(classes).Slice()...)
	}
	if classes.Has(label.Credentials) {
		c.Output.Secret = contract.Yes
	}
	if classes.Without(label.SetOf(label.User, label.Credentials)).Len() > 0 {
		c.Output.Sensitive = contract.Yes
	}
}

func readOrganizationResult(in places, c *reading) {
	c.Label = label.Join(c.Label, label.Label{Sensitivity: in.organization()})
}

// organization returns the classes of all labels that have a meaning.
func (in places) organization() label.Set[label.Class] {
	var classes []label.Class
	for _, name := range slices.Sorted(maps.Keys(in.meanings)) {
		for _, place := range []*object{in.meta, in.annotations} {
			if !place.has(name) {
				continue
			}
			items, _ := place.items(name)
			if len(items) == 0 {
				classes = append(classes, label.Unspecified)
			}
			for _, it := range items {
				classes = append(classes, meaning(in.meanings[name], it)...)
			}
		}
	}
	return label.SetOf(classes...)
}

// meaning returns the classes of one value. One without meaning is sensitive in an unspecified way.
func meaning(values map[string][]label.Class, it item) []label.Class {
	s, ok := rawjson.String(it.raw)
	if b, isBool := rawjson.Bool(it.raw); isBool {
		s, ok = strconv.FormatBool(b), true
	}
	if !ok {
		it.in.found.add(it.where(), isNot(it.raw, "a string or a boolean"))
	}
	if classes, means := values[s]; ok && means {
		return classes
	}
	return []label.Class{label.Unspecified}
}

// isReverseDNS reports whether a name has the form com.example/label.
func isReverseDNS(name string) bool {
	prefix, rest, ok := strings.Cut(name, "/")
	return ok && rest != "" && strings.Count(prefix, ".") > 0 && !strings.HasPrefix(prefix, ".") && !strings.HasSuffix(prefix, ".")
}
