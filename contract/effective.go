package contract

import "fmt"

// Trust is how far the operator trusts a server's claims about its own tools. The zero Trust is Untrusted.
type Trust uint8

// The levels of trust.
const (
	Untrusted Trust = iota // its claims may only raise
	Known                  // its claims about what its tools do count; those about its data may only raise
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

// String returns what [ParseTrust] reads.
func (t Trust) String() string { return [...]string{"untrusted", "known", "trusted"}[min(t, Trusted)] }

// Effective returns the contract to decide by: what the tool declares, as far as its server is trusted, with the rest
// assumed (see [Contract.Assume]). Claims of a server that is not trusted may only raise, so they are joined with
// [Pessimistic]; of a known server that holds for the claims about its data: the sources and the sensitivity. That a
// tool is to be trusted counts from a trusted server only.
func Effective(declared Contract, trust Trust) Contract { return Overlaid(Contract{}, declared, trust) }

// Narrows reports whether r, the contract resolved for one call, stays inside what c declares. What does not is a
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
