package contract

import "github.com/weir-mcp/weir/label"

// Told returns the contract to tell others of a tool that is decided by c and declares the given contract, so that they see it
// neither milder nor harsher than it is decided by. A value that nobody declared and that [Contract.Assume] gives anyway is
// the default of its vocabulary as well, and stays unknown: the next reader may know better. A promise of the declaration
// that does not count is told as its opposite.
func (c Contract) Told(declared Contract) Contract {
	hints, said := c.hints(), declared.hints()
	full := c.Assume()
	for i, h := range hints {
		if *h == Unknown && *said[i] != Unknown && *said[i] != risky[i] {
			if *h = risky[i]; !c.Assume().sets(full) {
				*h = Unknown
			}
		}
	}
	full = c.Assume()
	worst := Pessimistic()
	for i, w := range worst.hints()[:assumed] {
		if h := *hints[i]; h == *w && *said[i] == Unknown {
			if *hints[i] = Unknown; !c.Assume().Equal(full) {
				*hints[i] = h
			}
		}
	}
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

// assumed is how many of the hints [Pessimistic] fills: the first ones.
const assumed = 4

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
