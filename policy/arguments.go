package policy

import (
	"cel.dev/cel-go/common/types/ref"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// argumentFacts are what is known of the parts that arguments play, and of where they came from.
func argumentFacts() []fact {
	known := func(a *activation) *CallFacts { return &a.facts.Call }
	return []fact{
		boolean("call.sends", (*activation).sends),
		text("call.roles", roleNames, func(a *activation) string {
			if known(a).Traced && known(a).Stated {
				return "stated"
			}
			return "drafted"
		}),
		kinds("call.from", func(c *CallFacts) label.Set[string] { return c.From }),
		kinds("call.small.from", func(c *CallFacts) label.Set[string] { return c.SmallFrom }),
		kinds("call.destination.from", func(c *CallFacts) label.Set[string] { return c.DestinationFrom }),
		texts("call.destination.values", nil, func(a *activation) ref.Val { return list(known(a).Destinations) }),
		texts("call.destination.hosts", nil, func(a *activation) ref.Val { return list(known(a).Hosts) }),
		boolean("call.destination.own", func(a *activation) bool { return known(a).Traced && known(a).Own }),
		boolean("call.destination.first", func(a *activation) bool { return !known(a).Traced || known(a).First }),
		boolean("call.destination.strange", func(a *activation) bool { return !known(a).Traced || known(a).Strange }),
		kinds("call.content.from", func(c *CallFacts) label.Set[string] { return c.ContentFrom }),
		boolean("call.content.links", func(a *activation) bool { return !known(a).Traced || known(a).Links }),
		boolean("call.named", func(a *activation) bool { return known(a).Traced && known(a).Named }),
	}
}

// kinds is a set of kinds of provenance. What was not traced may be everything that is worse than what a rule asks for.
func kinds(name string, get func(*CallFacts) label.Set[string]) fact {
	return texts(name, kindNames, func(a *activation) ref.Val {
		if !a.facts.Call.Traced {
			return list(label.SetOf("novel", "private", "untrusted"))
		}
		return list(get(&a.facts.Call))
	})
}

// sends reports whether the call may carry anything out of the reach of user and operator: what it is given may become
// public, or, if it is no plain read, meets an open world. A read is taken at its server's word that its world is closed.
func (a *activation) sends() bool {
	public := a.annotations.Destinations.Has(contract.Public)
	if !a.plainRead() {
		return public || a.annotations.OpenWorld == contract.Yes
	}
	return public && a.facts.Tool.Declared.OpenWorld != contract.No && hasMembers(a.facts.Arguments)
}

// legs returns which of the three things have come together in the session that an attacker needs.
func (a *activation) legs() label.Set[string] {
	var legs []string
	for i, leg := range []bool{a.session().Private, a.session().Untrusted, a.facts.Session.Sent > 0} {
		if leg {
			legs = append(legs, legNames[i])
		}
	}
	return label.SetOf(legs...)
}

// PlainRead reports whether the call only reads, as the fact call.plainRead says.
func (f *Facts) PlainRead() bool { return new(activation).of(f).plainRead() }

// Sends reports whether the call may carry anything out, as the fact call.sends says.
func (f *Facts) Sends() bool { return new(activation).of(f).sends() }
