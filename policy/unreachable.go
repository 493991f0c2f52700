package policy

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/weir-mcp/weir/internal/expression"
)

// Idle returns the rules that never decide: those that no facts make match, and those beside which another rule always
// matches that is stricter, or as strict and earlier. It goes through all values of the facts that have few, as far as
// that is not too much, and leaves the other facts open; so its reports are proved, and may be incomplete.
func (p *Policy) Idle() []Problem {
	if p == nil {
		return nil
	}
	var idle []Problem
	for _, rules := range p.compiled().phases {
		for i := range rules {
			r := &rules[i]
			msg, hint := "", ""
			if dead(r) {
				msg, hint = fmt.Sprintf("rule %q never matches", r.Name), "some parts of the condition rule out each other"
			} else if by := p.shadow(rules, i); by != "" {
				msg = fmt.Sprintf("rule %q never decides: whenever it matches, %q does too, and goes first", r.Name, by)
				hint = "the strictest rule that matches decides, of equals the first"
			} else if r.Effect == Allow && p.fallback == Allow {
				msg, hint = fmt.Sprintf("rule %q changes nothing: without it allow is the effect too", r.Name), "an allow rule makes no exception from other rules"
			}
			if msg != "" {
				idle = append(idle, Problem{File: p.name, Line: r.Line, Col: r.conditionAt.Col, Msg: msg, Hint: hint})
			}
		}
	}
	slices.SortStableFunc(idle, func(a, b Problem) int { return a.Line - b.Line })
	return idle
}

// dead reports whether it is proved that the rule never matches.
func dead(r *rule) bool {
	return everywhere([]*rule{r}, func(answers []outcome) bool { return answers[0] == never })
}

// shadow returns the name of a rule that always goes before another one.
func (p *Policy) shadow(rules []rule, i int) string {
	r, failing := &rules[i], min(rules[i].Effect, Ask, p.fallback)
	for j := range rules {
		by := &rules[j]
		first := func(e, than Effect) bool { return e < than || e == than && j < i }
		if j == i || !first(by.Effect, r.Effect) {
			continue
		}
		if by.If == r.If && first(min(by.Effect, Ask, p.fallback), failing) || covers(by, r, first(by.Effect, failing)) {
			return by.Name
		}
	}
	return ""
}

// covers reports whether it is proved that by matches whenever r does or, if it goes first of an r that failed, may.
func covers(by, r *rule, firstOfFailed bool) bool {
	return everywhere([]*rule{by, r}, func(answers []outcome) bool {
		return answers[1] == never || answers[0] == always && (answers[1] == always || firstOfFailed)
	})
}

// An outcome is the effect of a rule for all values of the facts that are left open.
type outcome uint8

const (
	unsure outcome = iota // or it cannot be evaluated
	never
	always
)

// maxValuations is how many combinations of values are gone through for a question.
const maxValuations = 1 << 12

// everywhere reports whether something holds of the outcomes of rules for all values of the facts that they read. Facts
// of many values are left open.
func everywhere(rules []*rule, holds func([]outcome) bool) bool {
	w := newValuations(rules)
	frame, err := expression.NewFrame(w)
	if err != nil {
		return false
	}
	defer frame.Close()
	outcomes := make([]outcome, len(rules))
	for ok := true; ok; ok = w.next() {
		if !w.possible() {
			continue
		}
		for i, r := range rules {
			outcomes[i] = unsure
			switch answer, err := judge(frame, r, []string{expression.Arguments}); {
			case err != nil:
			case answer == expression.Yes:
				outcomes[i] = always
			case answer == expression.No:
				outcomes[i] = never
			}
		}
		if !holds(outcomes) {
			return false
		}
	}
	return true
}

// valuations are the combinations of values of some facts. It is an activation over the present one, in which all other
// facts are open.
type valuations struct {
	domains []domain
	at      []int // in the values of each
}

// A domain is all values of one fact.
type domain struct {
	fact   *fact
	values []domainValue
}

// A domainValue is a value of a fact, and whether it is known.
type domainValue struct {
	ref.Val
	known bool
}

func newValuations(rules []*rule) *valuations {
	w := &valuations{}
	for i := range facts {
		f := &facts[i]
		if !slices.ContainsFunc(rules, func(r *rule) bool { return r.condition.Reads(f.name) }) {
			continue
		}
		if values := f.domain(); values != nil {
			w.domains = append(w.domains, domain{f, values})
		}
	}
	slices.SortStableFunc(w.domains, func(a, b domain) int { return len(a.values) - len(b.values) })
	size := 1
	for i, d := range w.domains {
		if size *= len(d.values); size > maxValuations {
			w.domains = w.domains[:i]
			break
		}
	}
	w.at = make([]int, len(w.domains))
	return w
}

// next goes to the next combination, and reports false after the last.
func (w *valuations) next() bool {
	for i := range w.at {
		if w.at[i]++; w.at[i] < len(w.domains[i].values) {
			return true
		}
		w.at[i] = 0
	}
	return false
}

// domain returns all values that the fact may have; nil if they are not finite, or too many. Classes of sensitivity are
// not finite: regimes have names.
func (f *fact) domain() []domainValue {
	var values []domainValue
	switch {
	case f.typ.IsExactType(cel.BoolType):
		values = []domainValue{{types.False, true}, {types.True, true}}
	case f.values == nil || f.ofClasses() || len(f.values) > 6:
		return nil
	case f.typ.IsExactType(cel.StringType):
		for _, s := range f.values {
			values = append(values, domainValue{types.String(s), true})
		}
	default:
		for bits := range 1 << len(f.values) {
			var texts []string
			for i, s := range f.values {
				if bits&(1<<i) != 0 {
					texts = append(texts, s)
				}
			}
			slices.Sort(texts)
			values = append(values, domainValue{types.NewStringList(types.DefaultTypeAdapter, texts), true})
		}
	}
	if f.has != nil && !f.assumed {
		values = append(values, domainValue{values[0].Val, false}) // false, or empty
	}
	return values
}

// is reports whether a fact is true in this world; false too if it is open.
func (w *valuations) is(name string) (value, closed bool) {
	for i, d := range w.domains {
		if d.fact.name == name {
			return d.values[w.at[i]].Val == types.True, true
		}
	}
	return false, false
}

// implied are pairs of facts of which the first is never true without the second.
var implied = [...][2]string{
	{"request.annotations.openWorldHint", "session.untrusted"},
	{"session.untrusted", "request.annotations.openWorldHint"},
	{annotations + "readOnlyHint", "call.plainRead"},
	{"call.plainRead", annotations + "readOnlyHint"},
	{"call.egress", "call.byAgent"},
	{"call.crosses", "call.byAgent"},
	{"call.crosses", "session.credentials"},
	{"call.crosses", "call.hasArguments"},
}

// possible reports whether the world agrees with the facts that follow from others.
func (w *valuations) possible() bool {
	for _, pair := range implied {
		if if1, ok := w.is(pair[0]); ok && if1 {
			if then, ok := w.is(pair[1]); ok && !then {
				return false
			}
		}
	}
	return true
}

// ResolveName returns the value of a fact in this world, or of has(fact).
func (w *valuations) ResolveName(name string) (any, bool) {
	present, asked := expression.Present(name)
	if asked {
		name = present
	}
	for i, d := range w.domains {
		if d.fact.name != name {
			continue
		}
		v := d.values[w.at[i]]
		if asked {
			return types.Bool(v.known), true
		}
		return v.Val, true
	}
	return expression.Unknown(), true
}

// Parent returns nil: there is nothing outside the facts.
func (*valuations) Parent() cel.Activation { return nil }
