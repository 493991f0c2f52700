// Package contract models the possible effects of a tool: changes, destinations of its inputs, sources of its outputs.
//
// A [Contract] gathers the classic MCP hints, SEP-1913's inputMetadata and returnMetadata, and the hints of the
// proposals beside it. Each value is either declared or unknown, and unknown is never safe: [Contract.Assume] replaces it
// with the value that the classic hints imply, or else with the worst. Set-valued members are *possible* sets (SEP-1913, Annotation Types: an array
// in tools/list means "one of these"), so a larger set is a weaker promise.
//
// A server's claims count as far as the operator trusts it: see [Effective].
//
// Everything here is an immutable value, safe for concurrent use.
package contract

import "github.com/weir-mcp/weir/label"

// A Hint is a boolean claim that may be absent. The zero Hint is Unknown.
type Hint uint8

// The values of a Hint.
const (
	Unknown Hint = iota
	No
	Yes
)

// HintOf returns Yes or No.
func HintOf(b bool) Hint {
	if b {
		return Yes
	}
	return No
}

// String returns "unknown", "no" or "yes".
func (h Hint) String() string { return [...]string{"unknown", "no", "yes"}[min(h, Yes)] }

// widen joins two claims of which risky is the dangerous one: either dangerous stays dangerous, and a safe claim beside
// an unknown one is unknown.
func (h Hint) widen(o, risky Hint) Hint {
	switch {
	case h == risky || o == risky:
		return risky
	case h == Unknown || o == Unknown:
		return Unknown
	}
	return h
}

// or returns h, or d if h is unknown.
func (h Hint) or(d Hint) Hint {
	if h == Unknown {
		return d
	}
	return h
}

// unless returns h, or Unknown if h is the given claim.
func (h Hint) unless(claim Hint) Hint {
	if h == claim {
		return Unknown
	}
	return h
}

// Values is a set of possible values, or unknown. The zero Values is unknown.
type Values[T ~string] struct {
	set   label.Set[T]
	known bool
}

// Possible returns the known set of the given values.
func Possible[T ~string](values ...T) Values[T] {
	return Values[T]{label.SetOf(values...), true}
}

// Known returns the set of possible values, and false if it is unknown.
func (v Values[T]) Known() (label.Set[T], bool) { return v.set, v.known }

// Set returns the possible values; the empty set if they are unknown.
func (v Values[T]) Set() label.Set[T] { return v.set }

// Has reports whether x is known to be possible.
func (v Values[T]) Has(x T) bool { return v.set.Has(x) }

// Equal reports whether both say the same.
func (v Values[T]) Equal(o Values[T]) bool { return v.known == o.known && v.set.Equal(o.set) }

// Within reports whether v promises at least what o promises: v is known and inside o, or o is unknown.
func (v Values[T]) Within(o Values[T]) bool { return !o.known || (v.known && o.set.Contains(v.set)) }

func (v Values[T]) widen(o Values[T]) Values[T] {
	if !v.known || !o.known {
		return Values[T]{}
	}
	return Values[T]{v.set.Union(o.set), true}
}

func (v Values[T]) or(d Values[T]) Values[T] {
	if v.known {
		return v
	}
	return d
}

// with adds to known values.
func (v Values[T]) with(more ...T) Values[T] {
	if v.known {
		v.set = v.set.Union(label.SetOf(more...))
	}
	return v
}

// A Destination is where input data may be stored or transmitted (SEP-1913, Destination).
type Destination string

// The destinations of SEP-1913, from the narrowest to the widest audience.
const (
	Ephemeral Destination = "ephemeral"
	System    Destination = "system"
	User      Destination = "user"
	Internal  Destination = "internal"
	Public    Destination = "public"
)

// An Outcome is the real-world impact of a call (SEP-1913, Outcomes).
type Outcome string

// The outcomes of SEP-1913.
const (
	Benign        Outcome = "benign"
	Consequential Outcome = "consequential"
	Irreversible  Outcome = "irreversible"
)

// A Contract describes the possible effects of a tool. The zero Contract declares nothing.
type Contract struct {
	ReadOnly    Hint // changes nothing
	Destructive Hint // its changes may destroy
	Idempotent  Hint // calling twice is calling once
	OpenWorld   Hint // reaches an open world of external entities
	Malicious   Hint // may report malicious activity

	RequiresReview Hint // a person should look at each call before it is made (action-metadata)
	Trusted        Hint // safe and reliable (SEP-1487); a server says this of itself, so see [Effective]
	Output         Output
	Operation      Operation

	Destinations Values[Destination]
	Accepts      Values[label.Class] // sensitivity of the inputs it may take
	Outcomes     Values[Outcome]
	Sources      Values[label.Source]
	Returns      Values[label.Class] // sensitivity of what it may return

	Attribution label.Set[string]
}

// Pessimistic returns the contract of a tool of which nothing is known: not read-only, destructive, open world, to
// public destinations, irreversible, from untrusted public sources.
func Pessimistic() Contract {
	return Contract{
		ReadOnly: No, Destructive: Yes, Idempotent: No, OpenWorld: Yes,
		Destinations: Possible(Public),
		Outcomes:     Possible(Irreversible),
		Sources:      Possible(label.UntrustedPublic),
	}
}

// Join returns the contract of a tool that may behave as a or as b.
func Join(a, b Contract) Contract {
	return Contract{
		ReadOnly:    a.ReadOnly.widen(b.ReadOnly, No),
		Destructive: a.Destructive.widen(b.Destructive, Yes),
		Idempotent:  a.Idempotent.widen(b.Idempotent, No),
		OpenWorld:   a.OpenWorld.widen(b.OpenWorld, Yes),
		Malicious:   a.Malicious.widen(b.Malicious, Yes),

		RequiresReview: a.RequiresReview.widen(b.RequiresReview, Yes),
		Trusted:        a.Trusted.widen(b.Trusted, No),
		Output:         a.Output.join(b.Output),
		Operation:      a.Operation.join(b.Operation),

		Destinations: a.Destinations.widen(b.Destinations),
		Accepts:      a.Accepts.widen(b.Accepts),
		Outcomes:     a.Outcomes.widen(b.Outcomes),
		Sources:      a.Sources.widen(b.Sources),
		Returns:      a.Returns.widen(b.Returns),
		Attribution:  a.Attribution.Union(b.Attribution),
	}
}

// Equal reports whether both contracts say the same.
func (c Contract) Equal(o Contract) bool {
	return c.ReadOnly == o.ReadOnly && c.Destructive == o.Destructive && c.Idempotent == o.Idempotent &&
		c.OpenWorld == o.OpenWorld && c.Malicious == o.Malicious &&
		c.RequiresReview == o.RequiresReview && c.Trusted == o.Trusted && c.Output == o.Output && c.Operation == o.Operation &&
		c.sets(o) && c.Attribution.Equal(o.Attribution)
}

// Assume fills the members that the contract does not declare. First from its other members: a read-only tool
// destroys nothing and its outcome is benign; a change that is not destructive, or that can be undone, is consequential;
// a benign outcome destroys nothing; a closed world is not public, and inputs that go nowhere public stay in a closed world
// (SEP-1913, Destination: where input data may be transmitted). Then with [Pessimistic]. Sensitivity and, in a world that is
// declared closed, the source stay unknown: nothing implies them. Where inputs go says nothing of where results come from.
//
// Hints that warn add to what other members declare: a change that cannot be undone is irreversible, output that is unfit
// for a prompt is from untrusted sources, and secrets are credentials. A set that is unknown stays unknown, which is worse.
func (c Contract) Assume() Contract {
	if c.ReadOnly == Yes {
		c.Destructive = c.Destructive.or(No)
		c.Outcomes = c.Outcomes.or(Possible(Benign))
	}
	if c.Destructive == No && c.Operation.Reversible != No || c.Operation.Reversible == Yes {
		c.Outcomes = c.Outcomes.or(Possible(Consequential))
	}
	if c.Operation.Reversible == No && c.ReadOnly != Yes {
		c.Outcomes = c.Outcomes.with(Irreversible)
	}
	if c.Outcomes.Equal(Possible(Benign)) {
		c.Destructive = c.Destructive.or(No)
	}
	worst := Pessimistic()
	if c.OpenWorld == No {
		c.Destinations = c.Destinations.or(Possible(Internal))
		worst.Sources = Values[label.Source]{}
	}
	if to := c.Destinations.set; to.Len() > 0 && !to.Has(Public) {
		c.OpenWorld = c.OpenWorld.or(No)
	}
	c.ReadOnly = c.ReadOnly.or(worst.ReadOnly)
	c.Destructive = c.Destructive.or(worst.Destructive)
	c.Idempotent = c.Idempotent.or(worst.Idempotent)
	c.OpenWorld = c.OpenWorld.or(worst.OpenWorld)
	c.Destinations = c.Destinations.or(worst.Destinations)
	c.Outcomes = c.Outcomes.or(worst.Outcomes)
	c.Sources = c.Sources.or(worst.Sources)
	if c.Output.Unsafe == Yes {
		c.Sources = c.Sources.with(label.UntrustedPublic)
	}
	c.Returns = c.Returns.with(c.Output.classes().Slice()...)
	return c
}
