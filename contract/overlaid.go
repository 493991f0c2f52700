package contract

import (
	"fmt"

	"github.com/weir-mcp/weir/label"
)

// Over returns c, with the members of below where c is silent. Attribution is the union of both.
func (c Contract) Over(below Contract) Contract {
	for i := range hints {
		h := c.hint(i)
		*h = h.or(*below.hint(i))
	}
	c.Destinations = c.Destinations.or(below.Destinations)
	c.Accepts = c.Accepts.or(below.Accepts)
	c.Outcomes = c.Outcomes.or(below.Outcomes)
	c.Sources = c.Sources.or(below.Sources)
	c.Returns = c.Returns.or(below.Returns)
	c.Attribution = c.Attribution.Union(below.Attribution)
	return c
}

// Overlaid returns the contract to decide by where the operator has a word too: the overlay where it speaks, and else
// the tool's declaration as far as its server is trusted, as [Effective] has it. Members that neither states are
// assumed from both.
func Overlaid(overlay, declared Contract, trust Trust) Contract {
	c := overlay.Over(declared).Assume()
	if trust == Trusted {
		return c
	}
	c.Trusted = overlay.Trusted.or(c.Trusted.unless(Yes))
	if trust == Known {
		if !overlay.Sources.known {
			c.Sources = Possible(label.UntrustedPublic).widen(c.Sources).or(Possible(label.UntrustedPublic))
		}
		return c
	}
	worst := overlay.Assume()
	joined := Join(c, worst)
	joined.Sources = joined.Sources.or(worst.Sources)
	joined.Malicious, joined.RequiresReview, joined.Trusted = c.Malicious, c.RequiresReview, c.Trusted
	joined.Output, joined.Operation = c.Output, c.Operation
	joined.Operation.Reversible = overlay.Operation.Reversible.or(c.Operation.Reversible.unless(Yes))
	joined.Accepts, joined.Returns = c.Accepts, c.Returns
	return joined
}

// ForCall returns the contract to decide one call by, and its statement: by the operator's overlay for the call's
// arguments where that speaks, else by the server. The resolution is the server's word on this very call (SEP-1862).
//
// A resolution that a trusted server gives within the bounds that the tool declares narrows them; of a known server
// that does not hold for its statements about data. Any other resolution lowers nothing. Statements of a resolution
// beyond the declaration raise everything, the overlay too: it knows the arguments.
func ForCall(overlay, declared, resolution Contract, trust Trust) (said, effective Contract) {
	claims := declared
	if trust != Untrusted && len(declared.Narrows(resolution)) == 0 {
		claims = resolution.Over(declared)
		if trust == Known {
			claims.Sources, claims.Returns, claims.Output = declared.Sources, declared.Returns, declared.Output
		}
	}
	more := resolution.Beyond(declared)
	return overlay.Over(claims).Raise(more), Overlaid(overlay, claims, trust).Raise(more)
}

// Beyond returns the members of c that o does not say as well.
func (c Contract) Beyond(o Contract) Contract {
	for i := range hints {
		h := c.hint(i)
		*h = h.unless(*o.hint(i))
	}
	c.Destinations = c.Destinations.beyond(o.Destinations)
	c.Accepts = c.Accepts.beyond(o.Accepts)
	c.Outcomes = c.Outcomes.beyond(o.Outcomes)
	c.Sources = c.Sources.beyond(o.Sources)
	c.Returns = c.Returns.beyond(o.Returns)
	return c
}

// Raise returns c with the dangerous claims of more: the hints that warn, and all that its sets call possible.
func (c Contract) Raise(more Contract) Contract {
	for i := range hints {
		if h := &hints[i]; *more.hint(i) == h.Risky {
			*c.hint(i) = h.Risky
		}
	}
	c.Destinations = c.Destinations.raise(more.Destinations)
	c.Accepts = c.Accepts.raise(more.Accepts)
	c.Outcomes = c.Outcomes.raise(more.Outcomes)
	c.Sources = c.Sources.raise(more.Sources)
	c.Returns = c.Returns.raise(more.Returns)
	c.Attribution = c.Attribution.Union(more.Attribution)
	return c
}

// Trust is how far the operator trusts a server's claims about its own tools. The zero Trust is Untrusted.
type Trust uint8

// The levels of trust.
const (
	Untrusted Trust = iota // its claims may only raise
	Known                  // its claims about the effects of its tools count; those about its data may only raise
	Trusted                // its claims count
)

// ParseTrust reads "untrusted", "known" or "trusted".
func ParseTrust(s string) (Trust, error) {
	for t := Untrusted; t <= Trusted; t++ {
		if t.String() == s {
			return t, nil
		}
	}
	return Untrusted, fmt.Errorf("unknown trust %q: use untrusted, known or trusted", s)
}

// String returns the word that [ParseTrust] reads.
func (t Trust) String() string { return [...]string{"untrusted", "known", "trusted"}[min(t, Trusted)] }

// Effective returns the contract to decide by: the tool's declaration, as far as its server is trusted, with the rest
// assumed (see [Contract.Assume]). Claims of a server that is not trusted may only raise, so they are joined with
// [Pessimistic]; of a known server that holds for the claims about its data: the sources and the sensitivity. That a
// tool is to be trusted counts from a trusted server only.
func Effective(declared Contract, trust Trust) Contract { return Overlaid(Contract{}, declared, trust) }

// Reading returns the contract of a request that changes nothing, by protocol: to read a resource that its server
// lists, where the agent chooses no more than which one.
func Reading() Contract { return Contract{ReadOnly: Yes} }

// Offered returns the declaration that a server makes by offering a prompt, or a template for resources: a text to be
// filled in and read (2025-11-25, Prompts, Resource Templates). Servers act on the arguments of both all the same, so
// this is a declaration of a trusted server only; of any other nothing is known.
func Offered(trust Trust) Contract {
	if trust == Trusted {
		return Reading()
	}
	return Contract{}
}
