package contract

import (
	"fmt"

	"github.com/weir-mcp/weir/label"
)

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

// Reading returns the contract of a request that changes nothing, by protocol: to read a resource that its server lists, where the
// agent chooses no more than which one.
func Reading() Contract { return Contract{ReadOnly: Yes} }

// Offered returns the declaration that a server makes by offering a prompt, or a template for resources: a text to be filled in and read
// (2025-11-25, Prompts, Resource Templates). Servers act on the arguments of both all the same, so this is a declaration of a
// trusted server only; of any other nothing is known.
func Offered(trust Trust) Contract {
	if trust == Trusted {
		return Reading()
	}
	return Contract{}
}

// Narrows reports whether r, the contract resolved for one call, stays inside the declaration c. A wider one is a
// contract violation: hints that a declaration bounds (readOnlyHint: true, destructiveHint: false, idempotentHint:
// true, openWorldHint: false; SEP-1862, and what the other proposals have like them) must keep their value, and sets must
// be subsets. Of unsafeOutputHint no value promises anything, so none is violated. The names of the members that
// violate c are returned; none means that r narrows c.
func (c Contract) Narrows(r Contract) (violations []string) {
	hint := func(name string, declared, resolved, safe Hint) {
		if declared == safe && resolved != safe && resolved != Unknown {
			violations = append(violations, name)
		}
	}
	hint("readOnlyHint", c.ReadOnly, r.ReadOnly, Yes)
	hint("destructiveHint", c.Destructive, r.Destructive, No)
	hint("idempotentHint", c.Idempotent, r.Idempotent, Yes)
	hint("openWorldHint", c.OpenWorld, r.OpenWorld, No)
	hint("maliciousActivityHint", c.Malicious, r.Malicious, No)
	hint("requiresReview", c.RequiresReview, r.RequiresReview, No)
	hint("trustedHint", c.Trusted, r.Trusted, Yes)
	hint("secretHint", c.Output.Secret, r.Output.Secret, No)
	hint("privateHint", c.Output.Private, r.Output.Private, No)
	hint("sensitiveDataHint", c.Output.Sensitive, r.Output.Sensitive, No)
	hint("aiProcessingHint", c.Operation.AIProcessing, r.Operation.AIProcessing, No)
	hint("slowExecutionHint", c.Operation.Slow, r.Operation.Slow, No)
	hint("resourceIntensiveHint", c.Operation.Costly, r.Operation.Costly, No)
	hint("privilegedAccessHint", c.Operation.Privileged, r.Operation.Privileged, No)
	hint("reversibleHint", c.Operation.Reversible, r.Operation.Reversible, Yes)
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

// Bounds reports whether a result's statement stays inside the declaration c of the tool, as [Contract.Narrows] does, but
// for openWorldHint. That hint of a tool is about the entities that the tool interacts with; of a result it is about the
// data, and an internal tool may return data of external origin (SEP-1913, Why Separate openWorldHint for Data vs. Tools?).
// So the hint of a result is compared with the declared sources.
func (c Contract) Bounds(result Contract) (violations []string) {
	if result.OpenWorld == Yes && c.Sources.known && !c.Sources.Has(label.UntrustedPublic) && c.Output.Unsafe != Yes {
		violations = append(violations, "openWorldHint")
	}
	result.OpenWorld = Unknown
	return append(violations, c.Narrows(result)...)
}

// Outside returns the members of c that data with this label violates: the label is the statement, so it is compared as it is
// and not as some vocabulary would write it. None means that a tool with this contract may return the data.
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
