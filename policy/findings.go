package policy

import "github.com/weir-mcp/weir/label"

// Findings is the outcome of searching a text for values that should not be in it, and for text that speaks to the
// agent. A search that found nothing proves nothing.
type Findings struct {
	Certain label.Set[string] // classes of findings of high confidence
	Likely  label.Set[string] // classes of findings of medium confidence or more
	Kinds   label.Set[string] // the rules that found them
	Paths   label.Set[string] // the members that hold them, as JSON Pointers
	Count   int               // of findings of medium confidence or more

	Incomplete bool // a part of the text was not searched, or a detector failed
}

// none reports whether all was searched and nothing was found.
func (f *Findings) none() bool {
	return f.Certain.IsZero() && f.Likely.IsZero() && f.Kinds.IsZero() && f.Count == 0 && !f.Incomplete
}

// findingNames are the classes of findings: of values, and for text that speaks to the agent its level.
var findingNames = []string{"canary", "credentials", "financial", "malicious", "pii", "untrusted"}

// findingFacts are the findings in a text.
func findingFacts(prefix, text string, of func(*Facts) *Findings) []fact {
	named := func(member, meaning string) about { return about{prefix + member, Open, meaning} }
	elements := func(choose func(*Findings) *label.Set[string]) func(*Facts) *label.Set[string] {
		return func(f *Facts) *label.Set[string] { return choose(of(f)) }
	}
	return []fact{
		set(named("", "the classes of the values that [detection](detection.md) found for certain in "+text+
			", and the levels of instructions in it"), findingNames,
			elements(func(f *Findings) *label.Set[string] { return &f.Certain })),
		set(named(".likely", "the same with findings of medium confidence"), findingNames,
			elements(func(f *Findings) *label.Set[string] { return &f.Likely })),
		set(named(".kinds", "the rules that found these, such as `github-token`"), nil,
			elements(func(f *Findings) *label.Set[string] { return &f.Kinds })),
		kept(named(".paths", "the members that hold these, as JSON Pointers"),
			elements(func(f *Findings) *label.Set[string] { return &f.Paths })),
		count(named(".count", "how many these are"), func(f *Facts) *int { return &of(f).Count }),
		flag(named(".incomplete", "a part was not searched, or a detector failed; `false` too if detection is off"),
			func(f *Facts) *bool { return &of(f).Incomplete }),
	}
}

// callFindings are those in the arguments.
var callFindings = findingFacts("call.findings", "the arguments", func(f *Facts) *Findings { return &f.Call.Found })

// responseFindings are those in the result.
var responseFindings = responses(findingFacts("response.findings", "the result", func(f *Facts) *Findings { return &f.ResponseFound }))
