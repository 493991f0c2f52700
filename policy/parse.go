package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// ParseFacts returns the facts that have these values, at one moment. Facts without a value have their zero value,
// except for tool.annotations: its members without a value follow from tool.declared and server.trust, as
// [contract.Effective] has it. Facts that follow from others cannot be given, and labels are normal (see
// [label.Label.Normal]). If a fact about the origins of arguments is given, the arguments count as traced. The error is
// an [Errors], with the hint as a remedy and no places.
func ParseFacts(phase Phase, v Values) (*ParsedFacts, error) {
	g := &ParsedFacts{Facts: Facts{Phase: phase, Method: methodNames[0]}}
	if phase == OnResult {
		g.Response = &label.Label{}
	}
	var wrong Errors
	set := func(names []string) {
		for _, name := range names {
			if err := g.set(name, v[name]); err != nil {
				wrong = append(wrong, *err)
			}
		}
	}
	ofContract := func(name string) bool { return strings.HasPrefix(name, annotations) }
	names := slices.Sorted(maps.Keys(v))
	set(slices.DeleteFunc(slices.Clone(names), ofContract))
	g.leaks(v)
	g.Session.Label = g.Session.Label.Normal()
	if g.Response != nil {
		*g.Response = g.Response.Normal()
	}
	g.Tool.Annotations = contract.Effective(g.Tool.Declared, g.Server.Trust)
	set(slices.DeleteFunc(names, func(name string) bool { return !ofContract(name) }))
	if len(wrong) > 0 {
		return nil, wrong
	}
	return g, nil
}

// leaks takes values of which nobody says how much they can tell for the worst, unless all are the user's or a trusted
// source's.
func (g *ParsedFacts) leaks(v Values) {
	_, bits := v["call.leak.bits"]
	_, total := v["call.leak.total"]
	if bits || total {
		return
	}
	for _, from := range []label.Set[string]{g.Call.From, g.Call.SmallFrom, g.Call.ContentFrom, g.Call.DestinationFrom} {
		for kind := range from.All() {
			if kind != "user" && kind != "trusted" {
				g.Call.Leak, g.Call.Total = MostBits, MostBits
			}
		}
	}
}

// set gives one fact a value.
func (g *ParsedFacts) set(name string, value any) *Problem {
	i, known := factIndex[name]
	switch {
	case !known:
		c, err := language()
		if err != nil {
			return &Problem{Msg: err.Error()}
		}
		return &Problem{Msg: "unknown fact " + name, Hint: c.Hint(name)}
	case facts[i].set == nil:
		return &Problem{Msg: name + " follows from other facts", Hint: "give those that docs/policy.md names with it"}
	case facts[i].result && g.Phase != OnResult:
		return &Problem{Msg: name + " is known of results only", Hint: "write when: result"}
	}
	if err := facts[i].set(g, value); err != nil {
		return &Problem{Msg: name + " is " + err.Error()}
	}
	return facts[i].check(value)
}

// check reports a text that the fact, or an element of it, never is.
func (f *fact) check(value any) *Problem {
	texts, _ := value.([]string)
	if s, ok := value.(string); ok {
		texts = []string{s}
	}
	for _, s := range texts {
		if !f.allows(s) {
			return &Problem{Msg: fmt.Sprintf("%s is never %q", f.name, s), Hint: f.hint(s)}
		}
	}
	return nil
}
