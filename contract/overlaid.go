package contract

import "github.com/weir-mcp/weir/label"

// hints returns the hints of a contract, to read or to change, in the order of risky.
func (c *Contract) hints() []*Hint {
	return []*Hint{
		&c.ReadOnly, &c.Destructive, &c.Idempotent, &c.OpenWorld, &c.Malicious, &c.RequiresReview, &c.Trusted,
		&c.Output.Unsafe, &c.Output.Secret, &c.Output.Private, &c.Output.Sensitive,
		&c.Operation.AIProcessing, &c.Operation.Slow, &c.Operation.Costly, &c.Operation.Privileged, &c.Operation.Reversible,
	}
}

// risky are the dangerous claims of the hints.
var risky = []Hint{
	No, Yes, No, Yes, Yes, Yes, No,
	Yes, Yes, Yes, Yes,
	Yes, Yes, Yes, Yes, No,
}

// Over returns c, with the members of below where c is silent. Attribution is the union of both.
func (c Contract) Over(below Contract) Contract {
	hints := c.hints()
	for i, h := range below.hints() {
		*hints[i] = hints[i].or(*h)
	}
	c.Destinations = c.Destinations.or(below.Destinations)
	c.Accepts = c.Accepts.or(below.Accepts)
	c.Outcomes = c.Outcomes.or(below.Outcomes)
	c.Sources = c.Sources.or(below.Sources)
	c.Returns = c.Returns.or(below.Returns)
	c.Attribution = c.Attribution.Union(below.Attribution)
	return c
}

// Overlaid returns the contract to decide by where the operator has a word too: the overlay where it speaks, and else the
// tool's declaration as far as its server is trusted, as [Effective] has it. Members that neither states are assumed from both.
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
// A resolution that a trusted server gives within the bounds that the tool declares narrows them; of a known server that does not
// hold for what it says about data. Any other resolution lowers nothing. What a resolution says beyond the
// declaration raises everything, the overlay too: it knows the arguments.
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
	hints, known := c.hints(), o.hints()
	for i, h := range hints {
		if *h == *known[i] {
			*h = Unknown
		}
	}
	c.Destinations = c.Destinations.beyond(o.Destinations)
	c.Accepts = c.Accepts.beyond(o.Accepts)
	c.Outcomes = c.Outcomes.beyond(o.Outcomes)
	c.Sources = c.Sources.beyond(o.Sources)
	c.Returns = c.Returns.beyond(o.Returns)
	return c
}

func (v Values[T]) beyond(o Values[T]) Values[T] {
	if v.Equal(o) {
		return Values[T]{}
	}
	return v
}

// Raise returns c with the dangerous claims of more: the hints that warn, and all that its sets call possible.
func (c Contract) Raise(more Contract) Contract {
	hints := c.hints()
	for i, h := range more.hints() {
		if *h == risky[i] {
			*hints[i] = *h
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

// raise returns v with the values of more. Where v is unknown and more names values, these are better than nothing: the
// label of a result is made of known members.
func (v Values[T]) raise(more Values[T]) Values[T] {
	if !v.known && more.set.Len() > 0 {
		return more
	}
	return v.with(more.set.Slice()...)
}
