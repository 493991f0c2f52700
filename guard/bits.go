package guard

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
)

// mostBits is what a call can tell of which not all was looked at, and what was told where nobody remembers.
const mostBits = policy.MostBits

// A meter measures what the choice of arguments can tell, in bits, as the length of a code for them (see package provenance): the length
// of what the schema leaves open. It goes over the arguments as they are sent.
type meter struct {
	t     *tracer
	place map[policy.Argument]bool // destinations
	open  bool                     // the session holds nothing private, so strangers' text may be known to whoever is told
	spent int
}

// Shares of the code for JSON: what kind of value follows, and that another one does or none.
const (
	kindBits = 3
	goesOn   = 1
	flagBits = 1 // a truth value, or nothing
)

// homeBits are those of the scheme and the last slash of a site's first page.
const homeBits = 2

// A text is as package provenance has it, a row of numerals, a moment, or a place that the user's wishes name by its address (kindBits) or by its
// name in a directory (kindBits+1): with the shares 2^-2+2^-3 of the first, 1/8, 9/2^6, 1/8 and 1/16 these are less than one together.

// value adds a value of which the schema is known, if schema is not nil.
func (m *meter) value(path string, value, schema json.RawMessage) {
	if m.spent >= mostBits {
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

// object adds the members of an object: which of those that the schema declares, in which order; the names of all others.
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
		spelling := mostBits // other capitals of a host can tell something
		if strings.Contains(m.t.memory.words, text) {
			spelling = 0
		} else if r := address.Read(text); len(r.Places) == 1 && text == strings.ToLower(text) {
			if site := home(r.Places[0]); site != "" && strings.Contains(m.t.memory.words, site) {
				spelling = homeBits
			}
		}
		n = min(n, kindBits+spelling+bits.Len(uint(len(m.t.memory.named))))
	}
	if m.place[a] && m.t.called(text) {
		n = min(n, kindBits+1+bits.Len(uint(len(m.t.memory.things))))
	}
	m.spent += n
}

// among returns how many values the schema allows, and whether the value is one of them. Objects can be written in many orders.
func among(value, schema json.RawMessage) (n int, ok bool) {
	if kind := rawjson.Kind(value); kind == '{' || kind == '[' {
		return 0, false
	}
	if only, is := rawjson.Get(schema, "const"); is {
		return 0, string(rawjson.Canonical(only)) == string(rawjson.Canonical(value))
	}
	options, _ := rawjson.Get(schema, "enum")
	for option := range rawjson.Elements(options) {
		n++
		ok = ok || string(rawjson.Canonical(option)) == string(rawjson.Canonical(value))
	}
	return n, ok
}

// numeralBits returns the bits of a text of digits and the signs of numbers, dates and times, four for each: there are sixteen signs with that for the end.
func numeralBits(text string) int {
	if text == "" {
		return flagBits
	}
	if strings.Trim(text, "0123456789+-.:/") != "" {
		return mostBits
	}
	return kindBits + 4*(len(text)+1)
}

// moments are the forms of dates and times, each with its bits: of a day in ten thousand years, a minute, a second, a zone.
var moments = []struct {
	layout string
	bits   int
}{
	{time.DateOnly, 22}, {"2006-01-02 15:04", 33}, {"2006-01-02T15:04", 33}, {time.DateTime, 39}, {"2006-01-02T15:04:05", 39}, {"2006-01-02T15:04:05Z", 39},
	{"2006-01-02T15:04:05-07:00", 51}, {"15:04", 11}, {"15:04:05", 17},
}

// momentBits returns the bits of a date or a time without fractions of seconds.
func momentBits(text string) int {
	for _, m := range moments {
		if at, err := time.Parse(m.layout, text); err == nil && at.Format(m.layout) == text {
			return 2*kindBits + m.bits
		}
	}
	return mostBits
}

// escapeBits returns what JSON can tell by which signs it writes as escapes. Programs are regular in that: they escape a sign wherever it stands, or
// nowhere, and all signs beyond ASCII or none.
func escapeBits(doc json.RawMessage) (n int) {
	const letter, beyond = 8, utf8.RuneSelf
	if bytes.IndexByte(doc, '\\') < 0 {
		return 0
	}
	var escaped, plain [beyond + 1]int
	var upper, lower bool
	quoted := false
	for i := 0; i < len(doc); i++ {
		c := doc[i]
		switch {
		case c == '"':
			quoted = !quoted
		case !quoted || c >= utf8.RuneSelf && !utf8.RuneStart(c):
		case c != '\\':
			plain[min(c, beyond)]++
		case i+5 < len(doc) && doc[i+1] == 'u':
			digits := doc[i+2 : i+6]
			upper, lower = upper || bytes.ContainsAny(digits, "ABCDEF"), lower || bytes.ContainsAny(digits, "abcdef")
			code, _ := strconv.ParseUint(string(digits), 16, 16)
			escaped[min(code, beyond)]++
			i += 5
		default:
			if i++; i < len(doc) && doc[i] == '/' {
				escaped['/']++
			} else if i < len(doc) { // the usual form of what has to be escaped
				plain[shortEscapes[doc[i]]]++
			}
		}
	}
	for c, times := range escaped {
		regular := c < ' ' || c >= 0x7f || strings.IndexByte("/\"\\<>&'+`=", byte(c)) >= 0
		if times > 0 && (!regular || plain[c] > 0 || upper && lower) {
			n += letter * times
		}
	}
	return n
}

// shortEscapes are the signs that have an escape of one letter.
var shortEscapes = map[byte]byte{'"': '"', '\\': '\\', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// emptyBits returns what arguments can tell by values that hold nothing, and by values that come again.
func emptyBits(value []byte, seen map[string]bool) (n int) {
	const letter, one = 8, goesOn + flagBits
	switch rawjson.Kind(value) {
	case '{':
		for _, inner := range rawjson.Members(value) {
			n += emptyBits(inner, seen)
		}
		return n + one
	case '[':
		for inner := range rawjson.Elements(value) {
			n += emptyBits(inner, seen)
		}
		return n + one
	case '"':
		if len(value) > len(`""`) {
			if seen[string(value)] {
				return letter
			}
			seen[string(value)] = true
			return 0
		}
		return one
	case 't', 'f', 'n', 0:
		return one
	}
	return 0
}

// Bounds of what a call may hold that counts as nothing but the user's words or a trusted source's.
const (
	mostBeside = 16  // bits beside its values
	mostCopied = 256 // bits in all: of many copies, the choice tells something
)

// bare reports whether a call holds next to nothing beside its values: in names that no schema declares, in how it is written, in what is empty.
func (found *finding) bare() bool {
	return len(found.undeclared) == 0 && found.beside <= mostBeside && found.bits <= mostCopied
}

// spaceBits returns what the white space between the tokens of JSON can tell. That of programs is regular: none, or a blank after each comma and
// colon.
func spaceBits(doc json.RawMessage) int {
	space, regular, separators, quoted := 0, 0, 0, false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',' || c == ':':
			if separators++; i+1 < len(doc) && doc[i+1] == ' ' {
				regular++
			}
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			space++
		}
	}
	if space == 0 || space == separators && regular == separators {
		return 0
	}
	return 8 * space
}
