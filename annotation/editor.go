package annotation

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// An editor is an object of annotations that is being changed. The first error stops it.
type editor struct {
	raw     []byte
	changed bool
	err     error
}

// A text is a member and its value as JSON; the value is nil if it is not known, or if the vocabulary has no word for
// it.
type text struct {
	name  string
	value []byte
	known bool
}

// mute reports whether the value is known, and there is no word for it.
func (t text) mute() bool { return t.known && t.value == nil }

// edit returns the document with the object at the path changed by write, or the document itself if that changes
// nothing. The object is made if it is absent. A value in its place that is no object is a defect that nobody could
// read an annotation from, and gives way.
func edit(document []byte, write func(*editor), path ...string) ([]byte, error) {
	if rawjson.Kind(document) != '{' {
		return document, fmt.Errorf("document: %w", rawjson.ErrNotObject)
	}
	return rawjson.Edit(document, func(old []byte) ([]byte, error) {
		out := editorOf(old)
		write(out)
		if !out.changed {
			return nil, out.err
		}
		return out.raw, out.err
	}, path...)
}

// editorOf returns an editor of an object; of an empty one if it is none.
func editorOf(raw []byte) *editor {
	if rawjson.Kind(raw) != '{' {
		raw = []byte("{}")
	}
	return &editor{raw: raw}
}

// in changes the object that a member is, as [edit] does.
func (e *editor) in(name string, write func(*editor)) {
	if e.err != nil {
		return
	}
	old, _ := rawjson.Get(e.raw, name)
	inner := editorOf(old)
	write(inner)
	if e.err = inner.err; e.err == nil && inner.changed {
		e.set(name, inner.raw)
	}
}

// has reports whether there is a member that is an object.
func (e *editor) has(name string) bool {
	value, ok := rawjson.Get(e.raw, name)
	return ok && rawjson.Kind(value) == '{'
}

// read returns the object as it is now for reading. Its defects were reported when the document was read.
func (e *editor) read() *object { return &object{raw: e.raw, found: new(defects)} }

// set replaces or adds a member.
func (e *editor) set(name string, value []byte) {
	if e.err != nil {
		return
	}
	raw, err := rawjson.Set(e.raw, value, name)
	if err != nil {
		e.err = err
		return
	}
	e.raw, e.changed = raw, true
}

// hint writes a hint that is known.
func (e *editor) hint(name string, h contract.Hint) {
	value := []byte("false")
	switch h {
	case contract.Unknown:
		return
	case contract.Yes:
		value = []byte("true")
	}
	if old, _ := rawjson.Get(e.raw, name); !bytes.Equal(old, value) {
		e.set(name, value)
	}
}

// raise makes a hint true if yes, and else leaves it as it is.
func (e *editor) raise(name string, yes bool) {
	if yes {
		e.hint(name, contract.Yes)
	}
}

// union adds strings to a member that is an array of strings. They go first, so that a reader with a limit takes them
// before the older members. A member that is something else gives way.
func (e *editor) union(name string, more label.Set[string]) {
	if more.Len() == 0 {
		return
	}
	old, _ := rawjson.Get(e.raw, name)
	there, usable := []string(nil), rawjson.Kind(old) == '['
	var texts [][]byte
	for element := range rawjson.Elements(old) {
		s, ok := rawjson.String(element)
		usable = usable && ok
		if more.Has(s) {
			there = append(there, s)
		}
		texts = append(texts, element)
	}
	if !usable {
		there, texts = nil, nil
	}
	more = more.Without(label.SetOf(there...))
	if usable && more.Len() == 0 {
		return
	}
	var added [][]byte
	for s := range more.All() {
		added = append(added, rawjson.Quote(s))
	}
	e.set(name, array(slices.Concat(added, texts)))
}

// members writes an object of which every member is required. If it is there, its members that are known and no longer
// say the same are replaced one by one, and others are kept. If it is not, it is written only if all are known. An
// object of which a member has no word any more says nothing at all: part of it could promise too much, and would break
// the schema.
func (e *editor) members(name string, old, now []text) {
	raw, _ := rawjson.Get(e.raw, name)
	if slices.ContainsFunc(now, text.mute) {
		if e.has(name) {
			names := []string{}
			for _, t := range now {
				names = append(names, t.name)
			}
			e.empty(name, names...)
		}
		return
	}
	if rawjson.Kind(raw) != '{' {
		if slices.ContainsFunc(now, func(t text) bool { return t.value == nil }) {
			return
		}
		raw, old = []byte("{}"), make([]text, len(now))
	}
	inner := &editor{raw: raw}
	for i, t := range now {
		if t.value != nil && !bytes.Equal(t.value, old[i].value) {
			inner.set(t.name, t.value)
		}
	}
	if e.err = cmp.Or(e.err, inner.err); inner.changed {
		e.set(name, inner.raw)
	}
}

// known writes a member whose text is known and no longer the old one.
func (e *editor) known(name string, old, now []byte) {
	if now != nil && !bytes.Equal(old, now) {
		e.set(name, now)
	}
}

// word writes a member that is a string.
func (e *editor) word(name, value string) {
	if raw, _ := rawjson.Get(e.raw, name); rawjson.Kind(raw) == '"' {
		if old, ok := rawjson.String(raw); ok && old == value {
			return
		}
	}
	e.set(name, rawjson.Quote(value))
}

// empty removes members of an object, and the object if that was all of it.
func (e *editor) empty(name string, members ...string) {
	e.in(name, func(inner *editor) { inner.drop(members...) })
	raw, _ := rawjson.Get(e.raw, name)
	for range rawjson.Members(raw) {
		return
	}
	e.drop(name)
}

// holds reports whether a member is an object that has the other.
func (e *editor) holds(name, member string) bool {
	_, ok := rawjson.Get(e.raw, name, member)
	return ok
}

// drop removes members.
func (e *editor) drop(names ...string) {
	for _, name := range names {
		if less := rawjson.Delete(e.raw, name); len(less) != len(e.raw) {
			e.raw, e.changed = less, true
		}
	}
}

// oneOrMore returns the only text, or an array of them; nil if there is none.
func oneOrMore(texts [][]byte) []byte {
	switch len(texts) {
	case 0:
		return nil
	case 1:
		return texts[0]
	}
	return array(texts)
}

// array returns a JSON array of the texts.
func array(texts [][]byte) []byte {
	return slices.Concat([]byte{'['}, bytes.Join(texts, []byte{','}), []byte{']'})
}
