package hostfile

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/weir-mcp/weir/internal/hosts"
)

// An Element is one element of an array in a JSON file.
type Element struct {
	Array []string // the members that lead to the array
	Value []byte   // JSON
}

// Elements returns the elements of an array; none if it is not there.
func Elements(f hosts.Format, src []byte, array []string) (all []Element, err error) {
	root, err := decode(f, src)
	if err != nil {
		return nil, err
	}
	switch v := at(root, array).(type) {
	case nil:
	case []any:
		for _, e := range v {
			text, err := json.Marshal(e)
			if err != nil {
				return nil, &Error{Msg: strings.Join(array, ".") + " has a value that cannot be read"}
			}
			all = append(all, Element{array, text})
		}
	default:
		return nil, &Error{Msg: strings.Join(array, ".") + " must be a list"}
	}
	return all, nil
}

// Append returns a JSON text with elements at the ends of their arrays, which are made where there are none.
func Append(f hosts.Format, src []byte, elements []Element) ([]byte, error) {
	return edited(f, src, elements, func(root *hujson.Value, e Element) error { return appendTo(root, e, newlineOf(src)) },
		func(old []any, e Element) []any { return append(slices.Clone(old), valueOf(e.Value)) })
}

// Without returns a JSON text without elements of the same meaning. Arrays, and the members that lead to them, go too
// if they are empty then, and an earlier text of the file, nil for none, has none of them.
func Without(f hosts.Format, src, earlier []byte, elements []Element) ([]byte, error) {
	out, err := edited(f, src, elements, removeFrom, func(old []any, e Element) []any {
		gone := valueOf(e.Value)
		return slices.DeleteFunc(slices.Clone(old), func(v any) bool { return reflect.DeepEqual(v, gone) })
	})
	if err != nil {
		return nil, err
	}
	had := any(nil)
	if earlier != nil {
		if had, err = decode(f, earlier); err != nil {
			return nil, err
		}
	}
	for _, e := range elements {
		for n := len(e.Array); n > 0; n-- {
			now, err := decode(f, out)
			if err != nil {
				return nil, err
			}
			if path := e.Array[:n]; at(had, path) == nil && isEmpty(at(now, path)) {
				if out, err = Replace(f, out, Change{List: path[:n-1], Remove: path[n-1:]}); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// edited edits a text by one element after another. The new text has the old meaning, with each array changed by
// meaning.
func edited(
	f hosts.Format, src []byte, elements []Element, edit func(*hujson.Value, Element) error, meaning func([]any, Element) []any,
) ([]byte, error) {
	if f != hosts.JSON && f != hosts.JSONC {
		return nil, &Error{Msg: "arrays of files of this format are not edited here", Hint: "change the file by hand"}
	}
	want, err := decode(f, src)
	if err != nil {
		return nil, err
	}
	bom := src[:len(src)-len(bytes.TrimPrefix(src, byteOrderMark))]
	root, err := hujson.Parse(src[len(bom):])
	if err != nil {
		return nil, &Error{Msg: "not JSON"}
	}
	for _, e := range elements {
		if want, err = changed(want, e.Array, e, meaning); err != nil {
			return nil, err
		}
		if err := edit(&root, e); err != nil {
			return nil, err
		}
	}
	out := slices.Concat(bom, root.Pack())
	if after, err := decode(f, out); err == nil && reflect.DeepEqual(after, want) {
		return out, nil
	}
	return nil, &Error{Msg: "the file is written in a way that cannot be edited here", Hint: "change the file by hand"}
}

// changed returns the meaning of a file with one of its arrays changed.
func changed(v any, path []string, e Element, meaning func([]any, Element) []any) (any, error) {
	if len(path) == 0 {
		array, ok := v.([]any)
		if v != nil && !ok {
			return nil, &Error{Msg: strings.Join(e.Array, ".") + " must be a list"}
		}
		if fresh := meaning(array, e); v != nil || len(fresh) > 0 {
			return fresh, nil
		}
		return nil, nil
	}
	object, ok := v.(map[string]any)
	if v != nil && !ok {
		return nil, &Error{Msg: strings.Join(e.Array, ".") + " leads to something else than a list"}
	}
	inner, err := changed(object[path[0]], path[1:], e, meaning)
	if err != nil || inner == nil && object[path[0]] == nil {
		return v, err
	}
	fresh := map[string]any{path[0]: inner}
	for name, value := range object {
		if name != path[0] {
			fresh[name] = value
		}
	}
	return fresh, nil
}

// appendTo puts an element at the end of its array.
func appendTo(root *hujson.Value, e Element, newline string) error {
	around, ok := root.Value.(*hujson.Object)
	for i, name := range e.Array {
		if !ok {
			return &Error{Msg: strings.Join(e.Array, ".") + " leads to something else than a list"}
		}
		at := slices.IndexFunc(around.Members, func(m hujson.ObjectMember) bool { return memberName(m) == name })
		if at < 0 {
			value := slices.Concat([]byte("["), e.Value, []byte("]"))
			for j := len(e.Array) - 1; j > i; j-- {
				value = slices.Concat([]byte("{"), hujson.String(e.Array[j]), []byte(":"), value, []byte("}"))
			}
			edit := objectEdit{object: around, newline: newline}
			m, err := edit.member(Entry{name, value}, edit.lead(nil))
			if err == nil {
				edit.rebuild(&Change{}, []hujson.ObjectMember{m})
			}
			return err
		}
		if i < len(e.Array)-1 {
			around, ok = around.Members[at].Value.Value.(*hujson.Object)
			continue
		}
		array, isArray := around.Members[at].Value.Value.(*hujson.Array)
		if !isArray {
			return &Error{Msg: strings.Join(e.Array, ".") + " must be a list"}
		}
		return appendElement(array, e.Value, newline)
	}
	return nil
}

// appendElement puts a value at the end of an array, on lines of its own if the elements before stand so.
func appendElement(array *hujson.Array, value []byte, newline string) error {
	lead, trailing := "", false
	if n := len(array.Elements); n > 0 {
		lead, trailing = spaceOf(array.Elements[0].BeforeExtra), array.Elements[n-1].AfterExtra != nil
	}
	if i := strings.LastIndexByte(lead, '\n'); i >= 0 {
		var b bytes.Buffer
		if err := json.Indent(&b, value, lead[i+1:], "  "); err != nil {
			return &Error{Msg: "not JSON"}
		}
		value = bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte(newline))
	}
	fresh, err := hujson.Parse(value)
	if err != nil {
		return &Error{Msg: "not JSON"}
	}
	fresh.BeforeExtra, fresh.AfterExtra = hujson.Extra(lead), nil
	if trailing {
		fresh.AfterExtra = hujson.Extra{}
	}
	array.Elements = append(array.Elements, fresh)
	return nil
}

// removeFrom takes every element of the same meaning out of its array.
func removeFrom(root *hujson.Value, e Element) error {
	found := root.Find(pointer(e.Array))
	if found == nil {
		return nil
	}
	array, ok := found.Value.(*hujson.Array)
	if !ok {
		return &Error{Msg: strings.Join(e.Array, ".") + " must be a list"}
	}
	trailing := len(array.Elements) > 0 && array.Elements[len(array.Elements)-1].AfterExtra != nil
	gone := valueOf(e.Value)
	array.Elements = slices.DeleteFunc(array.Elements, func(v hujson.Value) bool {
		return reflect.DeepEqual(valueOf(Standard(v.Pack())), gone)
	})
	if len(array.Elements) == 0 {
		return nil
	}
	switch last := &array.Elements[len(array.Elements)-1]; {
	case !trailing:
		array.AfterExtra, last.AfterExtra = slices.Concat(last.AfterExtra, array.AfterExtra), nil
	case last.AfterExtra == nil:
		last.AfterExtra = hujson.Extra{}
	}
	return nil
}

// pointer returns members as a JSON Pointer.
func pointer(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}
