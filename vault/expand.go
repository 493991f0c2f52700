package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Pattern is the regular expression of a string that is one handle, as JSON Schema has it.
const Pattern = `^\[\[w[0-9]{5}(#(/.*)?)?\]\]$`

// handle finds handles in a string. A pointer ends at the first ]].
var handle = pattern.New(`\[\[(w[0-9]{5})(?:#(/.*?)?)?\]\]`)

// MaxExpanded is how long arguments may get by their handles, in bytes.
const MaxExpanded = 16 << 20

// maxHandles bounds the handles in one document.
const maxHandles = 256

// errHandle ends a search for handles.
var errHandle = errors.New("there is a handle")

// HasHandles reports whether the strings of a JSON document hold handles, of values that are kept or not.
func HasHandles(doc json.RawMessage) bool {
	e := expander{get: func(string) (Value, error) { return Value{}, errHandle }}
	_, err := e.value(doc)
	return err != nil
}

// FindHandle returns the name in the first handle of a text and the line in which it stands; "" if there is none.
func FindHandle(text string) (name string, line int) {
	at := handle().FindStringSubmatchIndex(text)
	if at == nil {
		return "", 0
	}
	return text[at[2]:at[3]], 1 + strings.Count(text[:at[0]], "\n")
}

// A Filling is the hidden values that a JSON document holds or depends on.
type Filling struct {
	Uses   []Value // without their answers, if they come from a program
	Places []Place // where the document holds them
}

// A Place is where a JSON document holds a hidden value, or a part of one.
type Place struct {
	At    string `json:"at"`    // JSON pointer to a value of the document
	Value string `json:"value"` // ID of the hidden value
	Whole bool   `json:"whole"` // there is nothing else at this place
}

// Expand replaces the handles in the strings of a JSON document by the parts of values of spaces, and returns the
// values that it took. A document without handles stays as it is. Names of members are left alone.
func (v *Vault) Expand(ctx context.Context, doc json.RawMessage, keys ...Space) (json.RawMessage, Filling, error) {
	if !strings.Contains(string(doc), "[[w") && !strings.Contains(string(doc), `\u`) {
		return doc, Filling{}, nil
	}
	e := expander{
		get:  func(name string) (Value, error) { return v.Get(ctx, name, keys...) },
		left: MaxExpanded, selector: selector{search: maxSearched}, docs: map[string]json.RawMessage{},
	}
	out, err := e.value(doc)
	if err != nil {
		return nil, Filling{}, err
	}
	if len(e.Uses) == 0 {
		return doc, Filling{}, nil
	}
	return out, e.Filling, nil
}

// An expander expands one document.
type expander struct {
	get  func(name string) (Value, error)
	left int // bytes that may still be added
	path []string
	Filling

	docs     map[string]json.RawMessage // documents of values by name
	selector selector                   // in these
}

// value returns a JSON value with its handles expanded.
func (e *expander) value(raw json.RawMessage) (json.RawMessage, error) {
	switch rawjson.Kind(raw) {
	case '"':
		return e.text(raw)
	case '{':
		out, n := []byte{'{'}, 0
		for name, inner := range rawjson.Members(raw) {
			inner, err := e.below(name, inner)
			if err != nil {
				return nil, err
			}
			if n++; n > 1 {
				out = append(out, ',')
			}
			out = append(append(rawjson.AppendQuote(out, name), ':'), inner...)
		}
		return append(out, '}'), nil
	case '[':
		out, n := []byte{'['}, 0
		for inner := range rawjson.Elements(raw) {
			inner, err := e.below(strconv.Itoa(n), inner)
			if err != nil {
				return nil, err
			}
			if n++; n > 1 {
				out = append(out, ',')
			}
			out = append(out, inner...)
		}
		return append(out, ']'), nil
	}
	return raw, nil
}

// below returns a member or an element with its handles expanded.
func (e *expander) below(name string, inner json.RawMessage) (json.RawMessage, error) {
	e.path = append(e.path, name)
	out, err := e.value(inner)
	e.path = e.path[:len(e.path)-1]
	return out, err
}

// text expands the handles in a string.
func (e *expander) text(raw json.RawMessage) (json.RawMessage, error) {
	s, ok := rawjson.String(raw)
	if !ok {
		return raw, nil
	}
	found := handle().FindAllStringSubmatchIndex(s, -1)
	if len(found) == 0 {
		return raw, nil
	}
	var b strings.Builder
	end := 0
	for _, at := range found {
		part, isText, err := e.part(s, at)
		if err != nil {
			return nil, err
		}
		whole := at[0] == 0 && at[1] == len(s)
		e.Places = append(e.Places, Place{rawjson.Pointer(e.path...), e.Uses[len(e.Uses)-1].ID, whole})
		if whole && !isText {
			return part, nil
		}
		b.WriteString(s[end:at[0]])
		b.WriteString(textOf(part))
		end = at[1]
	}
	b.WriteString(s[end:])
	return rawjson.Quote(b.String()), nil
}

// part returns the JSON value for which a handle stands, and whether that is the text of a whole value.
func (e *expander) part(s string, at []int) (part json.RawMessage, isText bool, err error) {
	name, pointer := s[at[2]:at[3]], ""
	if len(e.Uses) >= maxHandles {
		return nil, false, errExpanded
	}
	v, err := e.get(name)
	if err != nil {
		return nil, false, err
	}
	if isText = at[4] < 0; isText {
		part = rawjson.Quote(v.Text())
	} else {
		pointer = s[at[4]:at[5]]
		doc, read := e.docs[name]
		if !read {
			doc = v.Document()
			e.docs[name] = doc
		}
		if part, err = e.selector.part(doc, pointer); err != nil {
			return nil, false, fmt.Errorf("handle %.80q: %w", s[at[0]:at[1]], err)
		}
	}
	if e.left -= len(part); e.left < 0 {
		return nil, false, errExpanded
	}
	e.Uses = append(e.Uses, v)
	return part, isText, nil
}
