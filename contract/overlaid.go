package contract

import "github.com/weir-mcp/weir/label"

// Over returns what c says, and where it is silent, what below says. Attribution is the union of both.
func (c Contract) Over(below Contract) Contract {
	return Contract{
		ReadOnly:    c.ReadOnly.or(below.ReadOnly),
		Destructive: c.Destructive.or(below.Destructive),
		Idempotent:  c.Idempotent.or(below.Idempotent),
		OpenWorld:   c.OpenWorld.or(below.OpenWorld),
		Malicious:   c.Malicious.or(below.Malicious),

		RequiresReview: c.RequiresReview.or(below.RequiresReview),
		Trusted:        c.Trusted.or(below.Trusted),
		Output: Output{
			Unsafe:    c.Output.Unsafe.or(below.Output.Unsafe),
			Secret:    c.Output.Secret.or(below.Output.Secret),
			Private:   c.Output.Private.or(below.Output.Private),
			Sensitive: c.Output.Sensitive.or(below.Output.Sensitive),
		},
		Operation: Operation{
			AIProcessing: c.Operation.AIProcessing.or(below.Operation.AIProcessing),
			Slow:         c.Operation.Slow.or(below.Operation.Slow),
			Costly:       c.Operation.Costly.or(below.Operation.Costly),
			Privileged:   c.Operation.Privileged.or(below.Operation.Privileged),
			Reversible:   c.Operation.Reversible.or(below.Operation.Reversible),
		},

		Destinations: c.Destinations.or(below.Destinations),
		Accepts:      c.Accepts.or(below.Accepts),
		Outcomes:     c.Outcomes.or(below.Outcomes),
		Sources:      c.Sources.or(below.Sources),
		Returns:      c.Returns.or(below.Returns),
		Attribution:  c.Attribution.Union(below.Attribution),
	}
}

// Overlaid returns the contract to decide by where the operator has a word too: the overlay where it speaks, and else what
// the tool declares as far as its server is trusted, as [Effective] has it. What neither says is assumed from both.
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
