package hostfile

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// applied returns the value of a file after the change, for comparison: the same as before but for the list. Entries
// that come back are taken from the earlier text.
func (c *Change) applied(before any) any {
	put := map[string]any{}
	for _, e := range c.Put {
		put[e.Name] = valueOf(e.Value)
	}
	return c.rewritten(before, c.List, put)
}

// valueOf returns the value of a JSON text.
func valueOf(text []byte) any {
	v, _ := decodeJSON(text)
	return v
}

// rewritten copies the members that lead to the list, and changes the list.
func (c *Change) rewritten(v any, path []string, put map[string]any) any {
	if len(path) > 0 {
		object, _ := v.(map[string]any)
		fresh := maps.Clone(object)
		if fresh == nil {
			fresh = map[string]any{}
		}
		fresh[path[0]] = c.rewritten(object[path[0]], path[1:], put)
		return fresh
	}
	if array, ok := v.([]any); ok {
		return c.rewrittenArray(array, put)
	}
	object, _ := v.(map[string]any)
	fresh := map[string]any{}
	for name, value := range object {
		if !c.goes(name) {
			fresh[name] = value
		}
	}
	maps.Copy(fresh, put)
	maps.Copy(fresh, c.returned)
	return fresh
}

// rewrittenArray leaves the order of elements to the comparison, which sorts them.
func (c *Change) rewrittenArray(array []any, put map[string]any) any {
	fresh := slices.DeleteFunc(slices.Clone(array), func(v any) bool { return c.goes(nameOf(v)) })
	for name, v := range put {
		if object, ok := v.(map[string]any); ok {
			object["name"] = name
		}
		fresh = append(fresh, v)
	}
	return slices.AppendSeq(fresh, maps.Values(c.returned))
}

// sameBut reports whether files have the same value, but for the order of the elements of a list.
func sameBut(list []string, a, b any) bool {
	sortElements(at(a, list))
	sortElements(at(b, list))
	return reflect.DeepEqual(a, b)
}

func sortElements(v any) {
	if array, ok := v.([]any); ok {
		slices.SortFunc(array, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
	}
}
