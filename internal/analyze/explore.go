package analyze

import (
	"context"
	"slices"
	"sort"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// A Question is the subject of an analysis.
type Question struct {
	Policy *policy.Policy
	Tools  []Tool
	Goal   Goal
	Start  label.Label // of the session; the zero Label is one that has seen nothing
	Claims bool        // results may claim to be untrusted, private or malicious beyond their contract

	// Attacker says that an attacker has chosen the arguments: their destinations and contents came from untrusted
	// content, or from private data. Else they may come from anywhere, the user included.
	Attacker bool
}

// A Step is one call of a counterexample.
type Step struct {
	Tool   string   `json:"tool"`
	Label  string   `json:"label"`            // of the session after it, or for the last step before it
	Effect string   `json:"effect"`           // the mildest that policy may say
	Unless []string `json:"unless,omitempty"` // rules that stop it, by facts that the analysis leaves open
}

// A Result is the answer to a question.
type Result struct {
	Goal      string `json:"goal"`
	Proved    bool   `json:"proved"` // no sequence of calls reaches the goal without a block or a question
	States    int    `json:"states"` // labels that sessions can have
	Decisions int    `json:"decisions"`
	Classes   int    `json:"classes"` // of tools that the policy can tell apart

	// Bits is the most that small values and choices can tell a destination before policy stops a call that would reach
	// the goal, as call.leak.total counts them; policy.MostBits if no rule bounds them. It is 0 without a proof.
	Bits           int    `json:"bits"`
	Counterexample []Step `json:"counterexample,omitempty"`
}

// explorer goes through the states.
type explorer struct {
	Question
	tools    []Tool
	open     []string // facts that are open for every tool
	varying  []string // and those that are for tools whose contract varies
	nodes    []node
	seen     map[string]bool
	returned [][]label.Label // by tool
	result   Result
}

// A node is a state with the way that led there.
type node struct {
	label label.Label
	from  int // index of the state before; -1 at the start
	step  Step
}

// Explore answers the question. An error is that of ctx.
func Explore(ctx context.Context, q Question) (Result, error) {
	e := newExplorer(q)
	for i := 0; i < len(e.nodes); i++ {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		for t := range e.tools {
			if e.visit(i, t) {
				e.result.States = len(e.nodes)
				return e.result, nil
			}
		}
	}
	e.result.Proved, e.result.States = true, len(e.nodes)
	e.result.Bits = e.bits()
	return e.result, nil
}

// small are the facts by which policy recognises data that an attacker chose. Data in small values and choices is
// recognised by none of them.
var small = []string{"call.from", "call.small.from", "call.destination.from", "call.crosses", "call.named"}

// bits returns the largest leak that policy lets reach the goal from any of the states. Only the call that reaches the
// goal is asked about: its addition to the total is in the total.
func (e *explorer) bits() (most int) {
	open := slices.Concat(e.open, small)
	varying := slices.Concat(e.varying, small)
	for _, n := range e.nodes {
		for _, t := range e.tools {
			if !e.Attacker || !e.Goal.Holds(n.label) || !t.MayReach(e.Goal.Destination) {
				continue
			}
			f, facts := e.facts(t, n.label), open
			if t.Varies {
				facts = varying
			}
			stopped := sort.Search(policy.MostBits+1, func(bits int) bool {
				f.Call.Leak, f.Call.Total = bits, bits
				return e.Policy.Bounds(f, facts).Mildest < policy.Warn
			})
			most = max(most, stopped-1)
		}
	}
	return most
}

func newExplorer(q Question) *explorer {
	e := &explorer{Question: q, seen: map[string]bool{}, result: Result{Goal: q.Goal.Name}}
	for _, fact := range policy.FactNames() {
		switch policy.StandingOf(fact) {
		case policy.Settled, policy.Named:
		case policy.Narrowed:
			e.varying = append(e.varying, fact)
		case policy.Chosen:
			if !q.Attacker {
				e.open = append(e.open, fact)
			}
		case policy.Both:
			if q.Attacker {
				e.varying = append(e.varying, fact)
			} else {
				e.open = append(e.open, fact)
			}
		default:
			e.open = append(e.open, fact)
		}
	}
	e.varying = append(e.varying, e.open...)
	e.tools = classesOf(q.Tools, q.Policy.Reads("tool.name") || q.Policy.Reads("server.name") || q.Policy.Reads("call.name"))
	seen := newSight(q.Policy, q.Goal)
	for _, t := range e.tools {
		e.returned = append(e.returned, t.returned(seen, q.Claims))
	}
	e.result.Classes = len(e.tools)
	e.add(node{label: seen.of(q.Start.Normal()), from: -1})
	return e
}

func (e *explorer) add(n node) {
	if k := describe(n.label); !e.seen[k] {
		e.seen[k] = true
		e.nodes = append(e.nodes, n)
	}
}

// visit makes the call of a tool in a state, if policy may let it. It reports whether that reaches the goal.
func (e *explorer) visit(state, tool int) bool {
	t, before := e.tools[tool], e.nodes[state].label
	f := e.facts(t, before)
	span := e.span(t, f)
	if span.Mildest < policy.Warn {
		return false
	}
	step := Step{Tool: t.String(), Label: describe(before), Effect: span.Mildest.String(), Unless: stoppers(span)}
	if e.Goal.Holds(before) && t.MayReach(e.Goal.Destination) {
		e.result.Counterexample = append(e.way(state), step)
		return true
	}
	for _, l := range e.returned[tool] {
		after, typed := label.Join(before, l), label.Join(before, l.Typed())
		if e.seen[describe(after)] && e.seen[describe(typed)] {
			continue
		}
		f.Phase, f.Response = policy.OnResult, &l
		shown := e.span(t, f)
		if shown.Mildest < policy.Hide {
			continue
		}
		step.Label = describe(after) // a hidden result can be revealed, and counts in a call that uses it
		e.add(node{after, state, step})
		if hides(shown) { // and the agent can be told numbers in it
			step.Label = describe(typed)
			e.add(node{typed, state, step})
		}
	}
	return false
}

func (e *explorer) span(t Tool, f *policy.Facts) policy.Bounds {
	e.result.Decisions++
	open := e.open
	if t.Varies {
		open = e.varying
	}
	return e.Policy.Bounds(f, open)
}

func (e *explorer) facts(t Tool, session label.Label) *policy.Facts {
	method := t.Method
	if method == "" {
		method = "tools/call"
	}
	f := &policy.Facts{
		Method:  method,
		Tool:    policy.ToolFacts{Name: t.Name, Annotations: t.Effective, Declared: t.Declared},
		Server:  policy.ServerFacts{Name: t.Server, Trust: t.Trust},
		Session: policy.SessionFacts{Label: session},
	}
	if e.Attacker {
		strangers, place := label.SetOf("untrusted"), label.SetOf("attacker.example")
		f.Call = policy.CallFacts{
			Traced: true, Destinations: place, Hosts: place, From: strangers, SmallFrom: strangers, DestinationFrom: strangers, ContentFrom: strangers, Links: true, First: true, Strange: true, Crosses: true,
			Leak: policy.MostBits, Total: policy.MostBits,
		}
	}
	if e.Attacker && !t.Fixed {
		f.Arguments = []byte(`{"chosen":"by an attacker"}`)
	}
	return f
}

// stoppers names the open rules that would stop the call.
func stoppers(s policy.Bounds) (rules []string) {
	for _, m := range s.Open {
		if m.Effect < policy.Warn && !slices.Contains(rules, m.Rule) {
			rules = append(rules, m.Rule)
		}
	}
	return rules
}

// hides reports whether a rule may hide the result.
func hides(s policy.Bounds) bool {
	hides := func(m policy.Match) bool { return m.Effect == policy.Hide }
	return slices.ContainsFunc(s.Sure, hides) || slices.ContainsFunc(s.Open, hides)
}

// way returns the steps that led to a state.
func (e *explorer) way(state int) (steps []Step) {
	for n := e.nodes[state]; n.from >= 0; n = e.nodes[n.from] {
		steps = append(steps, n.step)
	}
	slices.Reverse(steps)
	return steps
}
