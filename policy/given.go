package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/expression"
	"github.com/weir-mcp/weir/label"
)

// Values are facts by their names: a bool, a string, an int, a []string, and for call.arguments the JSON text of an object. Of a set
// that holds what the call was given (call.destinations, call.reads, call.writes, call.destination.values, call.destination.hosts), an
// int may say how many elements it has, where they are kept from the reader. Nil is a hint or a set that is not known.
type Values map[string]any

// A Given is facts that were put together from values.
type Given struct {
	Facts

	// Hidden are the facts of which only the size is known, so that [Policy.Explain] leaves open what depends on their values.
	Hidden []string
}

// Give returns the facts that have these values, at one moment. What is not given is as in [Facts] that nobody filled in, except for
// tool.annotations: what is not given of it follows from tool.declared and server.trust, as [contract.Effective] has it. Facts that
// follow from others cannot be given, and labels are normal (see [label.Label.Normal]). If one of the facts of where arguments come from is given, the arguments count as traced. The
// error is an [Errors], with the hint as a remedy and no places.
func Give(phase Phase, v Values) (*Given, error) {
	g := &Given{Facts: Facts{Phase: phase, Method: methodNames[0]}}
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

// leaks takes values of which nobody says how much they can tell for the worst, unless all are the user's or a trusted source's.
func (g *Given) leaks(v Values) {
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

const annotations = "tool.annotations."

// set gives one fact a value.
func (g *Given) set(name string, value any) *Problem {
	i, known := factIndex[name]
	set, settable := givens[name]
	switch {
	case !known:
		c, err := language()
		if err != nil {
			return &Problem{Msg: err.Error()}
		}
		return &Problem{Msg: "unknown fact " + name, Hint: c.Hint(name)}
	case !settable:
		return &Problem{Msg: name + " follows from other facts", Hint: "give those that docs/policy.md names with it"}
	case facts[i].result && g.Phase != OnResult:
		return &Problem{Msg: name + " is known of results only", Hint: "write when: result"}
	}
	if err := set(g, value); err != nil {
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

// givens are the facts that do not follow from others, and how each is given a value.
var givens = allGivens()

type giver func(*Given, any) error

func allGivens() map[string]giver {
	all := map[string]giver{
		"call.method": giveText(func(g *Given) *string { return &g.Method }),
		"tool.name":   giveText(func(g *Given) *string { return &g.Tool.Name }),
		"server.name": giveText(func(g *Given) *string { return &g.Server.Name }),
		"server.trust": func(g *Given, v any) (err error) {
			s, _ := v.(string)
			g.Server.Trust, err = contract.ParseTrust(s)
			return err
		},
		"call.hasArguments":                  giveArguments,
		expression.Arguments:                 giveArgumentText,
		"response.isError":                   giveBool(func(g *Given) *bool { return &g.ResponseError }),
		"session.id":                         giveText(func(g *Given) *string { return &g.Session.ID }),
		"session.parent":                     giveText(func(g *Given) *string { return &g.Session.Parent }),
		"session.calls":                      giveInt(func(g *Given) *int { return &g.Session.Calls }),
		"session.sent":                       giveInt(func(g *Given) *int { return &g.Session.Sent }),
		"session.recent":                     giveInt(func(g *Given) *int { return &g.Session.Recent }),
		"session.userWords":                  giveBool(func(g *Given) *bool { return &g.Session.UserWords }),
		"session.sinceUser":                  giveSince,
		"session.untrusted":                  giveBool(func(g *Given) *bool { return &g.Session.Label.Untrusted }),
		"session.malicious":                  giveBool(func(g *Given) *bool { return &g.Session.Label.Malicious }),
		"call.roles":                         traced(func(g *Given, v any) error { g.Call.Stated = v == "stated"; return ofType[string](v, "a text") }),
		"call.destinations":                  stating(func(g *Given) *bool { return &g.Roles.Known }, giveDestinations),
		"call.reads":                         stating(func(g *Given) *bool { return &g.Resources.Known }, giveTexts("call.reads", func(g *Given) *[]string { return &g.Resources.Reads })),
		"call.writes":                        stating(func(g *Given) *bool { return &g.Resources.Known }, giveTexts("call.writes", func(g *Given) *[]string { return &g.Resources.Writes })),
		"call.content.links":                 traced(giveBool(func(g *Given) *bool { return &g.Call.Links })),
		"call.content.orders":                traced(giveBool(func(g *Given) *bool { return &g.Call.Orders })),
		"call.content.identifies":            traced(giveBool(func(g *Given) *bool { return &g.Call.Identifies })),
		"call.links.made":                    traced(giveBool(func(g *Given) *bool { return &g.Call.MadeLinks })),
		"call.leak.bits":                     traced(giveInt(func(g *Given) *int { return &g.Call.Leak })),
		"call.leak.total":                    traced(giveInt(func(g *Given) *int { return &g.Call.Total })),
		"call.named":                         traced(giveBool(func(g *Given) *bool { return &g.Call.Named })),
		"call.verbatim":                      traced(giveBool(func(g *Given) *bool { return &g.Call.Verbatim })),
		"call.crosses":                       traced(giveBool(func(g *Given) *bool { return &g.Call.Crosses })),
		"call.destination.own":               traced(giveBool(func(g *Given) *bool { return &g.Call.Own })),
		"call.destination.first":             traced(giveBool(func(g *Given) *bool { return &g.Call.First })),
		"call.destination.strange":           traced(giveBool(func(g *Given) *bool { return &g.Call.Strange })),
		"response.annotations.openWorldHint": giveBool(func(g *Given) *bool { return &g.Response.Untrusted }),
		"response.annotations.maliciousActivityHint": giveBool(func(g *Given) *bool { return &g.Response.Malicious }),
	}
	for name, set := range map[string]func(*CallFacts) *label.Set[string]{
		"call.from":             func(c *CallFacts) *label.Set[string] { return &c.From },
		"call.small.from":       func(c *CallFacts) *label.Set[string] { return &c.SmallFrom },
		"call.destination.from": func(c *CallFacts) *label.Set[string] { return &c.DestinationFrom },
		"call.content.from":     func(c *CallFacts) *label.Set[string] { return &c.ContentFrom },
	} {
		all[name] = traced(giveSet(func(g *Given) *label.Set[string] { return set(&g.Call) }))
	}
	all["call.destination.values"] = traced(giveKept("call.destination.values", func(g *Given) *label.Set[string] { return &g.Call.Destinations }))
	all["call.destination.hosts"] = traced(giveKept("call.destination.hosts", func(g *Given) *label.Set[string] { return &g.Call.Hosts }))
	giveLabel(all, "session.", func(g *Given) *label.Label { return &g.Session.Label })
	giveLabel(all, "response.annotations.", func(g *Given) *label.Label { return g.Response })
	giveContract(all, annotations, func(g *Given) *contract.Contract { return &g.Tool.Annotations })
	giveContract(all, "tool.declared.", func(g *Given) *contract.Contract { return &g.Tool.Declared })
	return all
}

func giveLabel(all map[string]giver, prefix string, of func(*Given) *label.Label) {
	all[prefix+"private"] = giveBool(func(g *Given) *bool { return &of(g).Private })
	all[prefix+"sensitivity"] = giveSet(func(g *Given) *label.Set[label.Class] { return &of(g).Sensitivity })
	all[prefix+"sources"] = giveSet(func(g *Given) *label.Set[label.Source] { return &of(g).Sources })
	all[prefix+"attribution"] = giveSet(func(g *Given) *label.Set[string] { return &of(g).Attribution })
}

func giveContract(all map[string]giver, prefix string, of func(*Given) *contract.Contract) {
	for _, m := range classicHints {
		all[prefix+m.name] = giveHint(func(g *Given) *contract.Hint { return m.of(of(g)) })
	}
	for _, m := range hintMembers {
		all[prefix+m.name] = giveHint(func(g *Given) *contract.Hint { return m.of(of(g)) })
	}
	all[prefix+"attribution"] = giveSet(func(g *Given) *label.Set[string] { return &of(g).Attribution })
	all[prefix+"inputMetadata.destination"] = givePossible(func(g *Given) *contract.Values[contract.Destination] { return &of(g).Destinations })
	all[prefix+"inputMetadata.sensitivity"] = givePossible(func(g *Given) *contract.Values[label.Class] { return &of(g).Accepts })
	all[prefix+"inputMetadata.outcomes"] = givePossible(func(g *Given) *contract.Values[contract.Outcome] { return &of(g).Outcomes })
	all[prefix+"returnMetadata.source"] = givePossible(func(g *Given) *contract.Values[label.Source] { return &of(g).Sources })
	all[prefix+"returnMetadata.sensitivity"] = givePossible(func(g *Given) *contract.Values[label.Class] { return &of(g).Returns })
}

func ofType[T any](v any, what string) error {
	if _, ok := v.(T); !ok {
		return errors.New("not " + what)
	}
	return nil
}

func giveBool(of func(*Given) *bool) giver {
	return func(g *Given, v any) error {
		*of(g), _ = v.(bool)
		return ofType[bool](v, "true or false")
	}
}

func giveText(of func(*Given) *string) giver {
	return func(g *Given, v any) error {
		*of(g), _ = v.(string)
		return ofType[string](v, "a text")
	}
}

func giveInt(of func(*Given) *int) giver {
	return func(g *Given, v any) error {
		*of(g), _ = v.(int)
		return ofType[int](v, "a whole number")
	}
}

func giveSince(g *Given, v any) error {
	seconds, _ := v.(int)
	g.Session.UserWords, g.Session.SinceUser = true, time.Duration(seconds)*time.Second
	return ofType[int](v, "a whole number of seconds")
}

func giveHint(of func(*Given) *contract.Hint) giver {
	return func(g *Given, v any) error {
		if *of(g) = contract.Unknown; v == nil {
			return nil
		}
		yes, _ := v.(bool)
		*of(g) = contract.HintOf(yes)
		return ofType[bool](v, "true, false or null")
	}
}

func givePossible[T ~string](of func(*Given) *contract.Values[T]) giver {
	return func(g *Given, v any) error {
		if *of(g) = (contract.Values[T]{}); v == nil {
			return nil
		}
		texts, _ := v.([]string)
		*of(g) = contract.Possible(convert[T](texts)...)
		return ofType[[]string](v, "a list or null")
	}
}

func convert[T, S ~string](texts []S) []T {
	all := make([]T, len(texts))
	for i, s := range texts {
		all[i] = T(s)
	}
	return all
}

// maxHidden is how many elements of a set may be kept from the reader: more make rules fail that read it, whatever they are.
const maxHidden = expression.MaxTexts + 1

// elements returns the texts of a value, or as many others as the number says. Then the fact is hidden.
func (g *Given) elements(name string, v any) ([]string, error) {
	n, ok := v.(int)
	if !ok {
		texts, _ := v.([]string)
		return texts, ofType[[]string](v, "a list of texts or their number")
	}
	if n < 0 || n > maxHidden {
		return nil, fmt.Errorf("not a number of elements from 0 to %d", maxHidden)
	}
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("%d of %d", i+1, n)
	}
	if n > 0 {
		g.Hidden = append(g.Hidden, name)
	}
	return texts, nil
}

func giveSet[T ~string](of func(*Given) *label.Set[T]) giver {
	return func(g *Given, v any) error {
		texts, _ := v.([]string)
		*of(g) = label.SetOf(convert[T](texts)...)
		return ofType[[]string](v, "a list of texts")
	}
}

// giveKept gives a set that may be kept from the reader.
func giveKept(name string, of func(*Given) *label.Set[string]) giver {
	return func(g *Given, v any) error {
		texts, err := g.elements(name, v)
		*of(g) = label.SetOf(texts...)
		return err
	}
}

func giveTexts(name string, of func(*Given) *[]string) giver {
	return func(g *Given, v any) (err error) {
		*of(g), err = g.elements(name, v)
		return err
	}
}

// traced makes the arguments traced, besides.
func traced(set giver) giver {
	return func(g *Given, v any) error {
		g.Call.Traced = true
		return set(g, v)
	}
}

// stating makes known what an overlay says, unless it is null.
func stating(known func(*Given) *bool, set giver) giver {
	return func(g *Given, v any) error {
		if v == nil {
			return nil
		}
		*known(g) = true
		return set(g, v)
	}
}

func giveDestinations(g *Given, v any) error {
	texts, err := g.elements("call.destinations", v)
	for _, s := range texts {
		g.Roles.Destinations = append(g.Roles.Destinations, Argument{Text: s})
	}
	return err
}

// giveArguments gives a call arguments of which nothing is known.
func giveArguments(g *Given, v any) error {
	if v == true && g.Arguments == nil {
		g.Arguments = []byte(`{"?":null}`)
		g.Hidden = append(g.Hidden, expression.Arguments)
	}
	return ofType[bool](v, "true or false")
}

func giveArgumentText(g *Given, v any) error {
	text, _ := v.(string)
	g.Arguments = []byte(text)
	return ofType[string](v, "the JSON text of an object")
}
