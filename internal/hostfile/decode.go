package hostfile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/rawjson"
)

func decode(f hosts.Format, src []byte) (any, error) {
	src = bytes.TrimPrefix(src, byteOrderMark)
	read, ok := decoders[f]
	if !ok {
		return nil, &Error{Msg: "files of this format are not edited here", Hint: "change the file by hand"}
	}
	return read(src)
}

// at returns the value that members lead to; nil if there is none.
func at(root any, path []string) any {
	for _, name := range path {
		object, ok := root.(map[string]any)
		if !ok {
			return nil
		}
		root = object[name]
	}
	return root
}

// entriesOf returns the servers below a path: the members of an object, or the elements of an array by their name.
func entriesOf(root any, list []string) (entries []Entry, err error) {
	add := func(name string, v any) {
		var text []byte
		if text, err = json.Marshal(v); err == nil {
			entries = append(entries, Entry{name, text})
		}
	}
	switch v := at(root, list).(type) {
	case nil:
	case map[string]any:
		for _, name := range slices.Sorted(keys(v)) {
			if add(name, v[name]); err != nil {
				return nil, &Error{Msg: "a server has a value that cannot be read"}
			}
		}
	case []any:
		for _, e := range v {
			name := nameOf(e)
			if add(name, e); err != nil || name == "" {
				return nil, &Error{Msg: strings.Join(list, ".") + ": a server has no name", Hint: "give it one"}
			}
		}
	default:
		return nil, &Error{Msg: strings.Join(list, ".") + " must be a list of servers"}
	}
	return entries, nil
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// nameOf returns the name of a server in an array; "" if it has none.
func nameOf(v any) string {
	object, _ := v.(map[string]any)
	name, _ := object["name"].(string)
	return name
}

// decodeJSON reads strict JSON.
func decodeJSON(src []byte) (any, error) {
	if err := rawjson.Check(src); err != nil {
		return nil, syntaxError(src, err)
	}
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, &Error{Msg: "not JSON"}
	}
	return v, nil
}

// place returns the line and the column of an offset.
func place(src []byte, offset int) (line, col int) {
	before := src[:min(offset, len(src))]
	return 1 + bytes.Count(before, []byte("\n")), 1 + len(before) - (1 + bytes.LastIndexByte(before, '\n'))
}
