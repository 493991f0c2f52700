package vault

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// A presence is whether an agent knows of a part that it is there.
type presence int

const (
	unknown presence = iota
	present
	absent
)

// toldOf returns whether the agent knows that a handle stands for a part of a value, or for none, and how many bytes it
// has at most, -1 if it does not know. It goes by nothing but the shape that the agent was told.
func toldOf(v *Value, h handle) (there presence, length int) {
	switch {
	case h.whole && v.Output == nil:
		return present, -1
	case h.whole:
		return present, len(v.Text())
	case v.Output == nil || v.Error != nil:
		return unknown, -1
	}
	doc, schema := v.Document(), v.Output
	s := shaper{}
	if s.add(doc, schema, "", 0); len(s.lines) > maxShapeLines {
		return unknown, -1
	}
	depth := 0
	for name := range strings.SplitSeq(h.pointer[1:], "/") {
		if depth++; depth > maxShapeDepth || doc == nil {
			return unknown, -1
		}
		if doc, schema, there = foretold(doc, schema, unescape.Replace(name)); there != present {
			return there, -1
		}
	}
	if doc == nil || compound(doc) {
		return present, -1
	}
	return present, max(len(textOf(doc)), maxDigits)
}

// foretold returns whether the shape of a value tells that there is a member or an element of a name, and it with its
// schema. It is nil where the shape tells nothing else of it.
func foretold(doc, schema json.RawMessage, name string) (inner, its json.RawMessage, there presence) {
	switch rawjson.Kind(doc) {
	case '{':
		properties, _ := rawjson.Get(schema, "properties")
		its, declared := rawjson.Get(properties, name)
		inner, ok := rawjson.Get(doc, name)
		switch {
		case declared && ok:
			return inner, its, present
		case hides(doc, properties, declared):
			return nil, nil, unknown
		}
		return nil, nil, absent
	case '[':
		n, err := strconv.Atoi(name)
		if err != nil || n < 0 || strconv.Itoa(n) != name {
			return nil, nil, absent
		}
		inner, ok := child(doc, name)
		if !ok {
			return nil, nil, absent
		}
		if n > 0 {
			return nil, nil, present
		}
		its, _ = rawjson.Get(schema, "items")
		return inner, its, present
	case '"':
		return nil, nil, unknown
	}
	return nil, nil, absent
}

// hides reports whether an object may have a member of which its shape does not tell: one whose name is not declared,
// as the name that is meant may be, or one in the only text that it has.
func hides(doc, properties json.RawMessage, declared bool) bool {
	n, others, text := 0, false, false
	for name, value := range rawjson.Members(doc) {
		n++
		_, ok := rawjson.Get(properties, name)
		others, text = others || !ok, rawjson.Kind(value) == '"'
	}
	return others && !declared || n == 1 && (others || text)
}
