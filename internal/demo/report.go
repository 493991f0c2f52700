package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/weir-mcp/weir/internal/demo/agent"
	"github.com/weir-mcp/weir/label"
)

// reportVersion is that of the report's JSON form. It rises when a member changes its meaning or goes.
const reportVersion = 1

// A Report is the outcome of all scenarios.
type Report struct {
	Version int      `json:"version"`
	OK      bool     `json:"ok"` // all went as it should
	Totals  Totals   `json:"totals"`
	Stories []*Story `json:"scenarios"`
}

// Totals count outcomes. The counts of guarded tellings are zero if there was no guard.
type Totals struct {
	Attacks         int `json:"attacks"`
	Succeeded       int `json:"attacksSucceededWithout"`
	Stopped         int `json:"attacksStoppedWith"`
	Harmless        int `json:"harmlessCalls"`
	HarmlessWithout int `json:"harmlessCallsPassedWithout"`
	HarmlessWith    int `json:"harmlessCallsPassedWith"`
	Asked           int `json:"questions"` // with the guard
	Agreed          int `json:"questionsAgreedTo"`
}

// A Story is one scenario, told without a guard and with one.
type Story struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Origin  string   `json:"origin"`
	Task    string   `json:"task"`
	Attack  bool     `json:"attack"`
	Without *Telling `json:"without"`
	With    *Telling `json:"with,omitempty"` // nil if there is no guard
}

// A Telling is one run of a scenario.
type Telling struct {
	Protocol string     `json:"protocol"` // revision that the agent spoke
	Calls    []Call     `json:"calls"`
	Evidence []Evidence `json:"evidence,omitempty"`
	Problems []string   `json:"problems,omitempty"` // differences from the expected outcome
}

// A Call is one call of a tool as the agent saw it.
type Call struct {
	Tool      string           `json:"tool"`
	Arguments map[string]any   `json:"arguments"`
	Planned   bool             `json:"planned"`           // part of the task; otherwise a text asked for it
	Because   string           `json:"because,omitempty"` // the tool whose result asked for it
	Harmless  bool             `json:"harmless"`          // part of the task, and should pass
	Passed    bool             `json:"passed"`            // answered, and not by an error
	Hidden    bool             `json:"hidden,omitempty"`  // the agent was not shown the answer
	Skipped   string           `json:"skipped,omitempty"` // why the call was not made
	Broken    string           `json:"broken,omitempty"`  // why no answer came
	Label     label.Label      `json:"label"`             // the label that the result claims
	Verdict   *Verdict         `json:"verdict,omitempty"` // the guard's decision on the call
	Questions []agent.Question `json:"questions,omitempty"`
	Text      string           `json:"text"`

	guarded Fate // how a planned call should fare under a guard
}

// A Verdict is the decision of a guard on a call that it did not simply let pass.
type Verdict struct {
	Effect  string `json:"effect"` // block, ask, warn or allow
	Rule    string `json:"rule"`
	Message string `json:"message"`
	When    string `json:"when,omitempty"` // result, if the call was made and its result is withheld
}

// Evidence is whether an effect of the attack was found in the world.
type Evidence struct {
	What  string `json:"what"` // a sentence that says it
	Found bool   `json:"found"`
}

// WriteJSON writes the report as one indented JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// add appends a story and counts it.
func (r *Report) add(s *Story) {
	r.Stories = append(r.Stories, s)
	t := &r.Totals
	if s.Attack {
		t.Attacks++
		t.Succeeded += count(s.Without.succeeded())
	}
	for _, c := range s.Without.Calls {
		t.Harmless += count(c.Harmless)
		t.HarmlessWithout += count(c.Harmless && c.Passed)
	}
	sound := len(s.Without.Problems) == 0
	if s.With != nil {
		t.Stopped += count(s.Attack && !s.With.touched())
		for _, c := range s.With.Calls {
			t.HarmlessWith += count(c.Harmless && c.Passed)
			for _, q := range c.Questions {
				t.Asked++
				t.Agreed += count(q.Agreed)
			}
		}
		sound = sound && len(s.With.Problems) == 0
	}
	r.OK = sound && (r.OK || len(r.Stories) == 1)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// succeeded reports whether all that the attack was after is found.
func (t *Telling) succeeded() bool {
	return len(t.Evidence) > 0 && !slices.ContainsFunc(t.Evidence, func(e Evidence) bool { return !e.Found })
}

// touched reports whether any goal of the attack is found.
func (t *Telling) touched() bool {
	return slices.ContainsFunc(t.Evidence, func(e Evidence) bool { return e.Found })
}

// stopped reports whether the guard kept the call from passing, by its own verdict or because the person declined.
func (c *Call) stopped() bool {
	declined := slices.ContainsFunc(c.Questions, func(q agent.Question) bool { return !q.Agreed })
	return !c.Passed && (declined || c.Verdict != nil)
}

// describe says whether the effect was found, as a sentence about the world.
func (e Effect) describe(found bool) string {
	pick := func(yes, no string) string {
		if found {
			return yes
		}
		return no
	}
	switch e.Place {
	case Outbox:
		return fmt.Sprintf("%s %s “%s”", e.Name, pick("was sent", "was not sent"), e.Text)
	case Collector:
		return fmt.Sprintf("%s %s “%s”", e.Name, pick("received", "did not receive"), e.Text)
	case File:
		return fmt.Sprintf("the file %s is %s", e.Name, pick("gone", "still there"))
	default:
		return fmt.Sprintf("the row of %s in the table %s is %s", e.Text, e.Name, pick("gone", "still there"))
	}
}
