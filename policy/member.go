package policy

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// A member is a part of a contract under the name of its vocabulary.
type member struct {
	name   string
	stated func(*contract.Contract) bool
	fact   func(place) fact
}

// A place is one of the contracts among the facts.
type place struct {
	prefix string
	read   func(*activation) *contract.Contract
	of     func(*Facts) *contract.Contract
	other  func(*encoder) *contract.Contract // the contract without a record; nil if nothing differs from it
}

// places are the contract to decide by and the statements about the tool.
var places = [...]place{
	{annotations, func(a *activation) *contract.Contract { return a.annotations },
		func(f *Facts) *contract.Contract { return &f.Tool.Annotations },
		func(e *encoder) *contract.Contract { return e.follows }},
	{declared, func(a *activation) *contract.Contract { return &a.facts.Tool.Declared },
		func(f *Facts) *contract.Contract { return &f.Tool.Declared },
		func(e *encoder) *contract.Contract { return e.unsaid }},
}

// The prefixes of the members of contracts.
const (
	annotations = "tool.annotations."
	declared    = "tool.declared."
)

// members are the parts of a contract: the table of hints, the origin of its data, and the sets of SEP-1913 (Extended
// Tool Annotations).
var members = slices.Concat(hintMembers(), []member{
	attribution("URIs of where its data comes from"),
	pessimistic(possible("inputMetadata.destination", "the possible destinations of its inputs: `ephemeral`, `system`, `user`, `internal`, `public`",
		destinationNames, func(c *contract.Contract) *contract.Values[contract.Destination] { return &c.Destinations })),
	possible("inputMetadata.sensitivity", "the possible sensitivity of its inputs; the classes below",
		classNames, func(c *contract.Contract) *contract.Values[label.Class] { return &c.Accepts }),
	pessimistic(possible("inputMetadata.outcomes", "the possible outcomes of a call: `benign`, `consequential`, `irreversible`",
		outcomeNames, func(c *contract.Contract) *contract.Values[contract.Outcome] { return &c.Outcomes })),
	possible("returnMetadata.source", "where its results may come from: `untrustedPublic`, `trustedPublic`, `internal`, `user`, `system`",
		sourceNames, func(c *contract.Contract) *contract.Values[label.Source] { return &c.Sources }),
	possible("returnMetadata.sensitivity", "the possible sensitivity of its results; the classes below",
		classNames, func(c *contract.Contract) *contract.Values[label.Class] { return &c.Returns }),
})

// hintMembers are the hints.
func hintMembers() (all []member) {
	for _, h := range contract.Hints() {
		m := hint(h.Name, h.Meaning, h.Of)
		if h.Core {
			m = pessimistic(m)
		}
		all = append(all, m)
	}
	return all
}

// contractFacts are the facts of all members of the contract at a place.
func contractFacts(p place) (all []fact) {
	for _, m := range members {
		all = append(all, m.fact(p))
	}
	return all
}

// memberNames are the names of all members.
func memberNames() (names []string) {
	for _, m := range members {
		names = append(names, m.name)
	}
	return names
}

// declares returns the members that the contract speaks of, in the names of their vocabularies.
func declares(c *contract.Contract) label.Set[string] {
	var names []string
	for _, m := range members {
		if m.stated(c) {
			names = append(names, m.name)
		}
	}
	return label.SetOf(names...)
}

// about returns the row of a member at the place. The manual explains members once, for the contract to decide by.
func (p place) about(name, meaning string) about {
	if p.prefix != annotations {
		meaning = ""
	}
	return about{p.prefix + name, Narrowed, meaning}
}

// pessimistic marks a member that has the worst value in the contract to decide by where nobody states it.
func pessimistic(m member) member {
	of := m.fact
	m.fact = func(p place) fact {
		f := of(p)
		f.assumed = p.prefix == annotations
		return f
	}
	return m
}

func hint(name, meaning string, of func(*contract.Contract) *contract.Hint) member {
	return member{name, func(c *contract.Contract) bool { return *of(c) != contract.Unknown }, func(p place) fact {
		return fact{about: p.about(name, meaning), typ: cel.BoolType, perTool: true,
			get: func(a *activation) ref.Val { return types.Bool(*of(p.read(a)) == contract.Yes) },
			has: func(a *activation) bool { return *of(p.read(a)) != contract.Unknown },
			set: func(g *ParsedFacts, v any) error {
				h := of(p.of(&g.Facts))
				if *h = contract.Unknown; v == nil {
					return nil
				}
				yes, _ := v.(bool)
				*h = contract.HintOf(yes)
				return ofType[bool](v, "true, false or null")
			},
			encode: func(e *encoder) {
				other := p.other(e)
				if other == nil {
					return
				}
				if h := *of(p.of(e.facts)); h != *of(other) {
					e.raw(p.prefix+name, [...]string{"null", "false", "true"}[min(h, contract.Yes)])
				}
			}}
	}}
}

func possible[T ~string](name, meaning string, values []string, of func(*contract.Contract) *contract.Values[T]) member {
	return member{name, func(c *contract.Contract) bool { return known(*of(c)) }, func(p place) fact {
		return fact{about: p.about(name, meaning), typ: textList, values: values, perTool: true,
			get: func(a *activation) ref.Val { return list(of(p.read(a)).Set()) },
			has: func(a *activation) bool { return known(*of(p.read(a))) },
			set: func(g *ParsedFacts, v any) error {
				set := of(p.of(&g.Facts))
				if *set = (contract.Values[T]{}); v == nil {
					return nil
				}
				texts, _ := v.([]string)
				*set = contract.Possible(convert[T](texts)...)
				return ofType[[]string](v, "a list or null")
			},
			encode: func(e *encoder) {
				other := p.other(e)
				if other == nil {
					return
				}
				now := *of(p.of(e.facts))
				switch set, known := now.Known(); {
				case now.Equal(*of(other)):
				case known:
					encodeSet(e, p.prefix+name, set)
				default:
					e.raw(p.prefix+name, "null")
				}
			}}
	}}
}

func attribution(meaning string) member {
	const name = "attribution"
	return member{name, func(c *contract.Contract) bool { return c.Attribution.Len() > 0 }, func(p place) fact {
		f := set(p.about(name, meaning), nil, func(f *Facts) *label.Set[string] { return &p.of(f).Attribution }).ofTool()
		f.get = func(a *activation) ref.Val { return list(p.read(a).Attribution) }
		f.encode = func(e *encoder) {
			now := p.of(e.facts).Attribution
			if other := p.other(e); other != nil && !now.Equal(other.Attribution) {
				encodeSet(e, p.prefix+name, now)
			}
		}
		return f
	}}
}
