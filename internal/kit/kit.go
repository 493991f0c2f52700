// Package kit holds implementations of the annotation proposals against the vectors of package conformance: readers
// and writers of annotations, gateways, and servers.
//
//	lines, err := kit.Lines()
//	answers, err := kit.Ask(ctx, kit.Program{Command: []string{"./my-reader"}}, lines)
//	report, err := kit.Judge(lines, answers)
//
// A check has an id, a section of a specification and the vectors that it counts. It passes if all of these do. A
// check of an ability that the implementation does not have is not applicable, which is no pass.
//
// The implementation under test is not trusted: its output is bounded, read without any meaning but that of the
// check, and waited for no longer than the caller says.
package kit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/plain"
)

// A Level is the force of a check.
type Level string

// The levels. A failed check of level Should is a warning.
const (
	Must   Level = "must"
	Should Level = "should"
)

// A Verdict is the outcome of a check. The zero Verdict is none, and reported as a failure.
type Verdict string

// The verdicts.
const (
	Passed Verdict = "passed"
	Failed Verdict = "failed"
	Warned Verdict = "warning"
	Absent Verdict = "not applicable"
)

// A Check is a rule of a specification, with a way to find out whether an implementation keeps it.
type Check struct {
	ID      string `json:"id"`
	Level   Level  `json:"level"`
	Section string `json:"section"` // of the specification that has the rule
	Summary string `json:"summary"`
}

// An Outcome is a check with its verdict on one implementation.
type Outcome struct {
	Check
	Verdict Verdict   `json:"verdict"`
	Vectors int       `json:"vectors"`           // that were judged
	Broken  []Problem `json:"broken,omitempty"`  // vectors that the implementation breaks
	Because string    `json:"because,omitempty"` // it is not applicable
}

// A Problem is a vector that an implementation breaks.
type Problem struct {
	Vector string `json:"vector"`
	Text   string `json:"text"` // the difference; it may quote the implementation
}

// A Report is the outcome of all checks of one kind on one implementation.
type Report struct {
	Kind    string    `json:"kind"`   // reader, gateway or server
	Target  string    `json:"target"` // the implementation, as the caller names it
	Version string    `json:"version"`
	Checks  []Outcome `json:"checks"`
}

// Count returns the number of checks with the verdict.
func (r *Report) Count(v Verdict) (n int) {
	for _, one := range r.Checks {
		if one.Verdict == v {
			n++
		}
	}
	return n
}

// A tally collects the outcomes of vectors by their checks, in the order of the first vector of each.
type tally struct {
	order []*Outcome
	byID  map[string]*Outcome
}

func newTally() *tally { return &tally{byID: map[string]*Outcome{}} }

// of returns the outcome of a check.
func (t *tally) of(c Check) *Outcome {
	if t.byID[c.ID] == nil {
		t.byID[c.ID] = &Outcome{Check: c}
		t.order = append(t.order, t.byID[c.ID])
	}
	return t.byID[c.ID]
}

// count adds a vector to its check. A problem of "" is none. Text of the implementation can do nothing in a report.
func (t *tally) count(c Check, vector, problem string) {
	o := t.of(c)
	o.Vectors++
	if problem != "" {
		o.Broken = append(o.Broken, Problem{plain.Text(vector, 0), plain.Text(problem, 0)})
	}
}

// absent adds a vector that asks for an ability which the implementation does not have.
func (t *tally) absent(c Check, because string) { t.of(c).Because = plain.Text(because, 0) }

// report returns the verdicts.
func (t *tally) report(kind string) Report {
	r := Report{Kind: kind, Checks: make([]Outcome, len(t.order))}
	for i, o := range t.order {
		switch {
		case len(o.Broken) > 0 && o.Level == Should:
			o.Verdict = Warned
		case len(o.Broken) > 0:
			o.Verdict = Failed
		case o.Vectors == 0:
			o.Verdict = Absent
		default:
			o.Verdict, o.Because = Passed, ""
		}
		r.Checks[i] = *o
	}
	return r
}

// family returns the first word of a check's id.
func (c Check) family() string {
	family, _, _ := strings.Cut(c.ID, ".")
	return family
}

// bySeverity orders outcomes for people: failures first.
func bySeverity(all []Outcome) []Outcome {
	rank := []Verdict{Failed, Warned, Passed, Absent}
	return slices.SortedStableFunc(slices.Values(all), func(a, b Outcome) int {
		return cmp.Compare(slices.Index(rank, a.Verdict), slices.Index(rank, b.Verdict))
	})
}
