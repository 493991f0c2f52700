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

// handles finds handles in a string. A pointer ends at the first ]].
var handles = pattern.New(`\[\[(w[0-9]{5})(?:#(/.*?)?)?\]\]`)

// MaxExpanded is how long the parts for which the handles of arguments stand may be together, in bytes.
const MaxExpanded = 16 << 20

// maxHandles bounds the handles in one document.
const maxHandles = 256

// errHandle ends a search for handles.
var errHandle = errors.New("there is a handle")

// HasHandles reports whether the strings of a JSON document hold handles, of values that are kept or not.
func HasHandles(doc json.RawMessage) bool {
	e := expander{part: func(handle) (json.RawMessage, *Value, error) { return nil, nil, errHandle }}
	_, err := e.value(doc)
	return err != nil
}

// FindHandle returns the name in the first handle of a text and the line in which it stands; "" if there is none.
func FindHandle(text string) (name string, line int) {
	at := handles().FindStringSubmatchIndex(text)
	if at == nil {
		return "", 0
	}
	return text[at[2]:at[3]], 1 + strings.Count(text[:at[0]], "\n")
}

// A Filling is the hidden values that a JSON document holds or depends on.
type Filling struct {
	Uses   []Value // without their answers, if they come from a program
	Places []Place // where the document holds them

	// Run is for whoever expands, who counts how many calls with values went in a row; 0: nobody counts.
	Run int
}

// A Place is where a JSON document holds a hidden value, or a part of one.
type Place struct {
	At    string `json:"at"`    // JSON pointer to a value of the document
	Value string `json:"value"` // ID of the hidden value
	Whole bool   `json:"whole"` // there is nothing else at this place
}

// Errors of handles that follow from the arguments and from the shapes that the agent was told.
var (
	ErrHandles = fmt.Errorf("there are more than %d handles", maxHandles)
	ErrShape   = errors.New("the pointer selects nothing in it, as its shape tells")
)

// Expand replaces the handles in the strings of a JSON document by the parts of values of spaces, and returns the
// values that it took. A document without handles stays as it is. Names of members are left alone.
//
// An expansion tells whether there are such parts, and whether they are too long. Where that does not follow from the
// document and the shapes that the agent was told ([Value.Output]), spend is called before any part is read, and there
// is no expansion if it fails.
func (v *Vault) Expand(ctx context.Context, doc json.RawMessage, spend func() error, keys ...Space) (json.RawMessage, Filling, error) {
	if !strings.Contains(string(doc), "[[w") && !strings.Contains(string(doc), `\u`) {
		return doc, Filling{}, nil
	}
	before := foresight{
		get:    func(name string) (Value, error) { return v.Get(ctx, name, keys...) },
		most:   int(v.limits.Value),
		values: map[string]*Value{},
	}
	first := expander{part: before.part}
	if _, err := first.value(doc); err != nil {
		return nil, Filling{}, err
	}
	if len(first.Uses) == 0 {
		return doc, Filling{}, nil
	}
	if before.unsure || before.length > MaxExpanded || before.search > maxSearched {
		if err := spend(); err != nil {
			return nil, Filling{}, err
		}
	}
	r := reader{values: before.values, left: MaxExpanded, selector: selector{search: maxSearched}, docs: map[string]json.RawMessage{}}
	e := expander{part: r.part}
	out, err := e.value(doc)
	if err != nil {
		return nil, Filling{}, err
	}
	return out, e.Filling, nil
}

// An expander expands one document.
type expander struct {
	part func(handle) (json.RawMessage, *Value, error) // for which a handle stands
	path []string
	Filling
}

// A handle stands for a value, or a part of one.
type handle struct {
	said, name string
	pointer    string
	whole      bool // there is no pointer: it stands for the text
}

// A foresight is as much of the end of an expansion as the agent can know.
type foresight struct {
	get    func(name string) (Value, error)
	most   int // bytes of any value
	values map[string]*Value
	unsure bool
	length int // bytes of the parts at most
	search int // bytes that are searched for them at most, if it is not unsure
	count  int
}

func (f *foresight) part(h handle) (json.RawMessage, *Value, error) {
	if f.count++; f.count > maxHandles {
		return nil, nil, ErrHandles
	}
	v := f.values[h.name]
	if v == nil {
		got, err := f.get(h.name)
		if err != nil {
			return nil, nil, err
		}
		v = &got
		f.values[h.name] = v
	}
	there, length := toldOf(v, h)
	switch {
	case there == absent:
		return nil, nil, fmt.Errorf("handle %.80q: %w", h.said, ErrShape)
	case length < 0:
		length = f.most
	}
	f.unsure = f.unsure || there == unknown
	f.length += length
	f.search += f.most * strings.Count(h.pointer, "/")
	return json.RawMessage("null"), v, nil
}

// A reader reads the parts of values for handles.
type reader struct {
	values   map[string]*Value
	left     int                        // bytes that may still be added
	docs     map[string]json.RawMessage // documents of values by name
	selector selector                   // in these
}

func (r *reader) part(h handle) (part json.RawMessage, v *Value, err error) {
	v = r.values[h.name]
	if h.whole {
		part = rawjson.Quote(v.Text())
	} else {
		doc, read := r.docs[h.name]
		if !read {
			doc = v.Document()
			r.docs[h.name] = doc
		}
		if part, err = r.selector.part(doc, h.pointer); err != nil {
			return nil, nil, fmt.Errorf("handle %.80q: %w", h.said, err)
		}
	}
	if r.left -= len(textOf(part)); r.left < 0 {
		return nil, nil, errExpanded
	}
	return part, v, nil
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
	found := handles().FindAllStringSubmatchIndex(s, -1)
	if len(found) == 0 {
		return raw, nil
	}
	var b strings.Builder
	end := 0
	for _, at := range found {
		h := handle{said: s[at[0]:at[1]], name: s[at[2]:at[3]], whole: at[4] < 0}
		if !h.whole {
			h.pointer = s[at[4]:at[5]]
		}
		part, v, err := e.part(h)
		if err != nil {
			return nil, err
		}
		alone := h.said == s
		e.Uses = append(e.Uses, *v)
		e.Places = append(e.Places, Place{rawjson.Pointer(e.path...), v.ID, alone})
		if alone && !h.whole {
			return part, nil
		}
		b.WriteString(s[end:at[0]])
		b.WriteString(textOf(part))
		end = at[1]
	}
	b.WriteString(s[end:])
	return rawjson.Quote(b.String()), nil
}
