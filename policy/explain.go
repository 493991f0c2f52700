package policy

import (
	"encoding/json"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/weir-mcp/weir/internal/expression"
)

// A State is the result of evaluating one rule. The zero State is Undecided.
type State uint8

// The states.
const (
	Undecided State = iota // it depends on facts that are not known
	Unmatched              // it does not match
	Matched                // it matches
	Failed                 // it cannot be evaluated, and counts as matched
)

var stateNames = [...]string{"undecided", "unmatched", "matched", "failed"}

// String returns the state's name.
func (s State) String() string { return nameOf(stateNames[:], uint8(s)) }

// MarshalText encodes the state as [State.String] does.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Reading is a fact that a rule reads.
type Reading struct {
	Fact  string `json:"fact"`
	Value any    `json:"value"` // nil if it has none
	Note  string `json:"note,omitempty"`
	Kept  bool   `json:"kept,omitempty"` // from whoever reads it: the value is at most a size
}

// A Finding is the result of one rule, with the reasons.
type Finding struct {
	Rule    string    `json:"rule"`
	State   State     `json:"state"`
	Effect  Effect    `json:"effect"` // of the rule; of one that failed, the effect with which it counts
	Problem string    `json:"problem,omitempty"`
	Reads   []Reading `json:"reads"` // in the order of the manual
}

// An Explanation is a decision with every rule of the moment. The zero Explanation is Block for sure.
type Explanation struct {
	Strictest Effect    `json:"strictest"` // the bounds of the decision; equal if the unknown facts do not matter
	Mildest   Effect    `json:"mildest"`
	Rule      string    `json:"rule,omitempty"` // that decides; "" if none does, or if that is not known
	Message   string    `json:"message,omitempty"`
	Rules     []Finding `json:"rules"`
}

// Sure reports whether the effect is known.
func (e *Explanation) Sure() bool { return e.Strictest == e.Mildest }

// Explain decides as [Policy.Decide] does, and says of every rule why. A rule that rests on the values of facts that
// were kept from the reader stays undecided: the effect is then within Strictest and Mildest.
func (p *Policy) Explain(g *ParsedFacts) Explanation {
	if p == nil || g == nil || int(g.Phase) >= len(p.effects) {
		return Explanation{}
	}
	known := new(activation).of(&g.Facts)
	exact, err := expression.NewFrame(known)
	if err != nil {
		return Explanation{}
	}
	defer exact.Close()
	hiding, err := expression.NewFrame(&partial{known, g.Hidden})
	if err != nil {
		return Explanation{}
	}
	defer hiding.Close()
	var e Explanation
	var s Bounds
	rules := p.compiled().phases[g.Phase]
	for i := range rules {
		r := &rules[i]
		frame := exact
		if slices.ContainsFunc(g.Hidden, r.condition.ReadsValue) {
			frame = hiding
		}
		before := len(s.Sure)
		answer, err := judge(frame, r, g.Hidden)
		s.add(r, p.fallback, verdict{answer, err, expand(r.Message, &g.Facts)})
		f := Finding{Rule: r.Name, State: stateOf(answer, err), Effect: r.Effect, Reads: known.readings(r.condition, g.Hidden)}
		if err != nil {
			f.Effect, f.Problem = s.Sure[before].Effect, err.Error()
		}
		e.Rules = append(e.Rules, f)
	}
	s.bound(p.fallback)
	e.Strictest, e.Mildest = s.Strictest, s.Mildest
	e.decide(&s)
	return e
}

func stateOf(answer expression.Answer, err error) State {
	switch {
	case err != nil:
		return Failed
	case answer == expression.Yes:
		return Matched
	case answer == expression.No:
		return Unmatched
	}
	return Undecided
}

// decide names the rule that decides, if that is sure.
func (e *Explanation) decide(s *Bounds) {
	if len(s.Sure) == 0 {
		return
	}
	first := slices.MinFunc(s.Sure, func(a, b Match) int { return int(a.Effect) - int(b.Effect) })
	if !slices.ContainsFunc(s.Open, func(m Match) bool { return m.Effect <= first.Effect }) {
		e.Rule, e.Message = first.Rule, first.Message
	}
}

// readings returns the facts that a condition reads.
func (a *activation) readings(c *expression.Condition, hidden []string) []Reading {
	read := []Reading{}
	for i := range facts {
		f := &facts[i]
		if !c.Reads(f.name) {
			continue
		}
		r := Reading{Fact: f.name}
		switch v := a.value(i); {
		case slices.Contains(hidden, f.name) && f.typ.IsExactType(textList):
			r.Kept, r.Note = true, "elements, which were not written down"
			if sized, ok := v.(traits.Sizer); ok {
				r.Value = sized.Size().Value()
			}
		case slices.Contains(hidden, f.name):
			r.Kept, r.Note = true, "not written down"
		case f.has != nil && !f.has(a):
			r.Note = "not known"
		default:
			r.Value, r.Note = a.plain(f.name, v)
		}
		read = append(read, r)
	}
	return read
}

// plain returns the value of a fact as JSON has it.
func (a *activation) plain(name string, v ref.Val) (value any, note string) {
	if name == expression.Arguments {
		if json.Valid(a.facts.Arguments) {
			return json.RawMessage(a.facts.Arguments), ""
		}
		return nil, "no arguments"
	}
	switch x := v.(type) {
	case *types.Err:
		return nil, x.Error()
	case types.Bool, types.Int, types.String:
		return x.Value(), ""
	}
	texts := []string{}
	if items, ok := v.Value().([]string); ok {
		texts = append(texts, items...)
	}
	return texts, ""
}
