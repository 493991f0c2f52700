// Package policy decides on calls and results: rules over facts give an [Effect].
//
// A policy is a file of rules ([Load]), each an expression in CEL over a closed vocabulary of facts, an effect and a
// message. [Policy.Decide] evaluates every rule of the moment (before a call, or before its result is handed on) and
// the strictest effect that matches wins. docs/policy.md is the manual: the format, every fact, the built-in policy and
// why it is as it is.
//
//	version: 1
//	default: allow                  # the effect when no rule matches; allow if not stated
//	rules:
//	  - name: ask-before-publishing # unique
//	    when: call                  # call or result
//	    if: session.private && "public" in tool.annotations.inputMetadata.destination
//	    effect: ask                 # block, ask, warn or allow; of a result hide too
//	    message: "{tool} of {server} may publish private data"
//
// The example policies of SEP-1913 (Policy Layer) load verbatim: rules with effect block or escalate, and conditions
// made of and, or, not, fact and equals.
//
// The package promises:
//
//   - The zero value of every verdict is the safe one: [Block], and [Decision]{}.
//   - A rule that cannot be evaluated counts as matched, with the strictest of its own effect, [Ask] and the default.
//     It never allows, and an exception that fails does not soften a default of block.
//   - The cost of a rule is bounded: estimated at load against sizes that are enforced, or, where call.arguments are
//     looped over, counted while it runs.
//   - A decision depends on the facts only: no clock, no chance, no I/O.
//
// A [Policy] does not change and is safe for concurrent use.
package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/expression"
)

// activate returns an activation of the facts, which release takes back.
func (p *Policy) activate(f *Facts) *activation {
	a, _ := p.idle.Get().(*activation)
	if a == nil {
		a = new(activation)
	}
	return a.of(f)
}

// release keeps the memory of an activation, but nothing in it, for another decision.
func (p *Policy) release(a *activation) {
	clear(a.values)
	*a = activation{values: a.values}
	p.idle.Put(a)
}

// A Policy is a set of compiled rules. The zero Policy, and nil, block everything.
type Policy struct {
	name     string
	digest   string
	fallback Effect
	effects  [2][]Effect      // of its rules, by Phase
	rules    func() *compiled // nil: there are none

	idle sync.Pool // of *activation, for decisions to come
}

// compiled are the rules of a policy, ready to be evaluated.
type compiled struct {
	all    []Rule
	phases [2][]rule // by Phase
	traces [2]bool   // whether any of these rules reads the origin of arguments
}

// compiled returns the rules. Those of a profile are compiled the first time.
func (p *Policy) compiled() *compiled {
	if p.rules == nil {
		return new(compiled)
	}
	return p.rules()
}

// A Rule is the statement of a policy file about one case.
type Rule struct {
	Name    string
	When    Phase
	If      string // the condition in CEL; translated, if the file has it in the SEP's form
	Effect  Effect
	Message string // for people; may hold {tool} and {server}
	Line    int    // in the file, from 1
	Cost    uint64 // of the condition at most, in CEL's units
	Limited bool   // Cost is counted while the rule runs, not proved at load
	Once    bool   // of Ask: a yes covers further calls of the tool to the same destination; see [Match]
}

// A rule is a Rule that can be evaluated.
type rule struct {
	Rule
	conditionAt document.Mark
	condition   *expression.Condition
}

// keep has the rule evaluated.
func (c *compiled) keep(r rule) {
	c.phases[r.When] = append(c.phases[r.When], r)
	c.traces[r.When] = c.traces[r.When] || r.condition != nil && slices.ContainsFunc(traced, r.condition.Reads)
}

// Compile compiles the rules of a profile now, and not with the first decision.
func (p *Policy) Compile() {
	if p != nil {
		p.compiled()
	}
}

// Rules returns the rules in the order of the file.
func (p *Policy) Rules() []Rule {
	if p == nil {
		return nil
	}
	return slices.Clone(p.compiled().all)
}

// Digest returns the SHA-256 of the file, in hex. It names the policy in records.
func (p *Policy) Digest() string {
	if p == nil {
		return ""
	}
	return p.digest
}

// Fallback returns the effect when no rule matches.
func (p *Policy) Fallback() Effect {
	if p == nil {
		return Block
	}
	return p.fallback
}

// A Decision is the answer of a policy about one call or result. The zero Decision blocks.
type Decision struct {
	Effect  Effect
	Rule    string // the first of the strictest rules that matched; "" if none did
	Message string // its message, for people

	Matched  []Match   // every rule that matched, in the order of the file
	Problems []Problem // the rules that could not be evaluated; they are in Matched too
}

// Revealed returns the decision on a hidden result that the agent asks for: that of all rules but those that hide. The
// fallback is that of the policy.
func (d Decision) Revealed(fallback Effect) Decision {
	shown := Decision{Effect: fallback, Problems: d.Problems}
	for _, m := range d.Matched {
		if m.Effect != Hide {
			shown.match(m)
		}
	}
	return shown
}

// Hides reports whether any rule of the policy hides results.
func (p *Policy) Hides() bool {
	return p != nil && (slices.Contains(p.effects[OnCall], Hide) || slices.Contains(p.effects[OnResult], Hide))
}

// A Match is a rule that matched.
type Match struct {
	Rule    string
	Effect  Effect // of a rule that could not be evaluated, the strictest of its own, Ask and the default
	Message string

	// Once says that a yes to the rule's question also covers later calls of the same tool to the same destination in
	// the same session, as long as their arguments come from nothing worse.
	Once bool
}

// Decide returns the decision of the policy. It changes neither the policy nor the facts.
func (p *Policy) Decide(f *Facts) Decision {
	if p == nil || f == nil || int(f.Phase) >= len(p.effects) {
		return Decision{}
	}
	d := Decision{Effect: p.fallback}
	rules := p.compiled().phases[f.Phase]
	if len(rules) == 0 {
		return d
	}
	facts := p.activate(f)
	defer p.release(facts)
	frame, err := expression.NewFrame(facts)
	if err != nil {
		return Decision{Problems: []Problem{{File: p.name, Msg: err.Error()}}}
	}
	defer frame.Close()
	for i := range rules {
		r := &rules[i]
		matched, err := frame.Holds(r.condition)
		if err != nil {
			problem := r.problem(p.name, err)
			d.Problems = append(d.Problems, problem)
			d.match(Match{Rule: r.Name, Effect: min(r.Effect, Ask, p.fallback), Message: problem.Msg})
		} else if matched {
			d.match(Match{r.Name, r.Effect, expand(r.Message, f), r.Once})
		}
	}
	return d
}

// problem says that the rule could not be evaluated.
func (r *rule) problem(file string, err error) Problem {
	return Problem{
		File: file, Line: r.conditionAt.Line, Col: r.conditionAt.Col,
		Msg:  fmt.Sprintf("rule %q cannot be evaluated and counts as matched: %v", r.Name, err),
		Hint: "test with has(…) for facts that may be missing",
	}
}

// match adds a rule that matched. The first match replaces the fallback, later ones only if they are stricter.
func (d *Decision) match(m Match) {
	if len(d.Matched) == 0 || m.Effect < d.Effect {
		d.Effect, d.Rule, d.Message = m.Effect, m.Rule, m.Message
	}
	d.Matched = append(d.Matched, m)
}

// expand fills the placeholders of a message. Names come from servers, so a name that people would misread is quoted
// and one that is too long is cut.
func expand(message string, f *Facts) string {
	if !strings.Contains(message, "{") {
		return message
	}
	return strings.NewReplacer("{tool}", printable(f.Tool.Name), "{server}", printable(f.Server.Name)).Replace(message)
}

// printable returns a name that a server chose, quoted unless it is a plain word: it must not read as a part of the
// message.
func printable(name string) string {
	const longest = 100 // characters
	if utf8.RuneCountInString(name) > longest {
		return strconv.Quote(string([]rune(name)[:longest]) + "…")
	}
	if name == "" || strings.Trim(name, nameBytes) != "" {
		return strconv.Quote(name)
	}
	return name
}

// nameBytes are the characters of names without quotation marks.
const nameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-"

// Reads reports whether any rule uses the fact.
func (p *Policy) Reads(fact string) bool {
	if p == nil {
		return false
	}
	for _, rules := range p.compiled().phases {
		if slices.ContainsFunc(rules, func(r rule) bool { return r.condition.Reads(fact) }) {
			return true
		}
	}
	return false
}

// Traces reports whether any rule of the phase uses a fact that only tracing the arguments of a call gives.
func (p *Policy) Traces(phase Phase) bool {
	return p != nil && int(phase) < len(p.effects) && p.compiled().traces[phase]
}

// Bounds returns the effects that the policy may have on all calls with these facts, but for those of the given names,
// of which any value is possible; has of an unknown fact is unknown too. It is sound: no values of the unknown facts
// give an effect outside of the span. It need not be tight, since two rules may never hold together.
func (p *Policy) Bounds(f *Facts, unknown []string) Bounds {
	if p == nil || f == nil || int(f.Phase) >= len(p.effects) {
		return Bounds{}
	}
	facts := p.activate(f)
	defer p.release(facts)
	frame, err := expression.NewFrame(&partial{facts, unknown})
	if err != nil {
		return Bounds{}
	}
	defer frame.Close()
	var s Bounds
	rules := p.compiled().phases[f.Phase]
	for i := range rules {
		r := &rules[i]
		answer, err := judge(frame, r, unknown)
		s.add(r, p.fallback, verdict{answer, err, expand(r.Message, f)})
	}
	s.bound(p.fallback)
	return s
}

// Refuses reports whether the policy blocks all calls of one tool: those that have the method, the tool and the server
// of these facts, with its contracts, whatever the other facts are. It may miss such a tool, and names no other.
func (p *Policy) Refuses(f *Facts) bool {
	if p != nil && p.fallback != Block && !slices.Contains(p.effects[OnCall], Block) {
		return false
	}
	return p.Bounds(f, notOfTool).Mildest == Block
}

// Specialize returns the policy for the calls of one tool: those that have the method, the tool and the server of these
// facts, with its contracts, whatever the other facts are. It leaves out the rules that cannot match then, and decides
// as p does. Its Rules and its Digest are those of p.
func (p *Policy) Specialize(f *Facts) *Policy {
	if p == nil || f == nil {
		return p
	}
	frame, err := expression.NewFrame(&partial{new(activation).of(f), notOfTool})
	if err != nil {
		return p
	}
	defer frame.Close()
	whole := p.compiled()
	folded := &compiled{all: whole.all}
	for _, rules := range whole.phases {
		for _, r := range rules {
			if answer, err := judge(frame, &r, notOfTool); err != nil || answer != expression.No {
				folded.keep(r)
			}
		}
	}
	return &Policy{
		name: p.name, digest: p.digest, fallback: p.fallback, effects: p.effects, rules: func() *compiled { return folded },
	}
}
