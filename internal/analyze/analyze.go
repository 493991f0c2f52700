// Package analyze finds everything that an agent can be made to do with a set of tools under a policy.
//
// An agent that obeys every instruction it reads is a machine with few states: decisions depend on its label, and each
// call adds the label of its result. [Explore] goes through all labels that any sequence of allowed calls can give a
// session, and looks for one from which a call goes out that should not: a shortest counterexample, or the proof that
// there is none.
//
//	r := analyze.Explore(ctx, analyze.Question{Policy: p, Tools: tools, Goal: analyze.Trifecta()})
//
// The space is finite: the flags, classes and sources of a label, and the tools, of which those that the policy cannot
// tell apart count as one. Facts that the analysis does not know are left open, and have any value that lets the call
// through: the arguments, where they came from, how a contract is narrowed to them, how many calls there were. So a
// proof holds for all of their values; a counterexample may rest on them, and says on which rules. Results of a trusted
// server may claim any part of their contract; Question.Claims explores results of any server that claim more than
// their contract says.
package analyze

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// A Tool is something that an agent can call, read or get.
type Tool struct {
	Server    string
	Name      string
	Method    string // "tools/call", "resources/read" or "prompts/get"; "" is the first
	Trust     contract.Trust
	Declared  contract.Contract // by overlays and the server
	Effective contract.Contract // the one that counts
	Varies    bool              // arguments or the server may narrow the contract for a call
	Fixed     bool              // the agent chooses nothing in the call, as when it reads a resource that is listed
}

// String returns "server/name".
func (t Tool) String() string { return t.Server + "/" + t.Name }

// Brings reports whether results of the tool may be untrusted content, and whether they may be private.
func (t Tool) Brings() (untrusted, private bool) {
	l := t.Effective.Label().Normal()
	return l.Untrusted, l.Private
}

// MayReach reports whether inputs of the tool may get to a destination.
func (t Tool) MayReach(d contract.Destination) bool {
	return !t.Fixed && t.Effective.Assume().Destinations.Has(d)
}

// A Goal is an event that must not happen unseen: a call goes to a destination out of a session with a label.
type Goal struct {
	Name        string
	Destination contract.Destination
	Holds       func(label.Label) bool // of the session, before the call

	class label.Class // that Holds looks for; "" if it looks for none
}

// Trifecta is the goal of an attacker who can make an agent leak: the session has read untrusted content and private
// data, and a call may publish.
func Trifecta() Goal {
	return Goal{Name: "trifecta", Destination: contract.Public, Holds: func(l label.Label) bool { return l.Untrusted && l.Private }}
}

// Flow is the goal that data of a class gets to a destination. The class "private" is private data of any class.
func Flow(class label.Class, to contract.Destination) Goal {
	return Goal{Name: "flow of " + string(class) + " to " + string(to), Destination: to, class: class,
		Holds: func(l label.Label) bool { return l.Sensitivity.Has(class) || class == AnyPrivate && l.Private }}
}

// AnyPrivate is the class of [Flow] that stands for all private data.
const AnyPrivate label.Class = "private"

// describe names a label as far as policies see it. Different labels have different names.
func describe(l label.Label) string {
	var words []string
	for _, flag := range []struct {
		set  bool
		name string
	}{{l.Untrusted, "untrusted"}, {l.Private, "private"}, {l.Malicious, "malicious"}} {
		if flag.set {
			words = append(words, flag.name)
		}
	}
	if l.Sensitivity.Len() > 0 {
		words = append(words, "holds "+l.Sensitivity.String())
	}
	if l.Sources.Len() > 0 {
		words = append(words, "from "+l.Sources.String())
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

// A sight is the part of a label that makes a difference to a policy and a goal. Dropping the rest keeps the space
// small.
type sight struct {
	sources bool
	classes bool
	some    label.Set[label.Class] // classes that count even if classes is false
}

func newSight(p *policy.Policy, g Goal) sight {
	reads := func(facts ...string) bool { return slices.ContainsFunc(facts, p.Reads) }
	s := sight{
		sources: reads("session.sources", "response.annotations.sources"),
		classes: reads("session.sensitivity", "response.annotations.sensitivity"),
		some:    label.SetOf(g.class),
	}
	if reads("session.credentials") {
		s.some = s.some.Union(label.SetOf(label.Credentials))
	}
	return s
}

// of returns the seen part of a label.
func (s sight) of(l label.Label) label.Label {
	l.Findings, l.Attribution = label.Set[string]{}, label.Set[string]{}
	if !s.sources {
		l.Sources = label.Set[label.Source]{}
	}
	if !s.classes {
		l.Sensitivity = l.Sensitivity.Intersect(s.some)
	}
	return l
}

// returned returns the labels that results of the tool may have.
func (t Tool) returned(seen sight, claims bool) []label.Label {
	full := t.Effective.Label().Normal()
	all := []label.Label{full}
	if t.Trust == contract.Trusted {
		for _, sources := range subsets(full.Sources.Slice()) {
			for _, classes := range subsets(full.Sensitivity.Slice()) {
				all = append(all, label.Label{Sources: label.SetOf(sources...), Sensitivity: label.SetOf(classes...)}.Normal())
			}
		}
	}
	more := []label.Label{{}}
	if claims {
		more = append(more, label.Label{Untrusted: true}, label.Label{Private: true}, label.Label{Malicious: true})
	}
	var claimed []label.Label
	for _, l := range all {
		for _, more := range more {
			claimed = append(claimed, seen.of(label.Join(l, more)))
		}
	}
	return distinct(claimed)
}

// maxSubsets is how many members a set may have for all its subsets to be gone through; of a larger one, only itself,
// the empty set and the single members.
const maxSubsets = 6

func subsets[T ~string](of []T) [][]T {
	if len(of) > maxSubsets {
		some := [][]T{nil, of}
		for i := range of {
			some = append(some, of[i:i+1])
		}
		return some
	}
	var all [][]T
	for bits := range 1 << len(of) {
		var one []T
		for i := range of {
			if bits&(1<<i) != 0 {
				one = append(one, of[i])
			}
		}
		all = append(all, one)
	}
	return all
}

func distinct(labels []label.Label) (out []label.Label) {
	seen := map[string]bool{}
	for _, l := range labels {
		if k := describe(l); !seen[k] {
			seen[k] = true
			out = append(out, l)
		}
	}
	return out
}

// classesOf groups tools that the policy cannot tell apart. Each group is named by its first tool.
func classesOf(tools []Tool, byName bool) []Tool {
	seen := map[string]bool{}
	var out []Tool
	for _, t := range tools {
		k := []string{t.Method, t.Trust.String(), t.Declared.String(), t.Effective.String(), map[bool]string{true: "varies"}[t.Varies], map[bool]string{true: "fixed"}[t.Fixed]}
		if byName {
			k = append(k, t.Server, t.Name)
		}
		if id := strings.Join(k, "\x00"); !seen[id] {
			seen[id] = true
			out = append(out, t)
		}
	}
	return slices.Clip(out)
}
