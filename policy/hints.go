package policy

import (
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// A contractHint is a hint of a contract by its name.
type contractHint struct {
	name string
	of   func(*contract.Contract) *contract.Hint
}

// classicHints are the hints of a contract that SEP-1913 takes over from MCP or adds.
var classicHints = []contractHint{
	{"readOnlyHint", func(c *contract.Contract) *contract.Hint { return &c.ReadOnly }},
	{"destructiveHint", func(c *contract.Contract) *contract.Hint { return &c.Destructive }},
	{"idempotentHint", func(c *contract.Contract) *contract.Hint { return &c.Idempotent }},
	{"openWorldHint", func(c *contract.Contract) *contract.Hint { return &c.OpenWorld }},
	{"maliciousActivityHint", func(c *contract.Contract) *contract.Hint { return &c.Malicious }},
}

// hintMembers are the hints of a contract that do not come from SEP-1913, in the names of their vocabularies.
var hintMembers = []contractHint{
	{"requiresReview", func(c *contract.Contract) *contract.Hint { return &c.RequiresReview }},
	{"trustedHint", func(c *contract.Contract) *contract.Hint { return &c.Trusted }},
	{"unsafeOutputHint", func(c *contract.Contract) *contract.Hint { return &c.Output.Unsafe }},
	{"secretHint", func(c *contract.Contract) *contract.Hint { return &c.Output.Secret }},
	{"privateHint", func(c *contract.Contract) *contract.Hint { return &c.Output.Private }},
	{"sensitiveDataHint", func(c *contract.Contract) *contract.Hint { return &c.Output.Sensitive }},
	{"aiProcessingHint", func(c *contract.Contract) *contract.Hint { return &c.Operation.AIProcessing }},
	{"slowExecutionHint", func(c *contract.Contract) *contract.Hint { return &c.Operation.Slow }},
	{"resourceIntensiveHint", func(c *contract.Contract) *contract.Hint { return &c.Operation.Costly }},
	{"privilegedAccessHint", func(c *contract.Contract) *contract.Hint { return &c.Operation.Privileged }},
	{"reversibleHint", func(c *contract.Contract) *contract.Hint { return &c.Operation.Reversible }},
}

// declarable is what tool.declares may hold.
var declarable = append([]string{
	"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "maliciousActivityHint", "attribution",
	"inputMetadata.destination", "inputMetadata.sensitivity", "inputMetadata.outcomes",
	"returnMetadata.source", "returnMetadata.sensitivity",
}, hintNames()...)

func hintNames() (names []string) {
	for _, m := range hintMembers {
		names = append(names, m.name)
	}
	return names
}

// declares returns the members that the contract speaks of, in the names of their vocabularies.
func declares(c *contract.Contract) label.Set[string] {
	said := []bool{
		c.ReadOnly != contract.Unknown, c.Destructive != contract.Unknown, c.Idempotent != contract.Unknown,
		c.OpenWorld != contract.Unknown, c.Malicious != contract.Unknown, c.Attribution.Len() > 0,
		known(c.Destinations), known(c.Accepts), known(c.Outcomes), known(c.Sources), known(c.Returns),
	}
	for _, m := range hintMembers {
		said = append(said, *m.of(c) != contract.Unknown)
	}
	var names []string
	for i, name := range declarable {
		if said[i] {
			names = append(names, name)
		}
	}
	return label.SetOf(names...)
}
