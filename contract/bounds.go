package contract

import (
	"github.com/weir-mcp/weir/label"
)

// Narrows reports whether r, the contract resolved for one call, stays inside the declaration c. A wider one is a
// contract violation: hints that a declaration bounds (readOnlyHint: true, destructiveHint: false, idempotentHint:
// true, openWorldHint: false; SEP-1862, and those like them in the other proposals) must keep their value, and sets
// must be subsets. Of unsafeOutputHint no value promises anything, so none is violated. The names of the members that
// violate c are returned; none means that r narrows c.
func (c Contract) Narrows(r Contract) (violations []string) {
	for i := range hints {
		h := &hints[i]
		declared, resolved := *c.hint(i), *r.hint(i)
		if !h.Loose && declared != Unknown && declared != h.Risky && resolved == h.Risky {
			violations = append(violations, h.Name)
		}
	}
	set := func(name string, ok bool) {
		if !ok {
			violations = append(violations, name)
		}
	}
	set("inputMetadata.destination", !r.Destinations.known || r.Destinations.Within(c.Destinations))
	set("inputMetadata.sensitivity", !r.Accepts.known || r.Accepts.Within(c.Accepts))
	set("inputMetadata.outcomes", !r.Outcomes.known || r.Outcomes.Within(c.Outcomes))
	set("returnMetadata.source", !r.Sources.known || r.Sources.Within(c.Sources))
	set("returnMetadata.sensitivity", !r.Returns.known || r.Returns.Within(c.Returns))
	return violations
}

// Bounds reports whether a result's statement stays inside the declaration c of the tool, as [Contract.Narrows] does,
// but for openWorldHint. That hint of a tool is about the entities that the tool interacts with; of a result it is
// about the data, and an internal tool may return data of external origin (SEP-1913, Why Separate openWorldHint for
// Data vs. Tools?). So the hint of a result is compared with the declared sources.
func (c Contract) Bounds(result Contract) (violations []string) {
	if result.OpenWorld == Yes && c.Sources.known && !c.Sources.Has(label.UntrustedPublic) && c.Output.Unsafe != Yes {
		violations = append(violations, "openWorldHint")
	}
	result.OpenWorld = Unknown
	return append(violations, c.Narrows(result)...)
}

// Dropped returns the members that an earlier declaration of the same tool stated, and of which c says nothing.
func (c Contract) Dropped(earlier Contract) (members []string) {
	for i := range hints {
		if *earlier.hint(i) != Unknown && *c.hint(i) == Unknown {
			members = append(members, hints[i].Name)
		}
	}
	set := func(name string, was, is bool) {
		if was && !is {
			members = append(members, name)
		}
	}
	set("inputMetadata.destination", earlier.Destinations.known, c.Destinations.known)
	set("inputMetadata.sensitivity", earlier.Accepts.known, c.Accepts.known)
	set("inputMetadata.outcomes", earlier.Outcomes.known, c.Outcomes.known)
	set("returnMetadata.source", earlier.Sources.known, c.Sources.known)
	set("returnMetadata.sensitivity", earlier.Returns.known, c.Returns.known)
	return members
}

// Outside returns the members of c that data with this label violates: the label is the statement, so it is compared as
// it is and not as some vocabulary would write it. None means that a tool with this contract may return the data.
func (c Contract) Outside(l label.Label) (violations []string) {
	l = l.Normal()
	var said Contract
	warn := func(h *Hint, yes bool) {
		if yes {
			*h = Yes
		}
	}
	warn(&said.OpenWorld, l.Untrusted)
	warn(&said.Malicious, l.Malicious)
	warn(&said.Output.Secret, l.Sensitivity.Has(label.Credentials))
	warn(&said.Output.Private, l.Private)
	warn(&said.Output.Sensitive, l.Sensitivity.Without(label.SetOf(label.User, label.Credentials)).Len() > 0)
	if l.Sources.Len() > 0 {
		said.Sources = Possible(l.Sources.Slice()...)
	}
	if l.Sensitivity.Len() > 0 {
		said.Returns = Possible(l.Sensitivity.Slice()...)
	}
	possible := c.Label()
	c.Returns = c.Returns.with(possible.Sensitivity.Slice()...)
	if c.Output.Unsafe == Yes {
		c.Sources = c.Sources.with(label.UntrustedPublic)
	}
	violations = c.Bounds(said)
	if c.Sources.known && c.Returns.known && l.Private && !possible.Private && c.Output.Private != No {
		violations = append(violations, "privateHint")
	}
	return violations
}

// Told returns the contract to tell others of a tool that is decided by c and declares the given contract, so that they
// see it neither milder nor harsher than it is decided by. A value that nobody declared and that [Contract.Assume]
// gives anyway is the default of its vocabulary as well, and stays unknown: the next reader may know better. A promise
// of the declaration that does not count is told as its opposite.
func (c Contract) Told(declared Contract) Contract {
	full := c.Assume()
	for i := range hints {
		h, said := c.hint(i), *declared.hint(i)
		if *h == Unknown && said != Unknown && said != hints[i].Risky {
			if *h = hints[i].Risky; !c.Assume().sets(full) {
				*h = Unknown
			}
		}
	}
	full = c.Assume()
	for i := range hints {
		h := c.hint(i)
		if hints[i].Core && *h == hints[i].Risky && *declared.hint(i) == Unknown {
			if *h = Unknown; !c.Assume().Equal(full) {
				*h = hints[i].Risky
			}
		}
	}
	worst := Pessimistic()
	c.Destinations = forgo(c.Destinations, declared.Destinations, worst.Destinations, func(v Values[Destination]) bool {
		less := c
		less.Destinations = v
		return less.Assume().Equal(full)
	})
	c.Outcomes = forgo(c.Outcomes, declared.Outcomes, worst.Outcomes, func(v Values[Outcome]) bool {
		less := c
		less.Outcomes = v
		return less.Assume().Equal(full)
	})
	c.Sources = forgo(c.Sources, declared.Sources, worst.Sources, func(v Values[label.Source]) bool {
		less := c
		less.Sources = v
		return less.Assume().Equal(full)
	})
	return c
}

// forgo returns the unknown set in place of one that nobody declared and that is assumed anyway.
func forgo[T ~string](v, declared, worst Values[T], assumed func(Values[T]) bool) Values[T] {
	if v.known && !declared.known && v.Equal(worst) && assumed(Values[T]{}) {
		return Values[T]{}
	}
	return v
}

// sets reports whether both contracts have the same sets.
func (c Contract) sets(o Contract) bool {
	return c.Destinations.Equal(o.Destinations) && c.Accepts.Equal(o.Accepts) && c.Outcomes.Equal(o.Outcomes) &&
		c.Sources.Equal(o.Sources) && c.Returns.Equal(o.Returns)
}
