package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/policy"
)

// A kind is how a fact narrows exceptions.
type kind uint8

const (
	open    kind = iota // not at all: a rule that reads it gets no exception
	settled             // the target of the exception settles it
	flagged             // a flag that stays down unless an accepted call had it up
	never               // a flag, and a call with it up is no example
	within              // a set that holds no more than those of the accepted calls
	from                // likewise, of kinds of origins; the user's words and trusted sources may always be among them
	empty               // a set, and a call with an element in it is no example
	same                // a text, the same in all accepted calls
	seen                // one of the values of the accepted calls
	sized               // a set with as many elements as one of theirs
	atMost              // a number, no more than in the accepted calls
	leaked              // likewise, if one of these had read untrusted content or a rule reads it
)

// A narrowed fact is one that an exception repeats, so that it is as narrow as the answers that led to it.
type narrowed struct {
	fact string
	kind kind
}

// narrowing are the facts that each exception repeats.
var narrowing = []narrowed{
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
	{"call.leak.total", leaked},
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

// whenRead are the facts that an exception repeats if a rule that it is from reads them. With narrowing, these are all
// facts of calls: one that is in neither is open.
var whenRead = append(memberFacts(), []narrowed{
	{"server.name", settled}, {"call.method", settled}, {"call.name", settled}, {"tool.name", settled}, {"call.destinations", settled},
	{"session.sources", within}, {"session.attribution", within}, {"session.trifecta", within}, {"session.readers", seen},
	{"session.calls", atMost}, {"session.sent", atMost}, {"session.recent", atMost}, {"session.burst", atMost},
	{"session.reached", atMost}, {"session.looked", atMost}, {"session.userWords", seen},
	{"session.id", open}, {"session.parent", open}, {"session.sinceUser", open},
	{"request.annotations.openWorldHint", flagged}, {"request.annotations.attribution", within},
	{"call.byAgent", seen}, {"call.plainRead", seen}, {"call.hasArguments", seen}, {"call.egress", seen}, {"call.verbatim", seen},
	{"call.named", seen}, {"call.from", from}, {"call.leak.bits", atMost},
	{"call.destination.values", sized}, {"call.destination.hosts", sized}, {"call.destination.own", seen},
	{"call.destination.self", seen}, {"call.destination.readable", seen}, {"call.destination.first", seen},
	{"call.findings.kinds", within}, {"call.findings.count", atMost}, {"call.findings.paths", open},
	{"call.arguments", open}, {"call.reads", open}, {"call.writes", open}, {"tool.declares", seen},
}...)

// memberFacts are the members of the contract and of the declaration of a tool, but for those in narrowing.
func memberFacts() (all []narrowed) {
	for _, place := range []string{"tool.annotations.", "tool.declared."} {
		for _, member := range []string{
			"aiProcessingHint", "attribution", "destructiveHint", "idempotentHint", "inputMetadata.destination", "inputMetadata.outcomes",
			"inputMetadata.sensitivity", "maliciousActivityHint", "openWorldHint", "privateHint", "privilegedAccessHint", "readOnlyHint",
			"requiresReview", "resourceIntensiveHint", "returnMetadata.sensitivity", "returnMetadata.source", "reversibleHint", "secretHint",
			"sensitiveDataHint", "slowExecutionHint", "trustedHint", "unsafeOutputHint",
		} {
			if fact := place + member; kindIn(narrowing, fact) == open {
				all = append(all, narrowed{fact, seen})
			}
		}
	}
	return all
}

// kindIn returns how a list says that a fact narrows exceptions.
func kindIn(list []narrowed, fact string) kind {
	if i := slices.IndexFunc(list, func(n narrowed) bool { return n.fact == fact }); i >= 0 {
		return list[i].kind
	}
	return open
}

// hints are the flags among the first that are down where nobody states them.
var hints = map[string]bool{"tool.annotations.maliciousActivityHint": true, "tool.annotations.requiresReview": true}

// newProbe returns a policy that reads all of these facts, so that its explanation tells them.
func newProbe() (*policy.Policy, error) {
	text := "version: 1\nrules:\n"
	for _, n := range slices.Concat(narrowing, whenRead) {
		term := n.fact + " == " + n.fact
		switch n.kind {
		case open, settled:
			continue
		case sized:
			term = "size(" + n.fact + ") > 0"
		}
		text += "  - {name: " + n.fact + ", when: call, effect: ask, if: '" + term + "'}\n"
	}
	return policy.Load("probe", []byte(text))
}

// mostSeen is how many values of a fact an exception lists.
const mostSeen = 8

// An example holds the facts of accepted calls, joined.
type example struct {
	facts map[string]any             // by their names
	seen  map[string]map[string]bool // the values, as literals
	lost  map[string]bool            // facts that are not known of all of the calls
	read  map[string]bool            // by the rules that asked about them
}

func newExample() example {
	return example{map[string]any{}, map[string]map[string]bool{}, map[string]bool{}, map[string]bool{}}
}

// join adds the facts of a call. It reports whether the call may be an example: the facts that each exception repeats
// are known, none speaks of an attack, and untrusted content does not name its destination.
func (all *example) join(probe *policy.Policy, g *policy.ParsedFacts) bool {
	got := map[string]any{}
	for _, rule := range probe.Explain(g).Rules {
		for _, r := range rule.Reads {
			if r.Kept && kindIn(whenRead, r.Fact) == sized || !r.Kept && (r.Note == "" || hints[r.Fact]) {
				got[r.Fact] = r.Value
			}
		}
	}
	for _, n := range narrowing {
		value, known := got[n.fact]
		up, _ := value.(bool)
		texts, _ := value.([]string)
		before, again := all.facts[n.fact]
		switch {
		case !known, n.kind == never && up, n.kind == empty && len(texts) > 0,
			n.kind == same && again && before != value,
			n.fact == "call.destination.from" && slices.Contains(texts, "untrusted"):
			return false
		}
	}
	for _, n := range slices.Concat(narrowing, whenRead) {
		if value, known := got[n.fact]; known {
			all.add(n, value)
		} else {
			all.lost[n.fact] = true
		}
	}
	return true
}

// add joins a value of a fact to those before.
func (all *example) add(n narrowed, got any) {
	texts, isSet := got.([]string)
	switch n.kind {
	case sized:
		if isSet {
			got = int64(len(texts))
		}
		fallthrough
	case seen:
		if all.seen[n.fact] == nil {
			all.seen[n.fact] = map[string]bool{}
		}
		if all.seen[n.fact][literal(got)] = true; len(all.seen[n.fact]) > mostSeen {
			all.lost[n.fact] = true
			clear(all.seen[n.fact])
		}
		return
	}
	switch value := got.(type) {
	case bool:
		before, _ := all.facts[n.fact].(bool)
		all.facts[n.fact] = before || value
	case []string:
		before, _ := all.facts[n.fact].([]string)
		all.facts[n.fact] = union(before, value)
	case int64:
		before, _ := all.facts[n.fact].(int64)
		all.facts[n.fact] = max(before, value)
	default:
		all.facts[n.fact] = value
	}
}

// reads adds the facts that a rule reads.
func (all *example) reads(facts []policy.Reading) {
	for _, r := range facts {
		all.read[r.Fact] = true
	}
}

// whole reports whether an exception can repeat all facts that the rules read.
func (all *example) whole() bool {
	for fact := range all.read {
		switch kind := max(kindIn(narrowing, fact), kindIn(whenRead, fact)); {
		case kind == open, kind != settled && all.lost[fact]:
			return false
		}
	}
	return true
}

// condition returns the condition of calls to a target that are no worse than the examples, as terms that all hold.
func (all *example) condition(t target) []string {
	terms := []string{
		"server.name == " + quote(t.server), "call.method == " + quote(t.method), "tool.name == " + quote(t.name),
		"has(call.destinations)", "call.destinations == " + quoteList(t.list()),
	}
	for _, n := range narrowing {
		terms = all.narrow(terms, n)
	}
	for _, n := range whenRead {
		if all.read[n.fact] {
			terms = all.narrow(terms, n)
		}
	}
	return terms
}

// narrow appends the term of a fact to others, if there is one.
func (all *example) narrow(terms []string, n narrowed) []string {
	value := all.facts[n.fact]
	texts, _ := value.([]string)
	switch n.kind {
	case never:
		return append(terms, "!"+n.fact)
	case flagged:
		if value != true {
			return append(terms, "!"+n.fact)
		}
	case empty:
		return append(terms, "size("+n.fact+") == 0")
	case within:
		return append(terms, subset(n.fact, texts))
	case from:
		return append(terms, subset(n.fact, union(texts, []string{"trusted", "user"})))
	case same:
		return append(terms, n.fact+" == "+literal(value))
	case seen:
		return append(terms, all.oneOf(n.fact, n.fact))
	case sized:
		return append(terms, all.oneOf(n.fact, "size("+n.fact+")"))
	case leaked, atMost:
		if n.kind == atMost || all.read[n.fact] || all.facts["session.untrusted"] == true {
			return append(terms, n.fact+" <= "+literal(value))
		}
	}
	return terms
}

// oneOf returns the term that an expression has a value that the fact had.
func (all *example) oneOf(fact, expression string) string {
	values := slices.Sorted(maps.Keys(all.seen[fact]))
	if len(values) == 1 {
		return expression + " == " + values[0]
	}
	return expression + " in [" + strings.Join(values, ", ") + "]"
}

// literal returns a value of a fact as a literal of CEL.
func literal(value any) string {
	switch v := value.(type) {
	case string:
		return quote(v)
	case []string:
		return quoteList(v)
	}
	return fmt.Sprint(value)
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
