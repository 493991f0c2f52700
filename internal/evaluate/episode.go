package evaluate

import (
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/pattern"
)

// A Mode is the circumstances of a replay.
type Mode struct {
	Words   bool `json:"userWords"`               // the host sends the user's messages
	Accepts bool `json:"personAccepts"`           // a person accepts everything; else nobody answers
	Plans   bool `json:"plansAccepted,omitempty"` // a person accepts plans
}

// An episode is the record of one replay.
type episode struct {
	task      string
	session   string // of the agent
	questions []Question
	shown     bool     // the attacker's text was in a result
	reached   bool     // the agent read it, of one that uses handles
	deceived  bool     // a quarantined model has told it the attacker's calls
	through   []string // tools of the attacker's calls that got through
	done      bool     // all of the user's calls came to their servers
}

// A Question is one that a person was asked.
type Question struct {
	Task string `json:"task"`
	Tool string `json:"tool"`
	Rule string `json:"rule"`
}

// plan notes the request about the plan of a task.
func (e *episode) plan(task string, p planned) {
	for range p.requests {
		e.questions = append(e.questions, Question{task, "weir_plan", guard.RulePlan})
	}
}

func (e *episode) note(task string, c Call, m made) {
	for _, rule := range m.asked {
		e.questions = append(e.questions, Question{task, c.Tool, rule})
	}
}

func ruleOf(text string) string {
	if m := rule().FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

var modes = []Mode{{}, {Words: true}, {Accepts: true}, {Words: true, Accepts: true}}

// modesOf returns the modes of a replay.
func modesOf(opts Options) []Mode {
	if opts.Lying {
		return []Mode{{}, {Words: true}}
	}
	if !opts.Plans {
		return modes
	}
	return []Mode{{}, {Words: true}, {Plans: true}, {Words: true, Plans: true}, {Accepts: true, Plans: true}, {Words: true, Accepts: true, Plans: true}}
}

// person says who answers.
func (m Mode) person() string {
	switch {
	case m.Accepts:
		return "accepts all"
	case m.Plans:
		return "accepts plans"
	}
	return "no answer"
}

// rule finds the name of the rule in a question's text.
var rule = pattern.New(`\(rule ([^)]+)\)`)
