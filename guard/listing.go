package guard

import (
	"slices"

	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// An Exposure is the operator's conditions on tools: agents have those for which all hold. An empty Exposure holds for
// every tool.
type Exposure []*policy.Selection

// Equal reports whether two exposures have the same conditions.
func (e Exposure) Equal(other Exposure) bool {
	return slices.EqualFunc(e, other, func(a, b *policy.Selection) bool { return a.String() == b.String() })
}

// A Listing says which tools agents are told of: those that the operator exposes, and of which the policy may let some
// call go. The zero Listing is that of a policy which blocks everything: it lists nothing.
type Listing struct {
	Exposure Exposure
	Policy   *policy.Policy
	Mode     policy.Mode
}

// Omitted is why agents are not told of a tool.
type Omitted string

// The reasons; "" for a tool that they are told of.
const (
	NotExposed    Omitted = "expose" // a condition of the operator does not hold: there is no such tool for agents
	AlwaysBlocked Omitted = "policy" // every call of it would be blocked
)

// Omits returns why agents are not told of the tool of a call, which has no arguments; "" if they are. It varies if its
// contract may be another one for some arguments: then a policy is not taken to block all of its calls.
func (l *Listing) Omits(c *Call, varies bool) Omitted {
	r := newRequest(c)
	r.refine(reading{})
	usual := r.facts(policy.OnCall, session.State{})
	if slices.ContainsFunc(l.Exposure, func(s *policy.Selection) bool { return !s.Holds(usual) }) {
		return NotExposed
	}
	if varies || c.Overlay.Refines() || l.Mode.Apply(policy.Block) != policy.Block || !l.Policy.Refuses(usual) {
		return ""
	}
	// Calls that violate the schema, or run files of strangers, have another contract.
	r.Violates = "the arguments violate the schema"
	r.refine(reading{})
	if !l.Policy.Refuses(r.facts(policy.OnCall, session.State{})) {
		return ""
	}
	return AlwaysBlocked
}
