package trace

import (
	"encoding/json"
	"math/bits"
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
}

// A text is as package provenance has it, a row of numerals, a moment, or a place that the user's wishes name by its
// address (kindBits) or by its name in a directory (kindBits+1): with the shares 2^-2+2^-3 of the first and 3/2^4 of
// these for sentences, 1/8, 9/2^6, 1/8 and 1/16 these are less than one together.

// value adds a value of which the schema is known, if schema is not nil.
func (m *meter) value(path string, value, schema json.RawMessage) {
	if m.spent >= policy.MostBits {
		return
	}
	m.spent += goesOn
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
	for name, inner := range rawjson.Members(properties) {
		declared[name] = inner
	}
	for name, inner := range rawjson.Members(value) {
		under, ok := declared[name]
		m.spent += bits.Len(uint(len(declared)))
		if !ok {
			m.spent += m.t.value(policy.Argument{Text: name}).Bits
		}
		m.value(strings.TrimPrefix(path+"."+name, "."), inner, under)
	}
	m.spent += goesOn
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
	m.spent += n
}
