package contract

import "slices"

// A Member is a row of the table of hints. Every operation on contracts, the facts of policies, their records, the
// members of overlays, the reports of tools and the manual go by the table.
type Member struct {
	Name    string // in annotations, as its proposal has it
	Short   string // in texts, overlays and reports
	Meaning string // of Yes, for the manual
	Risky   Hint   // the dangerous claim

	Core    bool // MCP has it: it is assumed to be risky where nobody states it
	Promise bool // absence is as bad as the dangerous claim, so a value that cannot be read is no warning
	Overlay bool // operators state it in overlays, and reports show it
	Loose   bool // no value promises anything, so a declaration bounds no result

	row int
}

// Of returns the hint of a contract, to read or to change.
func (m *Member) Of(c *Contract) *Hint { return c.hint(m.row) }

// Hints returns the table of hints: those of MCP and SEP-1913, then those of the proposals beside it.
func Hints() []Member {
	all := slices.Clone(hints[:])
	for i := range all {
		all[i].row = i
	}
	return all
}

var hints = [...]Member{
	readOnly: {Name: "readOnlyHint", Short: "readOnly", Meaning: "it changes nothing",
		Risky: No, Core: true, Promise: true, Overlay: true},
	destructive: {Name: "destructiveHint", Short: "destructive", Meaning: "its changes may destroy",
		Risky: Yes, Core: true, Overlay: true},
	idempotent: {Name: "idempotentHint", Short: "idempotent", Meaning: "calling it twice is calling it once", Risky: No, Core: true, Promise: true,
		Overlay: true},
	openWorld: {Name: "openWorldHint", Short: "openWorld", Meaning: "it reaches an open world: the web, mail, other people", Risky: Yes, Core: true,
		Overlay: true},
	malicious: {Name: "maliciousActivityHint", Short: "malicious", Meaning: "it may report malicious activity", Risky: Yes},
	requiresReview: {Name: "requiresReview", Short: "requiresReview", Meaning: "a person should look at each call before it is made", Risky: Yes,
		Overlay: true},
	trusted: {Name: "trustedHint", Short: "trusted", Meaning: "it is safe and reliable; counts from a trusted server only", Risky: No,
		Promise: true},
	unsafeOutput: {Name: "unsafeOutputHint", Short: "unsafeOutput", Meaning: "its results may be unfit for a prompt",
		Risky: Yes, Loose: true},
	secret:  {Name: "secretHint", Short: "secret", Meaning: "its results may hold credentials", Risky: Yes},
	private: {Name: "privateHint", Short: "private", Meaning: "its results may be private", Risky: Yes},
	sensitive: {Name: "sensitiveDataHint", Short: "sensitive", Meaning: "its results may be sensitive, in a way that is not named",
		Risky: Yes},
	aiProcessing: {Name: "aiProcessingHint", Short: "aiProcessing", Meaning: "it passes its inputs to a model", Risky: Yes},
	slow:         {Name: "slowExecutionHint", Short: "slow", Meaning: "it takes long", Risky: Yes},
	costly:       {Name: "resourceIntensiveHint", Short: "costly", Meaning: "it uses many costly resources", Risky: Yes},
	privileged:   {Name: "privilegedAccessHint", Short: "privileged", Meaning: "it acts with elevated rights", Risky: Yes},
	reversible:   {Name: "reversibleHint", Short: "reversible", Meaning: "its effects can be undone", Risky: No},
}
