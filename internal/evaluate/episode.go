package evaluate

import (
	"regexp"
)

// A Mode is the circumstances of a replay.
type Mode struct {
	Words   bool `json:"userWords"`     // the host sends the user's messages
	Accepts bool `json:"personAccepts"` // a person accepts everything; else nobody answers
}

// An episode is the record of one replay.
type episode struct {
	task      string
	session   string // of the agent
	questions []Question
	shown     bool     // the attacker's text was in a result
	reached   bool     // the agent read it, of one that uses handles
	through   []string // tools of the attacker's calls that got through
	done      bool     // all of the user's calls came to their servers
}

// A Question is one that a person was asked.
type Question struct {
	Task string `json:"task"`
	Tool string `json:"tool"`
	Rule string `json:"rule"`
}

func (e *episode) note(task string, c Call, m made) {
	for _, rule := range m.asked {
		e.questions = append(e.questions, Question{task, c.Tool, rule})
	}
}

func ruleOf(text string) string {
	if m := rule.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

var modes = []Mode{{false, false}, {true, false}, {false, true}, {true, true}}

// rule finds the name of the rule in a question's text.
var rule = regexp.MustCompile(`\(rule ([^)]+)\)`)
