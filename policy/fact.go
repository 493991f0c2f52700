package policy

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/expression"
	"github.com/weir-mcp/weir/internal/spelling"
	"github.com/weir-mcp/weir/label"
)

// A Standing is how an analysis of all calls of some tools treats a fact.
type Standing uint8

// The standings. A fact without one is a mistake of the vocabulary.
const (
	_        Standing = iota
	Settled           // by a state of the session and a tool
	Named             // it is a name, by which tools can be told apart
	Narrowed          // a tool settles it, unless arguments or the server may narrow the contract
	Chosen            // an attacker settles it; without one, it is open
	Both              // an attacker and a tool settle it together: it is open where one of them leaves it open
	Open              // it may be anything
)

// about is the part of a fact that people read.
type about struct {
	name     string
	standing Standing
	meaning  string // a cell of the table in docs/policy.md; "" for a fact that another row explains
}

// A fact is one name that rules may use: a row of the vocabulary, from which the rule language, the parser of values,
// the record of decisions, replay, analysis and the manual follow. Names are whole, dots included: to CEL each is a
// variable of its own, so reading one is a single look-up and a misspelt one is an error at load.
type fact struct {
	about
	typ    *cel.Type
	get    func(*activation) ref.Val
	has    func(*activation) bool // whether it is known; nil if it always is
	set    setter                 // gives it a value; nil if it follows from other facts
	encode func(*encoder)         // records it; nil if an event has it elsewhere, or it follows from other facts
	values []string               // the values of it, or of an element of it; nil if anything
	most   int                    // elements of a set; 0: no fewer than any set has

	result  bool // known only once there is a result
	ofTrace bool // known only if the arguments were traced
	perTool bool // the same in every call of a tool under one contract
	assumed bool // the worst is assumed where nobody states it
}

// A setter gives a fact a value. The error completes "NAME is …".
type setter func(*ParsedFacts, any) error

// variable returns the fact as the rule language takes it.
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

// language returns the compiler of the vocabulary: it does not change, and it takes longer to make than a policy takes
// to load.
var language = sync.OnceValues(func() (*expression.Compiler, error) {
	variables := make([]expression.Variable, len(facts))
	for i := range facts {
		variables[i] = facts[i].variable()
	}
	return expression.New(variables)
})

// textList is the type of facts that are sets; the values come sorted.
var textList = cel.ListType(cel.StringType)

// boolean is a fact that follows from others.
func boolean(f about, get func(*activation) bool) fact {
	return fact{about: f, typ: cel.BoolType, get: func(a *activation) ref.Val { return types.Bool(get(a)) }}
}

// texts is a set that follows from other facts.
func texts(f about, values []string, get func(*activation) ref.Val) fact {
	return fact{about: f, typ: textList, values: values, get: get}
}

// flag is a member of the facts that is true or false.
func flag(f about, of func(*Facts) *bool) fact {
	out := boolean(f, func(a *activation) bool { return *of(&a.facts) })
	out.set = func(g *ParsedFacts, v any) error {
		*of(&g.Facts), _ = v.(bool)
		return ofType[bool](v, "true or false")
	}
	out.encode = func(e *encoder) { e.flag(f.name, *of(e.facts)) }
	return out
}

// count is a member of the facts that is a number.
func count(f about, of func(*Facts) *int) fact {
	return fact{about: f, typ: cel.IntType,
		get: func(a *activation) ref.Val { return types.Int(*of(&a.facts)) },
		set: func(g *ParsedFacts, v any) error {
			*of(&g.Facts), _ = v.(int)
			return ofType[int](v, "a whole number")
		},
		encode: func(e *encoder) { e.number(f.name, *of(e.facts)) }}
}

// text is a member of the facts that is a text.
func text(f about, values []string, of func(*Facts) *string) fact {
	return fact{about: f, typ: cel.StringType, values: values,
		get: func(a *activation) ref.Val { return boundedText(*of(&a.facts)) },
		set: func(g *ParsedFacts, v any) error {
			*of(&g.Facts), _ = v.(string)
			return ofType[string](v, "a text")
		},
		encode: func(e *encoder) { e.word(f.name, *of(e.facts), "") }}
}

// set is a member of the facts that is a set.
func set[T ~string](f about, values []string, of func(*Facts) *label.Set[T]) fact {
	out := texts(f, values, func(a *activation) ref.Val { return list(*of(&a.facts)) })
	out.set = func(g *ParsedFacts, v any) error {
		texts, _ := v.([]string)
		*of(&g.Facts) = label.SetOf(convert[T](texts)...)
		return ofType[[]string](v, "a list of texts")
	}
	out.encode = func(e *encoder) {
		if s := of(e.facts); s.Len() > 0 {
			encodeSet(e, f.name, *s)
		}
	}
	return out
}

// maxStated is how many elements rules may read of a set that an overlay makes known, so that they can loop over it.
const maxStated = 256

// stated is a set that only an overlay makes known. While it is not known it cannot be read: nothing would look like
// none. Its size is recorded, and not its elements.
func stated(f about, of func(*Facts) ([]string, bool), give func(*ParsedFacts, []string)) fact {
	return fact{about: f, typ: textList, most: maxStated,
		get: func(a *activation) ref.Val {
			items, known := of(&a.facts)
			switch {
			case !known:
				return types.NewErr("%s is not known: no overlay says it of this tool", f.name)
			case len(items) > maxStated:
				return types.NewErr("%s has %d elements, more than the %d that rules may read", f.name, len(items), maxStated)
			}
			return list(label.SetOf(items...))
		},
		has: func(a *activation) bool { _, known := of(&a.facts); return known },
		set: func(g *ParsedFacts, v any) error {
			if v == nil {
				return nil
			}
			texts, err := g.elements(f.name, v)
			give(g, texts)
			return err
		},
		encode: func(e *encoder) {
			items, known := of(e.facts)
			switch all := label.SetOf(items...); {
			case !known:
			case e.destinations && f.name == destinationsFact && e.facts.clean() && recordable(items):
				encodeSet(e, f.name, all)
			default:
				e.count(f.name, measure(all))
			}
		}}
}

// destinationsFact is the set whose elements the record may have, and the bounds of these.
const (
	destinationsFact  = "call.destinations"
	mostDestinations  = 16
	longestRecordable = 256 // bytes
)

// recordable reports whether an event may hold the elements of a set. It holds no URL with a part in which secrets are.
func recordable(items []string) bool {
	return len(items) <= mostDestinations && !slices.ContainsFunc(items, func(s string) bool {
		_, rest, isURL := strings.Cut(s, "://")
		return len(s) > longestRecordable || !utf8.ValidString(s) || isURL && strings.ContainsAny(rest, "@?#")
	})
}

// clean reports whether the arguments were searched, and nothing was found in them.
func (f *Facts) clean() bool { return f.Call.Traced && f.Call.Found.none() }

// readers is the circle that a label leaves. A label without a limit has none: of private data nothing is known then.
func readers(f about) fact {
	out := set(f, nil, func(f *Facts) *label.Set[string] {
		who, _ := f.Session.Label.Readers.Limited()
		return &who
	})
	out.set = func(g *ParsedFacts, v any) error {
		who, _ := v.([]string)
		g.Session.Label.Readers = label.OnlyReaders(who...)
		return ofType[[]string](v, "a list of texts")
	}
	return out.unrecorded()
}

// unrecorded leaves the fact out of the record: an event of package record has it elsewhere.
func (f fact) unrecorded() fact {
	f.encode = nil
	return f
}

// ofTool says that the fact is the same in every call of a tool under one contract.
func (f fact) ofTool() fact {
	f.perTool = true
	return f
}

// traced is a fact that is known only if the arguments were traced; else it has the worst value, or its own if that is
// nil. A value that is given to it makes the arguments traced.
func (f fact) traced(worst ref.Val) fact {
	get, set, encode := f.get, f.set, f.encode
	f.ofTrace = true
	f.get = func(a *activation) ref.Val {
		if !a.call().Traced && worst != nil {
			return worst
		}
		return get(a)
	}
	f.set = func(g *ParsedFacts, v any) error {
		g.Call.Traced = true
		return set(g, v)
	}
	f.encode = func(e *encoder) {
		if e.facts.Call.Traced {
			encode(e)
		}
	}
	return f
}

// responses marks facts that are known only once there is a result.
func responses(all []fact) []fact {
	for i := range all {
		all[i].result = true
	}
	return all
}

// sinceUser is the time since the user's last message, in whole seconds.
func sinceUser(f about) fact {
	return fact{about: f, typ: cel.IntType,
		get: func(a *activation) ref.Val { return types.Int(a.facts.Session.SinceUser / time.Second) },
		has: func(a *activation) bool { return a.facts.Session.UserWords },
		set: func(g *ParsedFacts, v any) error {
			seconds, _ := v.(int)
			g.Session.UserWords, g.Session.SinceUser = true, time.Duration(seconds)*time.Second
			return ofType[int](v, "a whole number of seconds")
		},
		encode: func(e *encoder) {
			if e.facts.Session.UserWords {
				e.number(f.name, int(e.facts.Session.SinceUser/time.Second))
			}
		}}
}

// serverTrust is the operator's trust in the server.
func serverTrust(f about) fact {
	return fact{about: f, typ: cel.StringType, values: trustNames,
		get: func(a *activation) ref.Val { return types.String(a.facts.Server.Trust.String()) },
		set: func(g *ParsedFacts, v any) (err error) {
			s, _ := v.(string)
			g.Server.Trust, err = contract.ParseTrust(s)
			return err
		},
		encode: func(e *encoder) { e.word(f.name, e.facts.Server.Trust.String(), contract.Untrusted.String()) }}
}

// The closed vocabularies.
var (
	destinationNames = convert[string](contract.Destinations())
	outcomeNames     = convert[string](contract.Outcomes())
	sourceNames      = convert[string](label.Sources())
	classNames       = convert[string](label.Classes())
	trustNames       = []string{"untrusted", "known", "trusted"}
	methodNames      = []string{
		"tools/call", "resources/read", "prompts/get", "elicitation/create", "sampling/createMessage", "roots/list",
	}
	kindNames = []string{"user", "trusted", "private", "untrusted", "novel"}
	legNames  = []string{"private", "untrusted", "sent"}
	roleNames = []string{"stated", "drafted"}
)
