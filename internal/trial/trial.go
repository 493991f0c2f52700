// Package trial tries policies out: on cases that people write down, and on decisions that were recorded.
//
//	f, err := trial.Load("cases.yaml", src)
//	report := trial.Run(p, f.Cases)
//
// A file of cases is YAML. A case is facts by their names, and the expected decision:
//
//	version: 1
//	policy: balanced                  # a profile, or a file beside this one
//	given:                            # facts that several cases share, by a name
//	  stranger: {session.untrusted: true}
//	  mailer: {server.trust: known, tool.declared.openWorldHint: true}
//	cases:
//	  - name: mail to whom a stranger named
//	    when: call                    # or result; call if not stated
//	    with: [stranger, mailer]      # of given; what comes later wins
//	    facts: {call.roles: stated, call.destination.from: [untrusted]}
//	    effect: ask
//	    rule: ask-before-acting-on-untrusted   # that decides; not checked if not stated
//	    matched: []                            # all rules that match, in any order; not checked if not stated
//
// Facts that are not given have the defaults of [policy.ParseFacts]. Besides, call.from is all of call.destination.from
// and call.content.from, and a call with a call.destination.from goes somewhere, unless the case says otherwise.
//
// [Replay] puts recorded decisions before a policy and tells which of them would change, and where the record does not
// say enough to tell. [Suggest] proposes exceptions from rules by the answers of people to recorded approval requests.
// The package does no I/O.
package trial

import (
	"slices"

	"github.com/weir-mcp/weir/policy"
)

// A File is a file of cases.
type File struct {
	Policy string // as the file names it; "" if it does not
	Cases  []Case
}

// A Case is facts, and the expected decision of a policy.
type Case struct {
	Name    string
	Line    int // in its file, from 1
	Given   *policy.ParsedFacts
	Effect  policy.Effect
	Rule    string
	HasRule bool // Rule is to be checked; "" is that no rule decides
	Matched []string
	HasAll  bool // Matched is to be checked
}

// A Result is the outcome of a case.
type Result struct {
	Name        string             `json:"name"`
	Line        int                `json:"line"`
	OK          bool               `json:"ok"`
	Wrong       []string           `json:"wrong,omitempty"` // the differences from the case
	Explanation policy.Explanation `json:"explanation"`
}

// A Coverage is the effect of the cases on one rule.
type Coverage struct {
	Rule    string `json:"rule"`
	When    string `json:"when"`
	Matched int    `json:"matched"` // cases in which it matched
	Decided int    `json:"decided"` // and in which it decided
}

// A Report is the outcome of all cases.
type Report struct {
	OK    bool       `json:"ok"`
	Cases []Result   `json:"cases"`
	Rules []Coverage `json:"rules"`
}

// Run tries the policy on each case.
func Run(p *policy.Policy, cases []Case) Report {
	r := Report{OK: true, Cases: []Result{}}
	at := map[string]int{}
	for i, rule := range p.Rules() {
		at[rule.Name] = i
		r.Rules = append(r.Rules, Coverage{Rule: rule.Name, When: rule.When.String()})
	}
	for i := range cases {
		result := cases[i].try(p)
		r.OK = r.OK && result.OK
		r.Cases = append(r.Cases, result)
		for _, f := range result.Explanation.Rules {
			if f.State == policy.Matched || f.State == policy.Failed {
				r.Rules[at[f.Rule]].Matched++
			}
		}
		if rule := result.Explanation.Rule; rule != "" {
			r.Rules[at[rule]].Decided++
		}
	}
	return r
}

// Idle returns the names of the rules that decided in no case.
func (r *Report) Idle() (names []string) {
	for _, c := range r.Rules {
		if c.Decided == 0 {
			names = append(names, c.Rule)
		}
	}
	return names
}

func (c *Case) try(p *policy.Policy) Result {
	e := p.Explain(c.Given)
	r := Result{Name: c.Name, Line: c.Line, Explanation: e}
	wrong := func(s string) { r.Wrong = append(r.Wrong, s) }
	if !e.Sure() {
		wrong("the effect is from " + e.Strictest.String() + " to " + e.Mildest.String() + ": the case leaves facts open")
	} else if e.Strictest != c.Effect {
		wrong("the effect is " + e.Strictest.String() + ", not " + c.Effect.String())
	}
	if c.HasRule && e.Rule != c.Rule {
		wrong("it is decided by " + ruleName(e.Rule) + ", not by " + ruleName(c.Rule))
	}
	var matched []string
	for _, f := range e.Rules {
		switch f.State {
		case policy.Failed:
			wrong("rule " + f.Rule + " cannot be evaluated: " + f.Problem)
			matched = append(matched, f.Rule)
		case policy.Matched:
			matched = append(matched, f.Rule)
		}
	}
	if c.HasAll {
		for _, name := range matched {
			if !slices.Contains(c.Matched, name) {
				wrong("rule " + name + " matches too")
			}
		}
		for _, name := range c.Matched {
			if !slices.Contains(matched, name) {
				wrong("rule " + name + " does not match")
			}
		}
	}
	r.OK = len(r.Wrong) == 0
	return r
}

func ruleName(name string) string {
	if name == "" {
		return "no rule"
	}
	return name
}
