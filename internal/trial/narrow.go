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
	never               // a flag, and a call with it up is no example
	same                // it has the same value as in the accepted calls: flags, too, whether up or down
	within              // a set that holds no more than that of the accepted calls
	from                // likewise, of kinds of origins; the user's words and trusted sources may always be among them
	empty               // a set, and a call with an element in it is no example
	sized               // a set with as many elements as theirs
	atMost              // a number, no more than in the accepted calls
	leaked              // likewise, if one of these had read untrusted content or a rule reads it
)

// number reports whether the accepted calls of one exception may have several values of a fact.
func (k kind) number() bool { return k == atMost || k == leaked }

// A narrowed fact is one that an exception repeats, so that it is as narrow as the answers that led to it.
type narrowed struct {
	fact string
	kind kind
}

// narrowing are the facts that each exception repeats.
var narrowing = []narrowed{
	{"session.private", same},
	{"session.untrusted", same},
	{"session.malicious", never},
	{"session.credentials", never},
	{"session.sensitivity", within},
	{"server.trust", same},
	{"call.roles", same},
	{"call.destination.from", from},
	{"call.content.from", from},
	{"call.small.from", from},
	{"call.destination.strange", same},
	{"call.content.links", same},
	{"call.content.orders", same},
	{"call.content.identifies", same},
	{"call.links.made", same},
	{"call.crosses", never},
	{"call.leak.total", leaked},
	{"call.findings", empty},
	{"call.findings.likely", empty},
	{"call.findings.incomplete", never},
	{"tool.annotations.destructiveHint", same},
	{"tool.annotations.openWorldHint", same},
	{"tool.annotations.maliciousActivityHint", never},
	{"tool.annotations.requiresReview", never},
	{"tool.annotations.inputMetadata.destination", within},
	{"tool.annotations.inputMetadata.outcomes", within},
}

// whenRead are the facts that an exception repeats if a rule that it is from reads them. With narrowing, these are all
// facts of calls: one that is in neither is open.
var whenRead = append(memberFacts(), []narrowed{
	{"server.name", settled}, {"call.method", settled}, {"call.name", settled}, {"tool.name", settled}, {"call.destinations", settled},
	{"session.sources", within}, {"session.attribution", within}, {"session.trifecta", within}, {"session.readers", same},
	{"session.calls", atMost}, {"session.sent", atMost}, {"session.recent", atMost}, {"session.burst", atMost},
	{"session.reached", atMost}, {"session.looked", atMost}, {"session.userWords", same},
	{"session.id", open}, {"session.parent", open}, {"session.sinceUser", open},
	{"request.annotations.openWorldHint", same}, {"request.annotations.attribution", within},
	{"call.byAgent", same}, {"call.plainRead", same}, {"call.hasArguments", same}, {"call.egress", same}, {"call.verbatim", same},
	{"call.named", same}, {"call.from", from}, {"call.leak.bits", atMost},
	{"call.destination.values", sized}, {"call.destination.hosts", sized}, {"call.destination.own", same},
	{"call.destination.local", same}, {"call.destination.self", same}, {"call.destination.readable", same},
	{"call.destination.first", same},
	{"call.findings.kinds", within}, {"call.findings.count", atMost}, {"call.findings.paths", open},
	{"call.arguments", open}, {"call.reads", open}, {"call.writes", open}, {"tool.declares", same},
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
				all = append(all, narrowed{fact, same})
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

// An example holds the facts of accepted calls that are the same but for numbers.
type example struct {
	facts map[string]any  // by their names
	read  map[string]bool // by rules that may ask
}

// newExample returns the facts of a call. ok is false if it is no example: a fact that each exception repeats is not
// known, one speaks of an attack, untrusted content names its destination, or an exception cannot repeat all facts that
// the rules which ask about it read. Facts that other rules read are repeated as far as they are known, or else two
// exceptions, each from one of two rules, would together allow a call that nobody accepted.
func newExample(probe *policy.Policy, g *policy.ParsedFacts, rules []policy.Finding) (one example, ok bool) {
	one = example{map[string]any{}, map[string]bool{}}
	for _, rule := range probe.Explain(g).Rules {
		for _, r := range rule.Reads {
			if r.Kept && kindIn(whenRead, r.Fact) == sized || !r.Kept && (r.Note == "" || hints[r.Fact]) {
				one.facts[r.Fact] = r.Value
			}
			if texts, isSet := r.Value.([]string); isSet && kindIn(whenRead, r.Fact) == sized {
				one.facts[r.Fact] = int64(len(texts))
			}
		}
	}
	for _, rule := range rules {
		if rule.Effect == policy.Ask && !one.reads(rule.Reads) && rule.State != policy.Unmatched {
			return one, false
		}
	}
	for _, n := range narrowing {
		value, known := one.facts[n.fact]
		texts, _ := value.([]string)
		if !known || n.kind == never && value == true || n.kind == empty && len(texts) > 0 ||
			n.fact == "call.destination.from" && slices.Contains(texts, "untrusted") {
			return one, false
		}
	}
	return one, true
}

// reads adds the facts that a rule reads. It reports whether an exception can repeat them all.
func (one *example) reads(facts []policy.Reading) bool {
	whole := true
	for _, r := range facts {
		_, known := one.facts[r.Fact]
		one.read[r.Fact] = known
		kind := max(kindIn(narrowing, r.Fact), kindIn(whenRead, r.Fact))
		whole = whole && kind != open && (kind == settled || known)
	}
	return whole
}

// repeated returns the facts that an exception repeats.
func (one *example) repeated() []narrowed {
	return append(slices.Clone(narrowing), slices.DeleteFunc(slices.Clone(whenRead), func(n narrowed) bool {
		return !one.read[n.fact] || n.kind == open || n.kind == settled
	})...)
}

// variant stands for the facts that are the same in all accepted calls of one exception. If exceptions joined them one
// by one, they would allow combinations that nobody accepted.
func (one *example) variant() string {
	var b strings.Builder
	for _, n := range one.repeated() {
		value := one.facts[n.fact]
		if texts, ok := value.([]string); ok && n.kind == from {
			value = union(texts, byUser)
		}
		if !n.kind.number() {
			fmt.Fprintf(&b, "%s %s\n", n.fact, literal(value))
		}
	}
	return b.String()
}

// byUser are the origins that content of any accepted call may have.
var byUser = []string{"trusted", "user"}

// join raises the numbers to those of another call with the same variant.
func (one *example) join(other *example) {
	for _, n := range one.repeated() {
		a, isNumber := one.facts[n.fact].(int64)
		b, _ := other.facts[n.fact].(int64)
		if isNumber && n.kind.number() {
			one.facts[n.fact] = max(a, b)
		}
	}
}

// condition returns the condition of calls to a target that are no worse than the example, as terms that all hold.
func (one *example) condition(t target) []string {
	terms := []string{
		"server.name == " + quote(t.server), "call.method == " + quote(t.method), "tool.name == " + quote(t.name),
		"has(call.destinations)", "call.destinations == " + quoteList(t.list()),
	}
	for _, n := range one.repeated() {
		if term := one.term(n); term != "" {
			terms = append(terms, term)
		}
	}
	return terms
}

// term returns the term of a fact; "" if there is none.
func (one *example) term(n narrowed) string {
	value := one.facts[n.fact]
	texts, _ := value.([]string)
	switch n.kind {
	case never:
		return "!" + n.fact
	case same:
		switch value {
		case true:
			return n.fact
		case false, nil: // hints have no value if nobody states them
			return "!" + n.fact
		}
		return n.fact + " == " + literal(value)
	case empty:
		return "size(" + n.fact + ") == 0"
	case within:
		return subset(n.fact, texts)
	case from:
		return subset(n.fact, union(texts, byUser))
	case sized:
		return "size(" + n.fact + ") == " + literal(value)
	case leaked, atMost:
		if n.kind == atMost || one.read[n.fact] || one.facts["session.untrusted"] == true {
			return n.fact + " <= " + literal(value)
		}
	}
	return ""
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

// sorted returns the keys of the groups, so that proposals have an order.
func sorted(all map[variant]*group) []variant {
	return slices.SortedFunc(maps.Keys(all), func(a, b variant) int {
		return slices.Compare([]string{a.server, a.method, a.name, a.destinations, a.rest}, []string{b.server, b.method, b.name, b.destinations, b.rest})
	})
}
