package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// The least that suggests an exception.
const (
	leastYes      = 3
	leastSessions = 2
	mostProposals = 20
)

// A Proposal is an exception from rules that ask, for calls like those that a person accepted.
type Proposal struct {
	Server       string   `json:"server"`
	Method       string   `json:"method"`
	Name         string   `json:"name"`
	Destinations []string `json:"destinations"`
	Principals   []string `json:"principals"` // whose answers these are
	Accepted     int      `json:"accepted"`   // requests
	Sessions     int      `json:"sessions"`   // in which they were
	Rules        []string `json:"rules"`      // that would not ask any more about such calls
	Condition    []string `json:"condition"`  // of the exception: all terms hold
	Allowed
	Unknown int `json:"unknown"` // calls of the tool of which the log does not tell whether it would have
}

// Suggestions are the exceptions that past answers suggest.
type Suggestions struct {
	Proposals []Proposal `json:"proposals"`
	Unknown   int        `json:"unknown"` // accepted requests of which the log does not hold the destination

	Me          []OwnAddress  `json:"me"`          // addresses that may be the user's own
	Undescribed []Undescribed `json:"undescribed"` // servers about whose tools people accept requests

	Policy []byte `json:"-"` // the source of the policy with all of them
}

// Suggest looks for exceptions from the rules of a policy that ask about calls which people have always accepted: at
// least three requests in two sessions, and none refused, of one tool to one destination, about which the same rules
// ask and with the same flags and sets. An exception holds for exactly that server, tool and destinations, these
// flags, and for nothing worse than the accepted calls had ([narrowing]). It is tried on all recorded decisions: one
// that would have allowed a call that a person refused, or of which the log does not tell whether it would, is left
// out. Events calls its argument with each recorded event in their order, each time that Suggest calls it.
func Suggest(name string, src []byte, events func(func(*record.Event) error) error) (*Suggestions, error) {
	s := suggester{answers: newAnswers(), groups: map[variant]*group{}, barred: map[target]bool{}, owns: owns{},
		undescribed: map[string]*Undescribed{}}
	var err error
	if s.policy, err = policy.Load(name, src); err != nil {
		return nil, err
	}
	if s.probe, err = newProbe(); err != nil {
		return nil, err
	}
	if err := events(s.answers.add); err != nil {
		return nil, err
	}
	if err := events(s.gather); err != nil {
		return nil, err
	}
	s.choose()
	for {
		out, changed, err := except(name, src, s.exceptions())
		if err != nil {
			return nil, err
		}
		dropped, err := s.try(changed, events)
		if err != nil {
			return nil, err
		}
		if !dropped {
			found := s.suggestions(out)
			found.Me, err = s.own(events)
			return found, err
		}
	}
}

type suggester struct {
	policy, probe *policy.Policy
	answers       answers
	groups        map[variant]*group
	barred        map[target]bool // targets, or tools, of which a call was refused
	unknown       int
	owns          owns
	undescribed   map[string]*Undescribed // by server
}

// A variant is a target with the rules that ask and the facts that are the same in all calls of one proposal.
type variant struct {
	target
	rest string
}

// A group are the requests of one variant.
type group struct {
	accepted             int
	sessions, principals map[string]bool
	rules                []string // that ask
	example              example
	proposal             Proposal
}

// gather sorts the calls that people were asked about by their targets.
func (s *suggester) gather(e *record.Event) error {
	ask := s.answers.of[e.ID]
	if ask == nil || !decided(e) || ask.answer == unanswered {
		return nil
	}
	g, _, err := Restore(e)
	if err != nil {
		s.barred[tool(e)] = s.barred[tool(e)] || ask.answer != accepted
		return nil
	}
	to, ok := targetOf(e, g)
	switch {
	case ask.answer != accepted: // without destinations it bars the tool
		s.barred[to] = true
		s.owns.refuse(to)
	case !ok:
		s.unknown++
		s.describe(e, g)
	case ask.first == e.ID:
		s.accept(to, e, g)
	}
	return nil
}

// accept adds an accepted call that the policy would still ask about. Calls to several destinations suggest nothing:
// rules see them as a set, in which a sender and a recipient that change places are the same.
func (s *suggester) accept(to target, e *record.Event, g *policy.ParsedFacts) {
	if len(to.list()) > 1 {
		return
	}
	x := s.policy.Explain(g)
	if !x.Sure() || x.Strictest != policy.Ask {
		return
	}
	one, ok := newExample(s.probe, g, x.Rules)
	if !ok {
		return
	}
	s.owns.accept(to, e, g, s.answers.conversation(e))
	rules := askers(&x)
	key := variant{to, strings.Join(rules, "\n") + "\n\n" + one.variant()}
	of := s.groups[key]
	if of == nil {
		of = &group{sessions: map[string]bool{}, principals: map[string]bool{}, rules: rules, example: one}
		s.groups[key] = of
	}
	of.example.join(&one)
	of.accepted++
	of.principals[e.Principal] = true
	of.sessions[s.answers.conversation(e)] = true
}

// askers returns the names of the rules that ask.
func askers(x *policy.Explanation) (names []string) {
	for _, r := range x.Rules {
		if r.State != policy.Unmatched && r.Effect == policy.Ask {
			names = append(names, r.Rule)
		}
	}
	slices.Sort(names)
	return names
}

// choose drops the groups that suggest nothing, and more than a person reads.
func (s *suggester) choose() {
	maps.DeleteFunc(s.groups, func(of variant, g *group) bool {
		return g.accepted < leastYes || len(g.sessions) < leastSessions || s.bars(of.target)
	})
	for _, to := range sorted(s.groups)[min(len(s.groups), mostProposals):] {
		delete(s.groups, to)
	}
}

// bars reports whether a call to a target was refused, or one of which the log does not hold the target.
func (s *suggester) bars(to target) bool {
	return s.barred[to] || s.barred[to.tool()]
}

func (s *suggester) exceptions() map[string][][]string {
	all := map[string][][]string{}
	for _, to := range sorted(s.groups) {
		g := s.groups[to]
		g.proposal = Proposal{
			Server: to.server, Method: to.method, Name: to.name, Destinations: to.list(), Principals: slices.Sorted(maps.Keys(g.principals)),
			Accepted: g.accepted, Sessions: len(g.sessions), Rules: g.rules, Condition: g.example.condition(to.target),
		}
		for _, rule := range g.rules {
			all[rule] = append(all[rule], g.proposal.Condition)
		}
	}
	return all
}

// try puts all recorded decisions before the changed policy. It drops the groups whose exceptions do more than they
// may, and reports whether there are any.
func (s *suggester) try(changed *policy.Policy, events func(func(*record.Event) error) error) (dropped bool, err error) {
	foreign := ""
	drop := func(bad func(variant, *group) bool) {
		before := len(s.groups)
		maps.DeleteFunc(s.groups, bad)
		dropped = dropped || len(s.groups) < before
	}
	covering, err := s.covering()
	if err != nil {
		return false, err
	}
	err = events(func(e *record.Event) error {
		if !decided(e) {
			return nil
		}
		g, _, err := Restore(e)
		if err != nil {
			return nil // gather has barred its tool, if it was refused
		}
		was, is := s.policy.Explain(g), changed.Explain(g)
		if was.Strictest == is.Strictest && was.Mildest == is.Mildest {
			return nil
		}
		_, known := targetOf(e, g)
		of := covering(g, &was)
		ask := s.answers.of[e.ID]
		no := ask != nil && ask.answer != accepted && ask.answer != unanswered
		switch {
		case was.Sure() && is.Sure() && of != nil && !no:
			of.proposal.note(e, ask)
		case !known && !no:
			for other, g := range s.groups {
				if other.tool() == tool(e) {
					g.proposal.Unknown++
				}
			}
		default: // it was refused, or no group is its own
			foreign = e.ID
			drop(func(other variant, _ *group) bool { return other.tool() == tool(e) })
		}
		return nil
	})
	switch {
	case err != nil:
	case !dropped && foreign != "":
		return false, fmt.Errorf("an exception would change the decision %.64q about another call", foreign)
	case !dropped: // an exception that allows nothing may be of a default that asks
		drop(func(_ variant, g *group) bool { return len(g.proposal.Calls) == 0 })
	}
	return dropped, err
}

// covering returns a function that finds the group whose exception is for a call, from all rules that ask about it;
// nil if there is none for sure.
func (s *suggester) covering() (func(*policy.ParsedFacts, *policy.Explanation) *group, error) {
	keys := sorted(s.groups)
	text := "version: 1\nrules: [\n"
	for i, of := range keys {
		text += fmt.Sprintf("  {name: p%d, when: call, effect: ask, if: '%s'},\n", i, strings.Join(s.groups[of].proposal.Condition, " && "))
	}
	p, err := policy.Load("proposals", []byte(text+"]\n"))
	if err != nil {
		return nil, err
	}
	return func(g *policy.ParsedFacts, was *policy.Explanation) *group {
		rules := askers(was)
		for i, r := range p.Explain(g).Rules {
			of := s.groups[keys[i]]
			if r.State == policy.Matched && of != nil && !slices.ContainsFunc(rules, func(rule string) bool { return !slices.Contains(of.rules, rule) }) {
				return of
			}
		}
		return nil
	}, nil
}

func (s *suggester) suggestions(src []byte) *Suggestions {
	out := &Suggestions{Proposals: []Proposal{}, Unknown: s.unknown, Policy: src, Undescribed: []Undescribed{}}
	for _, to := range sorted(s.groups) {
		out.Proposals = append(out.Proposals, s.groups[to].proposal)
	}
	for _, server := range slices.Sorted(maps.Keys(s.undescribed)) {
		out.Undescribed = append(out.Undescribed, *s.undescribed[server])
	}
	return out
}

// own returns the addresses that may be proposed, with the calls of the log that they would have allowed at most. One
// to which a call was refused, or that would have allowed none, is left out.
func (s *suggester) own(events func(func(*record.Event) error) error) ([]OwnAddress, error) {
	refused := map[string]bool{}
	for mail, g := range s.owns {
		refused[mail] = g.refused
	}
	maps.DeleteFunc(s.owns, func(mail string, g *ownGroup) bool {
		for of := range g.tools { // of which a call was refused, and the log does not hold where it went
			g.refused = g.refused || s.barred[of]
		}
		return g.refused || refused[strings.ToLower(mail)] || g.Accepted < leastYes || len(g.sessions) < leastSessions
	})
	out := []OwnAddress{}
	if len(s.owns) == 0 {
		return out, nil
	}
	err := events(func(e *record.Event) error {
		if !decided(e) {
			return nil
		}
		g, _, err := Restore(e)
		if err != nil {
			return nil
		}
		to, known := targetOf(e, g)
		if !known {
			return nil
		}
		of := s.owns[mailOf(to, g)]
		if of == nil {
			return nil
		}
		was, is := s.policy.Explain(g), s.policy.Explain(asOwn(g))
		if was.Strictest != policy.Ask || is.Mildest <= policy.Ask {
			return nil
		}
		of.note(e, s.answers.of[e.ID])
		return nil
	})
	for _, mail := range slices.Sorted(maps.Keys(s.owns)) {
		if g := s.owns[mail]; len(g.Calls) > 0 && len(out) < mostProposals {
			g.Sessions, g.Principals = len(g.sessions), slices.Sorted(maps.Keys(g.principals))
			out = append(out, g.OwnAddress)
		}
	}
	return out, err
}

// describe notes an accepted request about a tool of which nobody states the parts of the arguments.
func (s *suggester) describe(e *record.Event, g *policy.ParsedFacts) {
	if g.Call.Stated || e.Method != "tools/call" {
		return
	}
	of := s.undescribed[e.Server]
	if of == nil {
		of = &Undescribed{Server: e.Server}
		s.undescribed[e.Server] = of
	}
	if of.Accepted++; !slices.Contains(of.Tools, e.Name) && len(of.Tools) < mostProposals {
		of.Tools = append(of.Tools, e.Name)
	}
}
