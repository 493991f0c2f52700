package trace

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
)

// Shares of the code for JSON: the kind of the next value, and that there is one or none.
const (
	kindBits = 3
	goesOn   = 1
	flagBits = 1 // a truth value
)

// homeBits are those of the scheme and the last slash of a site's first page, with one for that there are these.
const homeBits = 3

// A fitting says how a value is told beside its schema.
type fitting struct {
	fits bool
	bits int  // which of the schema's values it is, or of which kind
	told bool // these tell all
}

// typeKinds are the kinds of the values that a type of JSON Schema has.
var typeKinds = map[string]string{
	"object": "{", "array": "[", "string": `"`, "number": "0", "integer": "0", "boolean": "tf", "null": "n",
}

// fit compares a value with the const, the enum or else the type of its schema. Of a schema without these, or with
// others than Weir knows, any value fits by its kind. Objects and lists can be written in many ways, so none is told by
// a const or an enum.
func fit(value, schema json.RawMessage) fitting {
	only, isConst := rawjson.Get(schema, "const")
	options, isEnum := rawjson.Get(schema, "enum")
	stray := fitting{bits: kindBits}
	kind := rawjson.Kind(value)
	if isConst || isEnum {
		text, n, found := string(rawjson.Canonical(value)), 0, false
		if isConst {
			found = string(rawjson.Canonical(only)) == text
		} else {
			for option := range rawjson.Elements(options) {
				n++
				found = found || string(rawjson.Canonical(option)) == text
			}
		}
		if !found || text == "" || kind == '{' || kind == '[' {
			return stray
		}
		return fitting{fits: true, bits: bits.Len(uint(n)), told: true}
	}
	typed, _ := rawjson.Get(schema, "type")
	name, _ := rawjson.String(typed)
	switch kinds := typeKinds[name]; {
	case kinds == "":
		return fitting{fits: true, bits: kindBits}
	case kind == 0 || strings.IndexByte(kinds, kind) < 0:
		return stray
	}
	return fitting{fits: true}
}

// numeralBits returns the bits of a text of digits and the signs of numbers, dates and times, four for each: there are
// sixteen signs with that for the end.
func numeralBits(text string) int {
	if strings.Trim(text, "0123456789+-.:/") != "" {
		return policy.MostBits
	}
	return kindBits + 4*(len(text)+1)
}

// moments are the forms of dates and times, each with its bits: of a day in ten thousand years, a minute, a second, a
// zone.
var moments = []struct {
	layout string
	bits   int
}{
	{time.DateOnly, 22}, {"2006-01-02 15:04", 33}, {"2006-01-02T15:04", 33},
	{time.DateTime, 39}, {"2006-01-02T15:04:05", 39}, {"2006-01-02T15:04:05Z", 39},
	{"2006-01-02T15:04:05-07:00", 51}, {"15:04", 11}, {"15:04:05", 17},
}

// momentBits returns the bits of a date or a time without fractions of seconds.
func momentBits(text string) int {
	if text == "" || text[0] < '0' || text[0] > '9' { // as all begin
		return policy.MostBits
	}
	for _, m := range moments {
		if at, err := time.Parse(m.layout, text); err == nil && at.Format(m.layout) == text {
			return 2*kindBits + m.bits
		}
	}
	return policy.MostBits
}

// escapeBits returns the bits that JSON can tell by the signs that it writes as escapes. Programs are regular in that:
// they escape a sign wherever it stands, or nowhere, and all signs beyond ASCII or none.
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
			} else if i < len(doc) { // the usual form of signs that have to be escaped
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

// emptyBits returns the bits that arguments can tell by empty values, and by values that come again.
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

// spaceBits returns the bits that the white space between the tokens of JSON can tell. That of programs is regular:
// none, or a blank after each comma and colon.
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
