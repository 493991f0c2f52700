package inputschema

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// inPlace are the keywords whose schemas apply to the very value that theirs does.
var inPlace = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}

// Bounds of the cost of a check.
const (
	maxExpansion = 4096    // schemas that apply to one value
	maxCost      = 1 << 20 // schemas that are applied in one check, about
	maxDepth     = 64      // of references that lead to references
)

// A cost bounds the work of a check: at most so many schemas apply to one value.
type cost struct{ perValue int }

var (
	errEndless = errors.New("it refers to itself without end")
	errCostly  = errors.New("too many schemas apply to one value")
	errForeign = errors.New("it refers to something outside of itself, or in a way that is not known")
)

// costOf walks all of a schema.
func costOf(root any) (c cost, err error) {
	var walk func(v any, depth int) error
	walk = func(v any, depth int) error {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range []string{"$dynamicRef", "$recursiveRef"} {
				if _, ok := v[name]; ok {
					return errForeign
				}
			}
			n, err := expansion(root, v, 0)
			if err != nil {
				return err
			}
			c.perValue = max(c.perValue, n)
			for _, inner := range v {
				if err := walk(inner, depth+1); err != nil {
					return err
				}
			}
		case []any:
			for _, inner := range v {
				if err := walk(inner, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c, walk(root, 0)
}

// expansion returns how many schemas apply to a value to which one does.
func expansion(root any, schema map[string]any, depth int) (n int, err error) {
	if depth > maxDepth {
		return 0, errEndless
	}
	n = 1
	if ref, ok := schema["$ref"].(string); ok {
		target, ok := follow(root, ref)
		if !ok {
			return 0, errForeign
		}
		if inner, ok := target.(map[string]any); ok {
			m, err := expansion(root, inner, depth+1)
			if err != nil {
				return 0, err
			}
			n += m
		}
	}
	for _, name := range inPlace {
		for _, inner := range under(schema[name]) {
			m, err := expansion(root, inner, depth+1)
			if err != nil {
				return 0, err
			}
			if n += m; n > maxExpansion {
				return 0, errCostly
			}
		}
	}
	return n, nil
}

// under returns the schemas in the value of a keyword.
func under(v any) (all []map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		if isSchemas(v) {
			for _, inner := range v {
				if m, ok := inner.(map[string]any); ok {
					all = append(all, m)
				}
			}
		}
		all = append(all, v)
	case []any:
		for _, inner := range v {
			if m, ok := inner.(map[string]any); ok {
				all = append(all, m)
			}
		}
	}
	return all
}

// isSchemas reports whether an object may be one of schemas by name, as dependentSchemas is: no keyword is in it.
func isSchemas(v map[string]any) bool {
	for _, inner := range v {
		if _, ok := inner.(map[string]any); !ok {
			return false
		}
	}
	return len(v) > 0
}

// follow returns the target of a reference inside of the schema.
func follow(root any, ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || strings.Contains(pointer, "%") || pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	at := root
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch v := at.(type) {
		case map[string]any:
			if at, ok = v[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// bears reports whether a check of the value is cheap enough: schemas that apply to a value branch once more at each
// level.
func (c cost) bears(value any) bool {
	total := 1
	for range depthOf(value, 0) {
		if total *= max(c.perValue, 1); total > maxCost {
			return false
		}
	}
	return true
}

func depthOf(value any, depth int) int {
	deepest := depth
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			deepest = max(deepest, depthOf(inner, depth+1))
		}
	case []any:
		for _, inner := range v {
			deepest = max(deepest, depthOf(inner, depth+1))
		}
	}
	return deepest
}

// A walker looks for members that a schema does not name.
type walker struct {
	root  any
	found *Finding
}

// look walks a value to which the schemas apply, all or any of them.
func (w *walker) look(schemas []any, value any, path string, depth int) {
	if depth > maxDepth {
		w.violates("the arguments are nested too deep to be checked")
		return
	}
	all := w.expand(schemas)
	switch v := value.(type) {
	case map[string]any:
		w.object(all, v, path, depth)
	case []any:
		for i, element := range v {
			w.look(elementSchemas(all, i), element, path+"["+strconv.Itoa(i)+"]", depth+1)
		}
	}
}

func (w *walker) violates(why string) {
	if w.found.Violates == "" {
		w.found.Violates = why
	}
}

// expand returns the schemas and those that apply in the same place.
func (w *walker) expand(schemas []any) (all []map[string]any) {
	for _, s := range schemas {
		m, ok := s.(map[string]any)
		if !ok || len(all) > maxExpansion {
			continue
		}
		all = append(all, m)
		var more []any
		if ref, ok := m["$ref"].(string); ok {
			if target, ok := follow(w.root, ref); ok {
				more = append(more, target)
			}
		}
		for _, name := range inPlace {
			for _, inner := range under(m[name]) {
				more = append(more, inner)
			}
		}
		all = append(all, w.expand(more)...)
	}
	return all
}

// object looks at the names of an object's members.
func (w *walker) object(schemas []map[string]any, object map[string]any, path string, depth int) {
	declared, folds := map[string][]any{}, map[string]int{}
	for _, s := range schemas {
		properties, _ := s["properties"].(map[string]any)
		for name, inner := range properties {
			declared[name] = append(declared[name], inner)
		}
	}
	for name := range declared {
		if _, there := object[name]; !there {
			folds[rawjson.Fold(name)]++
		}
	}
	seen := map[string]bool{}
	for name := range object {
		fold := rawjson.Fold(name)
		if seen[fold] {
			w.violates("members of the arguments differ in nothing but case")
			w.found.Ambiguous = w.found.Ambiguous || len(declared) > 0
		}
		seen[fold] = true
	}
	for name, value := range object {
		inner, ok := declared[name]
		if !ok {
			w.found.Undeclared = append(w.found.Undeclared, name)
			if depth == 0 || len(declared) > 0 {
				w.found.Beside = append(w.found.Beside, strings.TrimPrefix(path+"."+name, "."))
			}
			var open bool
			if inner, open = others(schemas, name); !open && len(declared) > 0 || folds[rawjson.Fold(name)] > 0 {
				w.violates("the arguments have a member that the input schema does not name")
			}
		}
		w.look(inner, value, strings.TrimPrefix(path+"."+name, "."), depth+1)
	}
}

// others returns the schemas of a member that properties does not name, and whether the schema expects such members.
func others(schemas []map[string]any, name string) (inner []any, open bool) {
	for _, s := range schemas {
		patterns, _ := s["patternProperties"].(map[string]any)
		for pattern, schema := range patterns {
			if ok, err := regexp.MatchString(pattern, name); err == nil && ok {
				inner, open = append(inner, schema), true
			}
		}
		switch more := s["additionalProperties"].(type) {
		case bool:
			open = open || more
		case map[string]any:
			inner, open = append(inner, more), true
		}
	}
	return inner, open
}

// elementSchemas returns the schemas of an element of an array.
func elementSchemas(schemas []map[string]any, i int) (inner []any) {
	for _, s := range schemas {
		for _, name := range []string{"prefixItems", "items"} {
			switch items := s[name].(type) {
			case []any:
				if i < len(items) {
					inner = append(inner, items[i])
				}
			case map[string]any:
				inner = append(inner, items)
			}
		}
		if contains, ok := s["contains"].(map[string]any); ok {
			inner = append(inner, contains)
		}
	}
	return inner
}
