package trace

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
)

// A meter measures how much the choice of arguments can tell, in bits, as the length of a code for them (see package
// provenance): the length of the choices that the schema leaves open. It goes over the arguments as they are sent.
type meter struct {
	t     *callTracer
	place map[policy.Argument]bool // destinations
	open  bool                     // the session holds nothing private, so untrusted text may be known to the receiver
	spent int
	parts int // of names in the wishes, up to the last one that was told as such; zero before the first
}

// A text is as package provenance has it, a row of numerals, a moment, or a place that the user's wishes name by its
// address (kindBits), by its name in a directory or by a part of a name (kindBits+1 each): with the shares 2^-2+2^-3 of
// the first and 3/2^4 of these for sentences, 1/8, 9/2^6, 1/8 and twice 1/16 these are less than one together.

// value adds a value of which the schema is known, if schema is not nil.
func (m *meter) value(path string, value, schema json.RawMessage) {
	if m.spent >= policy.MostBits {
		return
	}
	if n, ok := among(value, schema); ok {
		m.spent += bits.Len(uint(n))
		return
	}
	typed, _ := rawjson.Get(schema, "type")
	if rawjson.Kind(typed) != '"' {
		m.spent += kindBits
	}
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
	case 't', 'f', 'n', 0:
		m.spent += flagBits
	default:
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
		declared[name] = inner
		order = append(order, name)
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
	if m.place[a] && m.t.spelt(text) {
		spelling := policy.MostBits // other capitals of a host can tell something
		if strings.Contains(m.t.session.words, text) {
			spelling = 0
		} else if r := address.Read(text); len(r.Places) == 1 && text == strings.ToLower(text) {
			if site := home(r.Places[0]); site != "" && strings.Contains(m.t.session.words, site) {
				spelling = homeBits
			}
		}
		n = min(n, kindBits+spelling+bits.Len(uint(len(m.t.session.named))))
	}
	if m.place[a] && m.t.called(text) {
		n = min(n, kindBits+1+bits.Len(uint(len(m.t.session.directory.names))))
	}
	if m.t.partly[a] {
		if told, at := m.part(text); kindBits+1+told < n {
			n, m.parts = kindBits+1+told, at
		}
	}
	m.spent += n
}

// part returns the bits of a part of a name in the wishes, and its place among all parts: that it is the next one
// behind the last that was told in this way, or which of all it is.
func (m *meter) part(text string) (told, at int) {
	n, next := 0, false
	for _, wish := range m.t.session.wishes {
		for part := range strings.FieldsFuncSeq(wish, func(r rune) bool { return strings.ContainsRune(" \t\n/#,;:()\"'!?", r) }) {
			n++
			if strings.TrimRight(part, ".") == text && !next {
				at, next = n, m.parts > 0 && n == m.parts+1
			}
		}
	}
	switch {
	case at == 0:
		return policy.MostBits, 0
	case next:
		return flagBits, at
	}
	return flagBits + bits.Len(uint(n)), at
}
