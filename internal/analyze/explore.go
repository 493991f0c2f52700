package analyze

import (
	"context"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// A Question is what is to be explored.
type Question struct {
	Policy *policy.Policy
	Tools  []Tool
	Goal   Goal
	Start  label.Label // of the session; the zero Label is one that has seen nothing
	Claims bool        // results may claim to be untrusted, private or malicious beyond their contract

	// Attacker says that somebody other than the user has chosen the arguments: where they go and what they hold came from what
	// strangers wrote, or from private data. Else they may come from anywhere, the user included.
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
	Goal           string `json:"goal"`
	Proved         bool   `json:"proved"` // no sequence of calls reaches the goal without a block or a question
	States         int    `json:"states"` // labels that sessions can have
	Decisions      int    `json:"decisions"`
	Classes        int    `json:"classes"` // of tools that the policy can tell apart
	Counterexample []Step `json:"counterexample,omitempty"`
}

// settled are the facts that a state and a tool settle. All others are left open.
var settled = []string{
	"call.method", "call.plainRead", "server.trust",
	"request.annotations.openWorldHint", "session.untrusted", "session.private", "session.malicious", "session.credentials",
	"session.sensitivity", "session.sources",
	"response.annotations.private", "response.annotations.sensitivity", "response.annotations.sources",
	"response.annotations.openWorldHint", "response.annotations.maliciousActivityHint",
}

// attacked are the facts that an attacker settles, beside those above.
var attacked = []string{
	"call.byAgent", "call.hasArguments", "call.sends", "call.named", "call.from", "call.small.from",
	"call.destination.from", "call.destination.own", "call.destination.values", "call.destination.hosts",
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
	return e.result, nil
}

func newExplorer(q Question) *explorer {
	e := &explorer{Question: q, seen: map[string]bool{}, result: Result{Goal: q.Goal.Name}}
	for _, fact := range policy.FactNames() {
		switch {
		case strings.HasPrefix(fact, "tool."):
			e.varying = append(e.varying, fact)
		case fact == "call.plainRead":
			e.varying = append(e.varying, fact)
		case q.Attacker && slices.Contains(attacked, fact):
		case fact == "server.name" || fact == "call.name" || slices.Contains(settled, fact):
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

// visit makes the call of a tool in a state, if policy may let it. It reports whether that is what must not happen.
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
		after := label.Join(before, l)
		if e.seen[describe(after)] {
			continue
		}
		f.Phase, f.Response = policy.OnResult, &l
		if shown := e.span(t, f); shown.Mildest >= policy.Warn {
			step.Label = describe(after)
			e.add(node{after, state, step})
		}
	}
	return false
}

func (e *explorer) span(t Tool, f *policy.Facts) policy.Span {
	e.result.Decisions++
	open := e.open
	if t.Varies {
		open = e.varying
	}
	return e.Policy.Span(f, open)
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
			Traced: true, Destinations: place, Hosts: place, From: strangers, SmallFrom: strangers, DestinationFrom: strangers, ContentFrom: strangers, Links: true, First: true,
		}
	}
	if e.Attacker && !t.Fixed {
		f.Arguments = []byte(`{"chosen":"by an attacker"}`)
	}
	return f
}

// stoppers names the open rules that would stop the call.
func stoppers(s policy.Span) (rules []string) {
	for _, m := range s.Open {
		if m.Effect < policy.Warn && !slices.Contains(rules, m.Rule) {
			rules = append(rules, m.Rule)
		}
	}
	return rules
}

// way returns the steps that led to a state.
func (e *explorer) way(state int) (steps []Step) {
	for n := e.nodes[state]; n.from >= 0; n = e.nodes[n.from] {
		steps = append(steps, n.step)
	}
	slices.Reverse(steps)
	return steps
}
