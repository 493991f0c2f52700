package annotation

import (
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// Limits on the parts of one document. SEP-1913 has none; a part beyond them is a defect.
const (
	maxDefects     = 32   // further ones are not reported
	maxElements    = 64   // of any array
	maxAttribution = 2048 // bytes of one URI
	maxScope       = 256  // bytes of one regulatory scope
	maxQuoted      = 64   // characters of the document quoted in a defect
)

// tooMany is the defect of an array with more than maxElements.
const tooMany = "has more than 64 elements"

// defects gathers the defects of one document.
type defects struct{ list []Defect }

// An object is a JSON object that is being read. A nil object has no members.
type object struct {
	raw   []byte
	where string // its path from the document
	found *defects

	indexed bool // whether only the members in the index are asked for
	members []text
}

// index finds the members of the given names in one scan. No others may be asked for afterwards.
func (o *object) index(names []string) {
	if o == nil {
		return
	}
	o.indexed, o.members = true, nil
	rawjson.Select(o.raw, names, func(name string, value []byte) bool {
		o.members = append(o.members, text{name: name, value: value})
		return true
	})
}

// add reports the defect at a path.
func (d *defects) add(where, reason string) {
	if len(d.list) < maxDefects {
		d.list = append(d.list, Defect{where, reason})
	}
}

// document returns the object that a document is, or nil and a defect.
func document(raw []byte, found *defects) *object { return asObject(raw, "", found) }

func asObject(raw []byte, where string, found *defects) *object {
	if rawjson.Kind(raw) != '{' {
		found.add(where, isNot(raw, "an object"))
		return nil
	}
	return &object{raw: raw, where: where, found: found}
}

// get returns a member.
func (o *object) get(name string) (value []byte, ok bool) {
	if o == nil {
		return nil, false
	}
	if !o.indexed {
		return rawjson.Get(o.raw, name)
	}
	for _, m := range o.members {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// has reports whether there is a member of that name.
func (o *object) has(name string) bool {
	_, ok := o.get(name)
	return ok
}

// object returns a member that should be an object; nil if it is absent or, which is a defect, something else.
func (o *object) object(name string) *object {
	value, ok := o.get(name)
	if !ok {
		return nil
	}
	return asObject(value, at(o.where, name), o.found)
}

// shape reports a defect for each of the required members that is missing, and for each member that is not among them.
func (o *object) shape(required ...string) {
	for _, name := range required {
		if !o.has(name) {
			o.found.add(at(o.where, name), "is missing")
		}
	}
	for name := range rawjson.Members(o.raw) {
		if !slices.Contains(required, name) {
			o.found.add(at(o.where, name), "is not a known member")
		}
	}
}

// An item is one value of a member that may be a value or an array of them.
type item struct {
	raw   []byte
	in    *object
	name  string // of the member
	index int    // in the array; -1 if there is none
}

// where returns the item's path.
func (it item) where() string {
	if it.index < 0 {
		return at(it.in.where, it.name)
	}
	return fmt.Sprintf("%s[%d]", at(it.in.where, it.name), it.index)
}

// items returns the items of a member, and whether it is there. An array that is empty or too long is a defect and
// has no items: no schema gives the empty array a meaning, and read as "none is possible" it would promise most of all.
// A null is a defect, and absent.
func (o *object) items(name string) (items []item, there bool) {
	value, ok := o.get(name)
	if !ok {
		return nil, false
	}
	switch rawjson.Kind(value) {
	case 'n':
		o.found.add(at(o.where, name), isNot(value, "a value"))
		return nil, false
	case '[':
	default:
		return []item{{value, o, name, -1}}, true
	}
	for raw := range rawjson.Elements(value) {
		if len(items) == maxElements {
			o.found.add(at(o.where, name), tooMany)
			return nil, true
		}
		items = append(items, item{raw, o, name, len(items)})
	}
	if len(items) == 0 {
		o.found.add(at(o.where, name), "is an empty array")
	}
	return items, true
}

// possible returns a member that should be a value of an enumeration, or an array of them. One that is not counts as
// the worst value, beside those that can be read: a value that nobody can read is no promise.
func possible[T ~string](o *object, name string, enum []T, worst T) contract.Values[T] {
	items, there := o.items(name)
	if !there {
		return contract.Values[T]{}
	}
	values := make([]T, 0, len(items)+1)
	bad := len(items) == 0
	for _, it := range items {
		s, ok := rawjson.String(it.raw)
		switch {
		case !ok:
			o.found.add(it.where(), isNot(it.raw, "a string"))
		case !slices.Contains(enum, T(s)):
			o.found.add(it.where(), isNotOneOf(s, enum))
			ok = false
		default:
			values = append(values, T(s))
		}
		bad = bad || !ok
	}
	if bad {
		values = append(values, worst)
	}
	return contract.Possible(values...)
}

// at returns the path of a member.
func at(where, name string) string {
	plain := len(name) > 0 && len(name) <= maxQuoted
	for _, r := range name {
		plain = plain && (r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}
	switch {
	case !plain:
		return fmt.Sprintf("%s[%.*q]", where, maxQuoted, name)
	case where == "":
		return name
	}
	return where + "." + name
}

// isNot names the type of a value, and the expected one.
func isNot(raw []byte, want string) string {
	names := map[byte]string{
		'{': "an object", '[': "an array", '"': "a string", '0': "a number", 't': "a boolean", 'f': "a boolean", 'n': "null",
	}
	is, ok := names[rawjson.Kind(raw)]
	if !ok {
		is = "no JSON value"
	}
	return "is " + is + ", not " + want
}

// isNotOneOf says which values an enumeration has.
func isNotOneOf[T ~string](got string, enum []T) string {
	return fmt.Sprintf("is %.*q, not one of %s", maxQuoted, got, label.SetOf(enum...))
}
