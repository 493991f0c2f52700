package evaluate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// decoded reads arguments, with their numbers as they are written.
func decoded(args json.RawMessage) (doc any, err error) {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if err = d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("reading arguments: %w", err)
	}
	return doc, nil
}

// rewritten returns arguments with another value in the place of each that is neither an object nor a list.
func rewritten(args json.RawMessage, leaf func(any) (any, error)) (json.RawMessage, error) {
	doc, err := decoded(args)
	if err == nil {
		doc, err = replaced(doc, leaf)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

func replaced(v any, leaf func(any) (any, error)) (any, error) {
	var err error
	switch x := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if x[name], err = replaced(x[name], leaf); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range x {
			if x[i], err = replaced(x[i], leaf); err != nil {
				return nil, err
			}
		}
	default:
		return leaf(v)
	}
	return v, nil
}

// find returns the path to a value in a document, of steps in a notation. Objects and lists are no values here.
func find(doc any, notation func(step any) string, is func(any) bool) (string, bool) {
	switch x := doc.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if rest, ok := find(x[name], notation, is); ok {
				return notation(name) + rest, true
			}
		}
		return "", false
	case []any:
		for i := range x {
			if rest, ok := find(x[i], notation, is); ok {
				return notation(i) + rest, true
			}
		}
		return "", false
	}
	return "", is(doc)
}

// pointer is the notation of JSON pointers (RFC 6901).
func pointer(step any) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(step))
}

// selection is the notation of programs.
func selection(step any) string {
	if name, ok := step.(string); ok {
		return "[" + strconv.QuoteToASCII(name) + "]"
	}
	return fmt.Sprintf("[%d]", step)
}
