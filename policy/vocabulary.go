package policy

import (
	"slices"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/expression"
	"github.com/weir-mcp/weir/internal/spelling"
	"github.com/weir-mcp/weir/label"
)

// A fact is one name that rules may use. Names are whole, dots included: to CEL each is a variable of its own, so
// reading one is a single look-up and a misspelt one is an error at load.
type fact struct {
	name   string
	typ    *cel.Type
	get    func(*activation) ref.Val
	has    func(*activation) bool // whether it is known; nil if it always is
	result bool                   // known only once there is a result
	values []string               // what it, or an element of it, may be; nil if anything
	most   int                    // elements of a set; 0: no fewer than any set has
}

// variable returns what the rule language has to know of the fact.
func (f *fact) variable() expression.Variable {
	v := expression.Variable{Name: f.name, Type: f.typ, Optional: f.has != nil, Elements: f.most}
	if f.values == nil {
		return v
	}
	if !f.ofClasses() {
		v.Elements = len(f.values)
	}
	v.Never = func(value string) (string, bool) { return f.hint(value), !f.allows(value) }
	return v
}

// hint is the remedy for a value that the fact never is.
func (f *fact) hint(value string) string {
	if f.ofClasses() && value == "none" {
		return "none is the empty set: write size(" + f.name + ") == 0"
	}
	return spelling.DidYouMean(value, f.values)
}

// language returns the compiler of the vocabulary: it does not change, and it takes longer to make than a policy takes to
// load.
var language = sync.OnceValues(func() (*expression.Compiler, error) {
	variables := make([]expression.Variable, len(facts))
	for i := range facts {
		variables[i] = facts[i].variable()
	}
	return expression.New(variables)
})

// textList is the type of facts that are sets; the values come sorted.
var textList = cel.ListType(cel.StringType)

// The closed vocabularies.
var (
	destinationNames = []string{"ephemeral", "system", "user", "internal", "public"}
	outcomeNames     = []string{"benign", "consequential", "irreversible"}
	sourceNames      = []string{"untrustedPublic", "trustedPublic", "internal", "user", "system"}
	classNames       = []string{"user", "pii", "financial", "credentials", "regulated", "unspecified"}
	trustNames       = []string{"untrusted", "known", "trusted"}
	methodNames      = []string{
		"tools/call", "resources/read", "prompts/get", "elicitation/create", "sampling/createMessage", "roots/list",
	}
	kindNames = []string{"user", "trusted", "private", "untrusted", "novel"}
	legNames  = []string{"private", "untrusted", "sent"}
	roleNames = []string{"stated", "drafted"}
)

// regulated starts the name of a class of regulated data whose regime is named.
const regulated = string(label.Regulated) + ":"

// facts is the vocabulary; factIndex finds a name in it. Neither changes.
var (
	facts     = vocabulary()
	factIndex = indexFacts(facts)
)

func vocabulary() []fact {
	all := slices.Concat(
		requestFacts(),
		contractFacts("tool.annotations", func(a *activation) *contract.Contract { return a.annotations }),
		contractFacts("tool.declared", func(a *activation) *contract.Contract { return &a.facts.Tool.Declared }),
		toolFacts(), responseFacts(), sessionFacts(), serverFacts(), callFacts(), argumentFacts(),
	)
	return slices.Clip(all)
}

func indexFacts(all []fact) map[string]int {
	index := make(map[string]int, len(all))
	for i := range all {
		index[all[i].name] = i
	}
	return index
}

// requestFacts are the session's label as it goes up with the request (SEP-1913, Tool Call Request Extension).
func requestFacts() []fact {
	return []fact{
		boolean("request.annotations.openWorldHint", func(a *activation) bool { return a.session().Untrusted }),
		texts("request.annotations.attribution", nil, func(a *activation) ref.Val { return list(a.session().Attribution) }),
	}
}

// contractFacts are the members of a contract (SEP-1913, Extended Tool Annotations, and the proposals beside it).
func contractFacts(prefix string, of func(*activation) *contract.Contract) []fact {
	var all []fact
	for _, m := range classicHints {
		all = append(all, hint(prefix+"."+m.name, func(a *activation) contract.Hint { return *m.of(of(a)) }))
	}
	all = append(all,
		texts(prefix+".attribution", nil, func(a *activation) ref.Val { return list(of(a).Attribution) }),
		possible(prefix+".inputMetadata.destination", destinationNames,
			func(a *activation) contract.Values[contract.Destination] { return of(a).Destinations }),
		possible(prefix+".inputMetadata.sensitivity", classNames,
			func(a *activation) contract.Values[label.Class] { return of(a).Accepts }),
		possible(prefix+".inputMetadata.outcomes", outcomeNames,
			func(a *activation) contract.Values[contract.Outcome] { return of(a).Outcomes }),
		possible(prefix+".returnMetadata.source", sourceNames,
			func(a *activation) contract.Values[label.Source] { return of(a).Sources }),
		possible(prefix+".returnMetadata.sensitivity", classNames,
			func(a *activation) contract.Values[label.Class] { return of(a).Returns }),
	)
	for _, m := range hintMembers {
		all = append(all, hint(prefix+"."+m.name, func(a *activation) contract.Hint { return *m.of(of(a)) }))
	}
	return all
}

func toolFacts() []fact {
	return []fact{
		text("tool.name", nil, func(a *activation) string { return a.facts.Tool.Name }),
		texts("tool.declares", declarable, func(a *activation) ref.Val { return list(declares(&a.facts.Tool.Declared)) }),
	}
}

// responseFacts are the label of the result (SEP-1913, Tool Call Result Extension).
func responseFacts() []fact {
	all := labelFacts("response.annotations.", (*activation).response)
	all = append(all,
		boolean("response.annotations.openWorldHint", func(a *activation) bool { return a.response().Untrusted }),
		boolean("response.annotations.maliciousActivityHint", func(a *activation) bool { return a.response().Malicious }),
		boolean("response.isError", func(a *activation) bool { return a.facts.ResponseError }),
	)
	for i := range all {
		all[i].result = true
	}
	return all
}

func sessionFacts() []fact {
	return append(labelFacts("session.", (*activation).session),
		text("session.id", nil, func(a *activation) string { return a.facts.Session.ID }),
		text("session.parent", nil, func(a *activation) string { return a.facts.Session.Parent }),
		boolean("session.untrusted", func(a *activation) bool { return a.session().Untrusted }),
		boolean("session.malicious", func(a *activation) bool { return a.session().Malicious }),
		boolean("session.credentials", func(a *activation) bool { return a.session().Sensitivity.Has(label.Credentials) }),
		number("session.calls", func(a *activation) int { return a.facts.Session.Calls }),
		number("session.sent", func(a *activation) int { return a.facts.Session.Sent }),
		number("session.recent", func(a *activation) int { return a.facts.Session.Recent }),
		boolean("session.userWords", func(a *activation) bool { return a.facts.Session.UserWords }),
		fact{name: "session.sinceUser", typ: cel.IntType,
			get: func(a *activation) ref.Val { return types.Int(a.facts.Session.SinceUser / time.Second) },
			has: func(a *activation) bool { return a.facts.Session.UserWords }},
		texts("session.trifecta", legNames, func(a *activation) ref.Val { return list(a.legs()) }),
	)
}

// labelFacts are the components of a label that sessions and responses share.
func labelFacts(prefix string, of func(*activation) *label.Label) []fact {
	return []fact{
		boolean(prefix+"private", func(a *activation) bool { return of(a).Private }),
		texts(prefix+"sensitivity", classNames, func(a *activation) ref.Val { return list(of(a).Sensitivity) }),
		texts(prefix+"sources", sourceNames, func(a *activation) ref.Val { return list(of(a).Sources) }),
		texts(prefix+"attribution", nil, func(a *activation) ref.Val { return list(of(a).Attribution) }),
	}
}

func serverFacts() []fact {
	return []fact{
		text("server.name", nil, func(a *activation) string { return a.facts.Server.Name }),
		text("server.trust", trustNames, func(a *activation) string { return a.facts.Server.Trust.String() }),
	}
}

func callFacts() []fact {
	return []fact{
		text("call.method", methodNames, func(a *activation) string { return a.facts.Method }),
		text("call.name", nil, func(a *activation) string { return a.facts.Tool.Name }),
		boolean("call.byAgent", (*activation).byAgent),
		boolean("call.plainRead", (*activation).plainRead),
		boolean("call.hasArguments", func(a *activation) bool { return hasMembers(a.facts.Arguments) }),
		stated("call.destinations", func(a *activation) ([]string, bool) {
			r := &a.facts.Roles
			return textsOf(r.Destinations), r.Known && !r.Cut
		}),
		stated("call.reads", func(a *activation) ([]string, bool) { return a.facts.Resources.Reads, a.facts.Resources.Known }),
		stated("call.writes", func(a *activation) ([]string, bool) { return a.facts.Resources.Writes, a.facts.Resources.Known }),
		{name: expression.Arguments, typ: cel.MapType(cel.StringType, cel.DynType),
			get: func(a *activation) ref.Val { return expression.DecodeArguments(a.facts.Arguments) }},
	}
}

// maxStated is how many elements rules may read of what an overlay makes known, so that they can loop over it.
const maxStated = 256

// stated is a set that only an overlay makes known. While it is not known it cannot be read: nothing would look like none.
func stated(name string, of func(*activation) ([]string, bool)) fact {
	return fact{name: name, typ: textList, most: maxStated,
		get: func(a *activation) ref.Val {
			items, known := of(a)
			switch {
			case !known:
				return types.NewErr("%s is not known: no overlay says it of this tool", name)
			case len(items) > maxStated:
				return types.NewErr("%s has %d elements, more than the %d that rules may read", name, len(items), maxStated)
			}
			return list(label.SetOf(items...))
		},
		has: func(a *activation) bool { _, known := of(a); return known }}
}

func textsOf(arguments []Argument) []string {
	out := make([]string, len(arguments))
	for i, a := range arguments {
		out[i] = a.Text
	}
	return out
}

func number(name string, get func(*activation) int) fact {
	return fact{name: name, typ: cel.IntType, get: func(a *activation) ref.Val { return types.Int(get(a)) }}
}

func boolean(name string, get func(*activation) bool) fact {
	return fact{name: name, typ: cel.BoolType, get: func(a *activation) ref.Val { return types.Bool(get(a)) }}
}

func text(name string, values []string, get func(*activation) string) fact {
	return fact{name: name, typ: cel.StringType, values: values, get: func(a *activation) ref.Val { return boundedText(get(a)) }}
}

func texts(name string, values []string, get func(*activation) ref.Val) fact {
	return fact{name: name, typ: textList, values: values, get: get}
}

func hint(name string, get func(*activation) contract.Hint) fact {
	return fact{name: name, typ: cel.BoolType,
		get: func(a *activation) ref.Val { return types.Bool(get(a) == contract.Yes) },
		has: func(a *activation) bool { return get(a) != contract.Unknown }}
}

func possible[T ~string](name string, values []string, get func(*activation) contract.Values[T]) fact {
	return fact{name: name, typ: textList, values: values,
		get: func(a *activation) ref.Val { return list(get(a).Set()) },
		has: func(a *activation) bool { _, known := get(a).Known(); return known }}
}

func known[T ~string](v contract.Values[T]) bool {
	_, ok := v.Known()
	return ok
}

// allows reports whether the fact, or an element of it, can ever be the value.
func (f *fact) allows(value string) bool {
	if f.values == nil || slices.Contains(f.values, value) {
		return true
	}
	return f.ofClasses() && strings.HasPrefix(value, regulated) && value != regulated
}

// ofClasses reports whether the fact is a set of sensitivity classes.
func (f *fact) ofClasses() bool {
	return len(f.values) == len(classNames) && &f.values[0] == &classNames[0]
}
