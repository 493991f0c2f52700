package approve

import (
	"slices"
	"time"

	"github.com/weir-mcp/weir/record"
)

// Stats tell how much people are asked, and what becomes of it: who is asked too often stops reading. Add them up from the
// events of a record, in their order.
type Stats struct {
	Asked      int            `json:"asked"`
	Answers    map[Answer]int `json:"answers"`
	Unanswered int            `json:"unanswered"` // with those that are open
	Median     float64        `json:"medianSeconds"`
	Slowest    float64        `json:"slowestSeconds"`
	Rules      map[string]int `json:"rules"` // questions by the rule that asks

	open map[string]time.Time // by binding
	took []float64
}

// maxTook bounds the answers whose times are kept: the latest count.
const maxTook = 10_000

// Add takes in an event. Events of other kinds than [record.Approval] are passed over.
func (s *Stats) Add(e *record.Event) {
	if e.Kind != record.Approval || e.Binding == "" {
		return
	}
	if s.Answers == nil {
		s.Answers, s.Rules, s.open = map[Answer]int{}, map[string]int{}, map[string]time.Time{}
	}
	if e.Effect == "asked" {
		s.Asked++
		s.Rules[e.Rule]++
		s.open[e.Binding] = e.Time
		return
	}
	asked, ok := s.open[e.Binding]
	if !ok {
		return // came second, or was asked before the record begins
	}
	delete(s.open, e.Binding)
	s.Answers[Answer(e.Effect)]++
	if len(s.took) == maxTook {
		s.took = s.took[1:]
	}
	s.took = append(s.took, max(0, e.Time.Sub(asked).Seconds()))
}

// Sum returns the figures of what was added.
func (s *Stats) Sum() Stats {
	out := *s
	out.Unanswered = len(s.open)
	if took := slices.Sorted(slices.Values(s.took)); len(took) > 0 {
		out.Median, out.Slowest = took[len(took)/2], took[len(took)-1]
	}
	return out
}
