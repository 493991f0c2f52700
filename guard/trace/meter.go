package trace

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
)

// A meter measures how much the choice of arguments can tell, in bits, as the length of a code for them (see package
// provenance). It goes over the arguments as they are sent. The code has to have a word for every value, since servers
// write the schemas and agents need not heed them.
type meter struct {
	t     *callTracer
	place map[policy.Argument]bool // destinations
	open  bool                     // the session holds nothing private, so untrusted text may be known to the receiver
	spent int

	flagged bool // a bit before each value says whether it fits its schema
	stray   bool // without these bits, a value does not fit
}

// A text is as package provenance has it, a row of numerals, a moment, or a place that the user's wishes name by its
// address (kindBits, and homeBits more for a site) or by its name in a directory (kindBits+1): with the shares
// 2^-2+2^-3 of the first and 3/2^4 of these for sentences, 1/8, 9/2^6, 1/8+1/16 and 1/16 these are less than one
// together.

// tree adds a value and all in it. A bit says whether everything fits the schema.
func (m *meter) tree(value, schema json.RawMessage) {
	m.spent += flagBits
	before := m.spent
	m.flagged, m.stray = false, false
	if m.value("", value, schema); m.stray {
		m.spent, m.flagged, m.stray = before, true, false
		m.value("", value, schema)
	}
}

// value adds a value: as one that its schema leaves open, or else by its kind.
func (m *meter) value(path string, value, schema json.RawMessage) {
	if m.spent >= policy.MostBits || m.stray {
		return
	}
	f := fit(value, schema)
	switch {
	case m.flagged:
		m.spent += flagBits
	case !f.fits:
		m.stray = true
		return
	}
	m.spent += f.bits
	if !f.told {
		m.inside(path, value, schema)
	}
}

// inside adds a value of which the kind is known.
func (m *meter) inside(path string, value, schema json.RawMessage) {
	switch rawjson.Kind(value) {
	case '{':
		m.object(path, value, schema)
	case '[':
		items, _ := rawjson.Get(schema, "items")
		i := 0
		for inner := range rawjson.Elements(value) {
			m.spent += goesOn
			m.value(path+"["+strconv.Itoa(i)+"]", inner, items)
			i++
		}
		m.spent += goesOn
	case '"':
		m.text(path, value)
	case 't', 'f':
		m.spent += flagBits
	case '0':
		m.spent += numeralBits(strings.TrimSpace(string(value)))
	}
}

// object adds the members of an object: which of those that the schema declares, in which order; the names of all
// others.
func (m *meter) object(path string, value, schema json.RawMessage) {
	properties, _ := rawjson.Get(schema, "properties")
	declared := map[string]json.RawMessage{}
	var order, names []string
	for name, inner := range rawjson.Members(properties) {
		if _, again := declared[name]; !again {
			declared[name] = inner
			order = append(order, name)
		}
	}
	spelt := goesOn // bits of the names
	for name, inner := range rawjson.Members(value) {
		under, ok := declared[name]
		spelt += goesOn + bits.Len(uint(len(declared)))
		if !ok {
			spelt += m.t.value(policy.Argument{Text: name}).Bits
		}
		names = append(names, name)
		m.value(strings.TrimPrefix(path+"."+name, "."), inner, under)
	}
	if len(order) > 0 { // one bit says which of the two codes follows
		spelt = flagBits + min(spelt, presence(names, order, schema))
	}
	m.spent += spelt
}

// presence returns the bits of the names of members in the order of the schema or of the alphabet: which of the two,
// whether all required ones are there, and of each other whether it is.
func presence(names, declared []string, schema json.RawMessage) int {
	if !inOrder(names, declared) && !inOrder(names, slices.Sorted(slices.Values(declared))) {
		return policy.MostBits
	}
	optional, missing := map[string]bool{}, map[string]bool{}
	for _, name := range declared {
		optional[name], missing[name] = true, true
	}
	for _, name := range names {
		delete(missing, name)
	}
	required, _ := rawjson.Get(schema, "required")
	for item := range rawjson.Elements(required) {
		name, _ := rawjson.String(item)
		if missing[name] {
			return 2*flagBits + len(declared)
		}
		delete(optional, name)
	}
	return 2*flagBits + len(optional)
}

// inOrder reports whether all names stand in the list, in its order.
func inOrder(names, list []string) bool {
	for _, name := range list {
		if len(names) > 0 && names[0] == name {
			names = names[1:]
		}
	}
	return len(names) == 0
}

// text adds a text. A place that the user's wishes name is one of those.
func (m *meter) text(path string, literal json.RawMessage) {
	text, _ := rawjson.String(literal)
	a := policy.Argument{Path: path, Text: text}
	v := m.t.value(a)
	n := v.Bits
	if m.open {
		n = v.Known
	}
	n = min(n, numeralBits(text), momentBits(text))
	if m.place[a] {
		n = min(n, m.placeBits(a))
	}
	m.spent += n
}

// placeBits returns the bits of a place that the wishes name, if it is spelt as Weir does: any other spelling can tell
// something, and is a text.
func (m *meter) placeBits(a policy.Argument) int {
	n, named, text := policy.MostBits, m.t.session.named, a.Text
	if m.t.called(a) {
		n = kindBits + 1 + bits.Len(uint(len(m.t.session.directory.names)))
	}
	if !m.t.spelt(a) {
		return n
	}
	if named[text] {
		return min(n, kindBits+bits.Len(uint(len(named))))
	}
	site, web := strings.CutPrefix(text, "https://")
	if !web {
		site, web = strings.CutPrefix(text, "http://")
	}
	if web && named[strings.TrimSuffix(site, "/")] {
		return min(n, kindBits+homeBits+bits.Len(uint(len(named))))
	}
	return n
}
