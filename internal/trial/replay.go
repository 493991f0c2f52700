package trial

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// Restore returns the facts of a recorded decision, and the decision of its policy. There is an error if the event is
// no decision of a policy, or if its facts were not written down.
func Restore(e *record.Event) (*policy.ParsedFacts, policy.Effect, error) {
	switch {
	case e.Kind != record.Decision:
		return nil, 0, fmt.Errorf("the event is of kind %q, not a decision", e.Kind)
	case len(e.Facts) == 0:
		return nil, 0, fmt.Errorf("the event does not say by which facts it was decided")
	}
	said := e.Decided
	if said == "" {
		said = e.Effect
	}
	effect, err := policy.ParseEffect(said)
	if err != nil {
		return nil, 0, err
	}
	phase, err := policy.ParsePhase(e.Phase)
	if err != nil {
		return nil, 0, err
	}
	v, err := policy.DecodeFacts(e.Facts)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the facts: %w", err)
	}
	v["call.method"], v["tool.name"], v["server.name"], v["session.id"] = e.Method, e.Name, e.Server, e.Session
	g, err := policy.ParseFacts(phase, v)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the facts: %w", err)
	}
	g.Session.Label = label.Label{}
	if e.Label != nil {
		g.Session.Label = *e.Label
	}
	if !g.Call.Traced { // since no rule of its policy asked
		g.Hidden = append(g.Hidden, policy.TracedFacts()...)
	}
	return g, effect, nil
}

// maxExamples is how many changes a Replay keeps as examples.
const maxExamples = 10

// A Replay compares another policy with recorded decisions. The zero Replay is ready: give it events with [Replay.Add].
type Replay struct {
	Decisions int `json:"decisions"` // of policies
	Same      int `json:"same"`      // of which the effect would be the same
	Changed   int `json:"changed"`   // would be another
	Open      int `json:"open"`      // cannot be told, because the record does not say all that the policy looks at
	NoFacts   int `json:"noFacts"`   // were recorded without facts

	Changes  []Count   `json:"changes"`  // by effect before and after
	Rules    []Count   `json:"rules"`    // by the rule that would decide
	Tools    []Count   `json:"tools"`    // by the tool
	Examples []Example `json:"examples"` // the first changes
	Unknown  []Count   `json:"unknown"`  // facts that would have to be known, by name

	counts [4]map[string]int
}

// A Count is how often something is so.
type Count struct {
	What  string `json:"what"`
	Times int    `json:"times"`
}

// An Example is a decision that would be another.
type Example struct {
	Event string `json:"event"`
	Call  string `json:"call"` // the tool, as server/name
	Phase string `json:"phase"`
	From  string `json:"from"`
	To    string `json:"to"`
	Was   string `json:"was,omitempty"` // the rule that decided
	Rule  string `json:"rule,omitempty"`
}

// The counts of a Replay.
const (
	byChange = iota
	byRule
	byTool
	byUnknown
)

func (r *Replay) count(by int, what string) {
	if r.counts[by] == nil {
		r.counts[by] = map[string]int{}
	}
	r.counts[by][what]++
}

// Add takes in one event. An event that is no decision of a policy is passed over.
func (r *Replay) Add(p *policy.Policy, e *record.Event) {
	if e.Kind != record.Decision || len(e.Rule) > 5 && e.Rule[:5] == "weir:" {
		return
	}
	r.Decisions++
	g, was, err := Restore(e)
	if err != nil {
		r.NoFacts++
		return
	}
	x := p.Explain(g)
	switch {
	case !x.Sure():
		r.Open++
		for _, name := range unknown(&x) {
			r.count(byUnknown, name)
		}
	case x.Strictest == was:
		r.Same++
	default:
		r.Changed++
		tool := e.Server + "/" + e.Name
		r.count(byChange, was.String()+" → "+x.Strictest.String())
		r.count(byRule, ruleName(x.Rule))
		r.count(byTool, tool)
		if len(r.Examples) < maxExamples {
			r.Examples = append(r.Examples, Example{e.ID, tool, e.Phase, was.String(), x.Strictest.String(), e.Rule, x.Rule})
		}
	}
}

// unknown returns the facts that rules which are undecided read and that were kept from the record.
func unknown(x *policy.Explanation) (names []string) {
	for _, f := range x.Rules {
		if f.State != policy.Undecided {
			continue
		}
		for _, read := range f.Reads {
			if read.Kept && !slices.Contains(names, read.Fact) {
				names = append(names, read.Fact)
			}
		}
	}
	return names
}

// Finish fills in the counts.
func (r *Replay) Finish() {
	for i, to := range []*[]Count{&r.Changes, &r.Rules, &r.Tools, &r.Unknown} {
		*to = []Count{}
		for _, what := range slices.Sorted(maps.Keys(r.counts[i])) {
			*to = append(*to, Count{what, r.counts[i][what]})
		}
		slices.SortStableFunc(*to, func(a, b Count) int { return cmp.Compare(b.Times, a.Times) })
	}
	if r.Examples == nil {
		r.Examples = []Example{}
	}
}

// ReadEvent returns the event in a line of a record, or in an entry of the log.
func ReadEvent(line []byte) (*record.Event, error) {
	var e record.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, fmt.Errorf("reading an event: %w", err)
	}
	if e.V != record.Version {
		return nil, fmt.Errorf("an event of version %d, and %d is read", e.V, record.Version)
	}
	return &e, nil
}
