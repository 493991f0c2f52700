package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/policy"
)

// A kind is the type of a fact that narrows exceptions.
type kind uint8

const (
	flagged kind = iota // a flag that stays down unless an accepted call had it up
	never               // a flag, and a call with it up is no example
	within              // a set that holds no more than those of the accepted calls
	from                // likewise, of kinds of origins; the user's words and trusted sources may always be among them
	empty               // a set, and a call with an element in it is no example
	same                // a text, the same in all accepted calls
	atMost              // a number, no more than in the accepted calls, once one of these had read untrusted content
)

// narrowing are the facts that an exception repeats, so that it is as narrow as the answers that led to it.
var narrowing = []struct {
	fact string
	kind kind
}{
	{"session.private", flagged},
	{"session.untrusted", flagged},
	{"session.malicious", never},
	{"session.credentials", never},
	{"session.sensitivity", within},
	{"server.trust", same},
	{"call.roles", same},
	{"call.destination.from", from},
	{"call.content.from", from},
	{"call.small.from", from},
	{"call.destination.strange", flagged},
	{"call.content.links", flagged},
	{"call.content.orders", flagged},
	{"call.content.identifies", flagged},
	{"call.links.made", flagged},
	{"call.crosses", never},
	{"call.leak.total", atMost},
	{"call.findings", empty},
	{"call.findings.likely", empty},
	{"call.findings.incomplete", never},
	{"tool.annotations.destructiveHint", flagged},
	{"tool.annotations.openWorldHint", flagged},
	{"tool.annotations.maliciousActivityHint", never},
	{"tool.annotations.requiresReview", never},
	{"tool.annotations.inputMetadata.destination", within},
	{"tool.annotations.inputMetadata.outcomes", within},
}

// hints are the flags among them that are down where nobody states them.
var hints = map[string]bool{"tool.annotations.maliciousActivityHint": true, "tool.annotations.requiresReview": true}

// newProbe returns a policy with one rule that reads all of these facts, so that its explanation tells them.
func newProbe() (*policy.Policy, error) {
	var terms []string
	for _, n := range narrowing {
		switch n.kind {
		case flagged, never:
			terms = append(terms, n.fact)
		case within, from, empty, same:
			terms = append(terms, "size("+n.fact+") > 0")
		case atMost:
			terms = append(terms, n.fact+" > 0")
		}
	}
	return policy.Load("probe", []byte("version: 1\nrules:\n  - name: probe\n    when: call\n    effect: ask\n    if: >-\n      "+
		strings.Join(terms, " || ")+"\n"))
}

// An example holds the facts of accepted calls, joined.
type example map[string]any

// join adds the facts of a call. It reports whether the call may be an example: all of its facts are known, none speaks
// of an attack, and untrusted content does not name its destination.
func (all example) join(probe *policy.Policy, g *policy.ParsedFacts) bool {
	got := map[string]any{}
	for _, r := range probe.Explain(g).Rules[0].Reads {
		if !r.Kept && (r.Note == "" || hints[r.Fact]) {
			got[r.Fact] = r.Value
		}
	}
	for _, n := range narrowing {
		value, known := got[n.fact]
		up, _ := value.(bool)
		texts, _ := value.([]string)
		before, again := all[n.fact]
		switch {
		case !known, n.kind == never && up, n.kind == empty && len(texts) > 0,
			n.kind == same && again && before != value,
			n.fact == "call.destination.from" && slices.Contains(texts, "untrusted"):
			return false
		}
	}
	for _, n := range narrowing {
		switch value := got[n.fact].(type) {
		case bool:
			before, _ := all[n.fact].(bool)
			all[n.fact] = before || value
		case []string:
			before, _ := all[n.fact].([]string)
			all[n.fact] = union(before, value)
		case int64:
			before, _ := all[n.fact].(int64)
			all[n.fact] = max(before, value)
		default:
			all[n.fact] = value
		}
	}
	return true
}

// condition returns the condition of calls to a target that are no worse than the examples, as terms that all hold.
func (all example) condition(t target) []string {
	terms := []string{
		"server.name == " + quote(t.server), "call.method == " + quote(t.method), "tool.name == " + quote(t.name),
		"has(call.destinations)", "call.destinations == " + quoteList(t.list()),
	}
	for _, n := range narrowing {
		value := all[n.fact]
		switch n.kind {
		case never:
			terms = append(terms, "!"+n.fact)
		case flagged:
			if value != true {
				terms = append(terms, "!"+n.fact)
			}
		case empty:
			terms = append(terms, "size("+n.fact+") == 0")
		case within:
			texts, _ := value.([]string)
			terms = append(terms, subset(n.fact, texts))
		case from:
			texts, _ := value.([]string)
			terms = append(terms, subset(n.fact, union(texts, []string{"trusted", "user"})))
		case same:
			terms = append(terms, fmt.Sprintf("%s == %s", n.fact, quote(fmt.Sprint(value))))
		case atMost:
			if all["session.untrusted"] == true {
				terms = append(terms, fmt.Sprintf("%s <= %v", n.fact, value))
			}
		}
	}
	return terms
}

// subset returns the term that a set has no other elements.
func subset(fact string, texts []string) string {
	if len(texts) == 0 {
		return "size(" + fact + ") == 0"
	}
	return fact + ".all(x, x in " + quoteList(texts) + ")"
}

func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// quote returns a text as a literal of CEL that is one line of plain ASCII, whatever the text: a server or an agent may
// have chosen it, and it stands in a file in YAML.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r > '~' && r <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08x`, r)
		case r <= ' ' && r != ' ', r > '~', strings.ContainsRune("\"\\`'<>&{}", r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func quoteList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// sorted returns the keys of a set of targets, so that proposals have an order.
func sorted[V any](all map[target]V) []target {
	return slices.SortedFunc(maps.Keys(all), func(a, b target) int {
		return slices.Compare([]string{a.server, a.method, a.name, a.destinations}, []string{b.server, b.method, b.name, b.destinations})
	})
}
