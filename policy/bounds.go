package policy

import (
	"slices"

	"cel.dev/cel-go/cel"

	"github.com/weir-mcp/weir/internal/expression"
)

// Bounds are the effects that a policy may have on calls that share some facts and differ in others. The zero Bounds is
// Block for sure.
type Bounds struct {
	Strictest, Mildest Effect
	Sure               []Match // the rules that match whatever the other facts are
	Open               []Match // those that match, or not, by the other facts
}

// judge evaluates a rule in a frame in which some facts are unknown. Arguments that are unknown may cost more than a
// rule may, and then it cannot be evaluated whatever else it says.
func judge(frame *expression.Frame, r *rule, unknown []string) (expression.Answer, error) {
	answer, err := frame.Judge(r.condition)
	if err == nil && r.Limited && slices.Contains(unknown, expression.Arguments) {
		answer = expression.Open
	}
	return answer, err
}

// A verdict is the evaluation of one rule, as far as it is known.
type verdict struct {
	answer  expression.Answer
	err     error
	message string
}

// add takes in one rule.
func (s *Bounds) add(r *rule, fallback Effect, v verdict) {
	m := Match{Rule: r.Name, Effect: r.Effect, Message: v.message}
	switch {
	case v.err != nil:
		m.Effect = min(r.Effect, Ask, fallback)
		s.Sure = append(s.Sure, m)
	case v.answer == expression.Yes:
		s.Sure = append(s.Sure, m)
	case v.answer == expression.Open:
		// By some values it may fail to be evaluated as well.
		m.Effect = min(r.Effect, Ask, fallback)
		s.Open = append(s.Open, m)
		if r.Effect != m.Effect {
			s.Open = append(s.Open, Match{Rule: r.Name, Effect: r.Effect, Message: v.message})
		}
	}
}

// bound computes the effects. Of the rules that match the strictest counts; without any, the fallback.
func (s *Bounds) bound(fallback Effect) {
	byEffect := func(a, b Match) int { return int(a.Effect) - int(b.Effect) }
	s.Strictest, s.Mildest = fallback, fallback
	if len(s.Sure) > 0 {
		s.Mildest = slices.MinFunc(s.Sure, byEffect).Effect
		s.Strictest = s.Mildest
	} else if len(s.Open) > 0 {
		s.Mildest = max(fallback, slices.MaxFunc(s.Open, byEffect).Effect)
	}
	if len(s.Open) > 0 {
		s.Strictest = min(s.Strictest, slices.MinFunc(s.Open, byEffect).Effect)
	}
}

// partial is an activation in which some facts are unknown.
type partial struct {
	*activation
	unknown []string
}

// ResolveName returns the value of a fact, or of has(fact).
func (p *partial) ResolveName(name string) (any, bool) {
	fact := name
	if present, ok := expression.Present(name); ok {
		fact = present
	}
	if slices.Contains(p.unknown, fact) {
		return expression.Unknown(), true
	}
	return p.activation.ResolveName(name)
}

// Parent returns nil: there is nothing outside the facts.
func (*partial) Parent() cel.Activation { return nil }

// notOfTool are the facts that may differ between calls of a tool under one contract.
var notOfTool = slices.DeleteFunc(FactNames(), func(name string) bool { return facts[factIndex[name]].perTool })
