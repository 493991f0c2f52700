// Package contract models the possible effects of a tool: changes, destinations of its inputs, sources of its outputs.
//
// A [Contract] gathers the classic MCP hints, SEP-1913's inputMetadata and returnMetadata, and the hints of the
// proposals beside it. Each value is either declared or unknown, and unknown is never safe: [Contract.Assume] replaces
// it with the value that the classic hints imply, or else with the worst. Set-valued members are *possible* sets
// (SEP-1913, Annotation Types: an array in tools/list means "one of these"), so a larger set is a weaker promise.
//
// A server's claims count as far as the operator trusts it: see [Effective].
//
// Everything here is an immutable value, safe for concurrent use.
package contract

import (
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/label"
)

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

// Destinations returns the destinations, from the narrowest to the widest audience.
func Destinations() []Destination { return []Destination{Ephemeral, System, User, Internal, Public} }

// An Outcome is the real-world impact of a call (SEP-1913, Outcomes).
type Outcome string

// The outcomes of SEP-1913.
const (
	Benign        Outcome = "benign"
	Consequential Outcome = "consequential"
	Irreversible  Outcome = "irreversible"
)

// Outcomes returns the outcomes, from the mildest to the worst.
func Outcomes() []Outcome { return []Outcome{Benign, Consequential, Irreversible} }

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
	Returns      Values[label.Class] // sensitivity of possible results

	Attribution label.Set[string]
}

// Pessimistic returns the contract of a tool of which nothing is known: not read-only, destructive, open world, to
// public destinations, irreversible, from untrusted public sources.
func Pessimistic() Contract { return pessimistic }

var pessimistic = func() Contract {
	c := Contract{
		Destinations: Possible(Public),
		Outcomes:     Possible(Irreversible),
		Sources:      Possible(label.UntrustedPublic),
	}
	for i := range hints {
		if h := &hints[i]; h.Core {
			*c.hint(i) = h.Risky
		}
	}
	return c
}()

// Join returns the contract of a tool that may behave as a or as b.
func Join(a, b Contract) Contract {
	joined := Contract{
		Destinations: a.Destinations.widen(b.Destinations),
		Accepts:      a.Accepts.widen(b.Accepts),
		Outcomes:     a.Outcomes.widen(b.Outcomes),
		Sources:      a.Sources.widen(b.Sources),
		Returns:      a.Returns.widen(b.Returns),
		Attribution:  a.Attribution.Union(b.Attribution),
	}
	for i := range hints {
		h := &hints[i]
		*joined.hint(i) = a.hint(i).widen(*b.hint(i), h.Risky)
	}
	return joined
}

// Equal reports whether both contracts say the same.
func (c Contract) Equal(o Contract) bool {
	for i := range hints {
		if *c.hint(i) != *o.hint(i) {
			return false
		}
	}
	return c.sets(o) && c.Attribution.Equal(o.Attribution)
}

// Sets of one value, which are assumed.
var (
	benign        = Possible(Benign)
	consequential = Possible(Consequential)
	internal      = Possible(Internal)
)

// Assume fills the members that the contract does not declare. First from its other members: a read-only tool destroys
// nothing and its outcome is benign; a change that is not destructive, or that can be undone, is consequential; a
// benign outcome destroys nothing; a closed world is not public, and inputs that go nowhere public stay in a closed
// world (SEP-1913, Destination: where input data may be transmitted). Then with [Pessimistic]. Sensitivity and, in a
// world that is declared closed, the source stay unknown: nothing implies them. Where inputs go says nothing of where
// results come from.
//
// Hints that warn add to other members: a change that cannot be undone is irreversible, output that is unfit for a
// prompt is from untrusted sources, and secrets are credentials. A set that is unknown stays unknown, which is worse.
func (c Contract) Assume() Contract {
	if c.ReadOnly == Yes {
		c.Destructive = c.Destructive.or(No)
		c.Outcomes = c.Outcomes.or(benign)
	}
	if c.Destructive == No && c.Operation.Reversible != No || c.Operation.Reversible == Yes {
		c.Outcomes = c.Outcomes.or(consequential)
	}
	if c.Operation.Reversible == No && c.ReadOnly != Yes {
		c.Outcomes = c.Outcomes.with(Irreversible)
	}
	if c.Outcomes.Equal(benign) {
		c.Destructive = c.Destructive.or(No)
	}
	worst := Pessimistic()
	if c.OpenWorld == No {
		c.Destinations = c.Destinations.or(internal)
		worst.Sources = Values[label.Source]{}
	}
	if to := c.Destinations.set; to.Len() > 0 && !to.Has(Public) {
		c.OpenWorld = c.OpenWorld.or(No)
	}
	for i := range hints {
		*c.hint(i) = c.hint(i).or(*worst.hint(i))
	}
	c.Destinations = c.Destinations.or(worst.Destinations)
	c.Outcomes = c.Outcomes.or(worst.Outcomes)
	c.Sources = c.Sources.or(worst.Sources)
	if c.Output.Unsafe == Yes {
		c.Sources = c.Sources.with(label.UntrustedPublic)
	}
	c.Returns = c.Returns.with(c.Output.classes().Slice()...)
	return c
}

// String returns the contract as one line of name=value pairs in a fixed order: equal contracts give equal text, and
// different contracts different text.
func (c Contract) String() string {
	var b strings.Builder
	for i := range hints {
		fmt.Fprintf(&b, "%s=%v ", hints[i].Short, *c.hint(i))
	}
	fmt.Fprintf(&b, "destination=%s accepts=%s outcomes=%s", c.Destinations.quoted(), c.Accepts.quoted(), c.Outcomes.quoted())
	fmt.Fprintf(&b, " source=%s returns=%s attribution=%q", c.Sources.quoted(), c.Returns.quoted(), c.Attribution.Slice())
	return b.String()
}

// Label returns the label of the tool's results, as far as the contract goes: the join of all that it calls possible.
// It is normal (see [label.Label.Normal]). Unknown members add nothing; [Contract.Assume] comes first.
func (c Contract) Label() label.Label {
	return label.Label{
		Untrusted:   c.Output.Unsafe == Yes,
		Private:     c.Output.Private == Yes,
		Sources:     c.Sources.Set(),
		Sensitivity: c.Returns.Set().Union(c.Output.classes()),
	}.Normal()
}

// From returns the contract with the sources that results may have. Without any, they are unknown.
func (c Contract) From(sources ...label.Source) Contract {
	c.Sources = stated(sources)
	return c
}

// To returns the contract with the destinations that arguments may have. A tool with a public one reaches an open
// world, with others only a closed one. Without any, both are unknown.
func (c Contract) To(destinations ...Destination) Contract {
	c.Destinations = stated(destinations)
	c.OpenWorld = Unknown
	if c.Destinations.known {
		c.OpenWorld = HintOf(c.Destinations.Has(Public))
	}
	return c
}

// Causing returns the contract with its possible outcomes. Without any, they are unknown.
func (c Contract) Causing(outcomes ...Outcome) Contract {
	c.Outcomes = stated(outcomes)
	return c
}

// Accepting returns the contract with the classes of data that arguments may hold. Without any, they hold none.
func (c Contract) Accepting(classes ...label.Class) Contract {
	c.Accepts = Possible(classes...)
	return c
}

// Returning returns the contract with the classes of data that results may hold. Without any, they hold none.
func (c Contract) Returning(classes ...label.Class) Contract {
	c.Returns = Possible(classes...)
	return c
}

// stated returns the set of the values, unknown if there are none: no vocabulary has a word for an empty set of them.
func stated[T ~string](values []T) Values[T] {
	if len(values) == 0 {
		return Values[T]{}
	}
	return Possible(values...)
}

// Discloses reports whether outsiders may learn the input of a call: it may become public, or it is used for the call
// alone, by a tool that reaches an open world, where an outsider receives it without keeping it.
func (c Contract) Discloses() bool {
	return c.Destinations.Has(Public) || c.OpenWorld == Yes && c.Destinations.Has(Ephemeral)
}

// Keeps reports whether the input of a call may stay anywhere: of all calls but reads in a closed world that use it for
// the call alone.
func (c Contract) Keeps() bool {
	return c.ReadOnly != Yes || c.OpenWorld == Yes || !Possible(Ephemeral).set.Contains(c.Destinations.set)
}

// hint returns the hint of a row. It stands apart from the table so that a contract on the stack stays there.
func (c *Contract) hint(row int) *Hint {
	switch row {
	case readOnly:
		return &c.ReadOnly
	case destructive:
		return &c.Destructive
	case idempotent:
		return &c.Idempotent
	case openWorld:
		return &c.OpenWorld
	case malicious:
		return &c.Malicious
	case requiresReview:
		return &c.RequiresReview
	case trusted:
		return &c.Trusted
	case unsafeOutput:
		return &c.Output.Unsafe
	case secret:
		return &c.Output.Secret
	case private:
		return &c.Output.Private
	case sensitive:
		return &c.Output.Sensitive
	case aiProcessing:
		return &c.Operation.AIProcessing
	case slow:
		return &c.Operation.Slow
	case costly:
		return &c.Operation.Costly
	case privileged:
		return &c.Operation.Privileged
	case reversible:
		return &c.Operation.Reversible
	}
	panic("contract: a hint without a field")
}

// The rows of the table.
const (
	readOnly = iota
	destructive
	idempotent
	openWorld
	malicious
	requiresReview
	trusted
	unsafeOutput
	secret
	private
	sensitive
	aiProcessing
	slow
	costly
	privileged
	reversible
)
