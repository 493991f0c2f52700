package trace

import (
	"bytes"
	"encoding/json"
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
	flagBits = 1 // a truth value, or nothing
)

// homeBits are those of the scheme and the last slash of a site's first page.
const homeBits = 2

// among returns how many values the schema allows, and whether the value is one of them. Objects can be written in many
// orders.
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

// numeralBits returns the bits of a text of digits and the signs of numbers, dates and times, four for each: there are
// sixteen signs with that for the end.
func numeralBits(text string) int {
	if text == "" {
		return flagBits
	}
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
