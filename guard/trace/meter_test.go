package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

func newMeter() *meter {
	return &meter{t: &callTracer{session: newSessionTrace(session.Ref{}, nil), facts: &policy.Facts{}, known: map[string]Value{}}}
}

// share returns the share of a value in the code for values of a schema.
func share(value, schema string) float64 {
	m := newMeter()
	m.tree(json.RawMessage(value), json.RawMessage(schema))
	return math.Pow(2, -float64(m.spent))
}

// rows returns all objects of the members, in any order, with all of the values.
func rows(names, values []string) (all []string) {
	var add func(row, names []string)
	add = func(row, names []string) {
		all = append(all, "{"+strings.Join(row, ",")+"}")
		for i, name := range names {
			rest := slices.Delete(slices.Clone(names), i, i+1)
			for _, value := range values {
				add(append(slices.Clip(row), strconv.Quote(name)+":"+value), rest)
			}
		}
	}
	add(nil, names)
	return all
}

// TestMembersAreACode holds that the bits of the members of objects are lengths of a code: of all rows of declared
// members, in any order, the shares are at most one together.
func TestMembersAreACode(t *testing.T) {
	for _, required := range []string{`[]`, `["b"]`, `["d","a"]`, `["a","a","b","c","d"]`, `["e"]`, `[7]`} {
		schema := `{"type":"object","properties":{"b":{"const":1},"a":{"const":1},"d":{"const":1},"c":{"const":1}},"required":` + required + `}`
		sum, all := 0.0, rows([]string{"b", "a", "d", "c"}, []string{"1"})
		for _, value := range all {
			sum += share(value, schema)
		}
		if len(all) != 65 || sum > 1 {
			t.Errorf("required %s: the shares of %d rows are %v", required, len(all), sum)
		}
	}
}

// schemas are drawn for TestValuesAreACode: those that servers write and those that they should not.
func schemas(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var parts []string
		add := func(name string, values ...string) {
			if value := rapid.SampledFrom(append(values, "")).Draw(t, name); value != "" {
				parts = append(parts, strconv.Quote(name)+":"+value)
			}
		}
		add("type", `"object"`, `"array"`, `"string"`, `"boolean"`, `"null"`, `"integer"`, `"number"`, `"no such"`, `["string","null"]`, `7`, `null`)
		if rapid.IntRange(0, 3).Draw(t, "choice") == 0 {
			add("const", `true`, `null`, `""`, `"a"`, `1`, `{}`, `[]`, `{"a":true}`)
			add("enum", `[]`, `["a"]`, `["a","a","b"]`, `[true,false,null]`, `[{},[],""]`, `"a"`, `{"a":1}`)
		}
		if depth > 0 {
			inner := func() string { return schemas(depth-1).Draw(t, "inner") }
			add("properties", `{}`, `{"a":`+inner()+`}`, `{"b":`+inner()+`,"a":`+inner()+`}`, `{"a":`+inner()+`,"b":{},"a":{"type":"null"}}`, `[1]`)
			add("required", `[]`, `["a"]`, `["b","a"]`, `["a","a","z"]`, `"a"`)
			add("items", inner(), `[{},{}]`, `false`)
		}
		if len(parts) == 0 {
			return rapid.SampledFrom([]string{"{}", "true", "false", "null", `"x"`, "[]"}).Draw(t, "odd")
		}
		return "{" + strings.Join(parts, ",") + "}"
	})
}

// smallValues are values of all kinds.
func smallValues() (all []string) {
	scalars := []string{"null", "true", "false", `""`, `"a"`, `"b"`, `"A"`, `"1"`, `"z."`, "0", "1", "-1", "1.0"}
	small := append(scalars, `{}`, `[]`, `{"a":true}`, `{"b":null}`, `[null]`, `[true]`, `[""]`)
	all = append(slices.Clone(scalars), rows([]string{"a", "b"}, small)...)
	all = append(all, "[]", `{"z":null}`, `{"z":""}`, `{"a":null,"z":null}`)
	for _, one := range small {
		all = append(all, "["+one+"]")
		for _, two := range small {
			all = append(all, "["+one+","+two+"]")
		}
	}
	return all
}

// TestValuesAreACode holds that whatever the schema says, and whether values heed it, the bits of all values are
// lengths of a code: the shares are at most one together.
func TestValuesAreACode(t *testing.T) {
	values := smallValues()
	check := func(t interface{ Fatalf(string, ...any) }, schema string) {
		sum := 0.0
		for _, value := range values {
			sum += share(value, schema)
		}
		if sum > 1 {
			t.Fatalf("%s: the shares of %d values are %v", schema, len(values), sum)
		}
	}
	for _, schema := range []string{
		`{"const":true,"type":"boolean"}`, `{"type":"boolean"}`, `{"type":"string"}`, `{"type":"null"}`, `{"enum":["a","b"]}`,
		`{"type":"object","properties":{"a":{"const":true},"b":{"const":true}},"required":["a","b"]}`,
		`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}},"required":["a","b"]}`,
		`{"type":"object","properties":{"a":{"const":true},"b":{"const":true},"a":{"const":true}}}`,
		`{"type":"array","items":{"const":null}}`,
	} {
		check(t, schema)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, schemas(2).Draw(t, "schema")) })
}

// TestStraysCost holds that no member that strays from its schema is told for less than a choice among its like, in an
// object of many: the schema would be a blank cheque for whoever wrote it.
func TestStraysCost(t *testing.T) {
	const members = 250
	for each, fits := range map[string]string{`{"const":true,"type":"boolean"}`: "true", `{"type":"boolean"}`: "false", `{"type":"string"}`: `""`} {
		var properties, required []string
		for i := range members {
			properties, required = append(properties, fmt.Sprintf(`"c%d":%s`, i, each)), append(required, fmt.Sprintf(`"c%d"`, i))
		}
		schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
		for _, strays := range []int{1, 10, 38, 100} {
			var row []string
			for i := range members {
				value := fits
				if i < strays {
					value = []string{"null", "{}", "[]", "7"}[i%4]
				}
				row = append(row, fmt.Sprintf(`"c%d":%s`, i, value))
			}
			m := newMeter()
			m.tree(json.RawMessage("{"+strings.Join(row, ",")+"}"), json.RawMessage(schema))
			if least := choose(members, strays) + 2*float64(strays); float64(m.spent) < least {
				t.Errorf("%s, %d strays: %d bits, of %v", each, strays, m.spent, least)
			}
		}
	}
}

// choose returns the logarithm of the number of ways to choose k of n.
func choose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return (a - b - c) / math.Ln2
}

// TestPlacesAreACode holds that other spellings of a place that the user named, and blanks around it, are no cheaper
// than texts: the shares of places are at most those that the code of texts has for them.
func TestPlacesAreACode(t *testing.T) {
	m := newMeter()
	const user = "Write to ben@acme.example ,  Ann@acme.example , and look at bridge.example or https://bridge.example/now ."
	m.t.session.addNamed(user)
	m.t.session.words = user
	sum, told := 0.0, 0
	for _, place := range []string{"ben@acme.example", "Ann@acme.example", "bridge.example", "bridge.example/", "bridge.example/now"} {
		for _, before := range []string{"", " ", "  ", "\t", "mailto:", "http://", "https://", "HTTPS://", " https://"} {
			for _, after := range []string{"", " ", "  ", ",", "/", ":443/", ", ben@acme.example"} {
				for text := range setOf([]string{place, strings.ToUpper(place), strings.ToLower(place)}) {
					if n := m.placeBits(policy.Argument{Text: before + text + after}); n < policy.MostBits {
						told++
						sum += math.Pow(2, -float64(n))
					}
				}
			}
		}
	}
	if told < 4 || sum > 1.0/8+1.0/16 {
		t.Errorf("the shares of %d places are %v", told, sum)
	}
	for text, want := range map[string]bool{"ben@acme.example": true, " ben@acme.example": false, "ben@acme.example ": false} {
		if got := m.placeBits(policy.Argument{Text: text}) < policy.MostBits; got != want {
			t.Errorf("%q is told as a place: %v", text, got)
		}
	}
}
