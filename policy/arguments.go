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
		boolean("call.egress", (*activation).egress),
		boolean("call.crosses", (*activation).crosses),
		boolean("call.verbatim", func(a *activation) bool { return known(a).Traced && known(a).Verbatim }),
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
		boolean("call.content.orders", func(a *activation) bool { return known(a).Traced && known(a).Orders }),
		boolean("call.content.identifies", func(a *activation) bool { return known(a).Traced && known(a).Identifies }),
		boolean("call.links.made", func(a *activation) bool { return !known(a).Traced || known(a).MadeLinks }),
		number("call.leak.bits", func(a *activation) int { return known(a).bits(known(a).Leak) }),
		number("call.leak.total", func(a *activation) int { return known(a).bits(known(a).Total) }),
		boolean("call.named", func(a *activation) bool { return known(a).Traced && known(a).Named }),
	}
}

// MostBits is the largest value of call.leak.bits and call.leak.total, and theirs where nothing is known.
const MostBits = 1 << 20

func (c *CallFacts) bits(n int) int {
	if !c.Traced {
		return MostBits
	}
	return min(n, MostBits)
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

// ephemeral is the destination of input that is used for the call and not kept.
var ephemeral = label.SetOf(contract.Ephemeral)

// egress reports whether somebody outside may learn of the call: the agent chose it, the contract that counts does not rule out that
// its input becomes public, and it tells something. A change tells something whatever its arguments are, and so does a choice
// among the tools and resources of a server that nobody vouches for; any other read tells its arguments. Where a contract states the
// destination, that settles who learns the input (SEP-1913, Destination), and an open world does not widen it.
func (a *activation) egress() bool {
	tells := !a.plainRead() || a.facts.Server.Trust == contract.Untrusted || hasMembers(a.facts.Arguments)
	return tells && a.byAgent() && a.annotations.Destinations.Has(contract.Public)
}

// crosses reports whether a secret may get from one server to another: the session holds credentials, and the agent gives the call
// arguments that may hold those of another server, or has told its server too much by many calls. A read that keeps nothing of them
// takes nothing over.
func (a *activation) crosses() bool {
	may := !a.facts.Call.Traced || a.facts.Call.Crosses
	keeps := !a.plainRead() || !ephemeral.Contains(a.annotations.Destinations.Set())
	return may && keeps && a.byAgent() && a.session().Sensitivity.Has(label.Credentials) && (a.facts.Call.Traced || hasMembers(a.facts.Arguments))
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

// Egress reports whether somebody outside may learn of the call, as the fact call.egress says.
func (f *Facts) Egress() bool { return new(activation).of(f).egress() }
