package approve

import (
	"slices"
	"time"

	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/record"
)

// Stats count approval requests and their answers: a user with too many requests stops reading them. Add them up from
// the events of a record, in their order.
type Stats struct {
	Asked      int            `json:"asked"`
	Answers    map[Answer]int `json:"answers"`
	Unanswered int            `json:"unanswered"` // with those that are open
	Median     float64        `json:"medianSeconds"`
	P90        float64        `json:"p90Seconds"` // nine of ten answers took no longer
	Slowest    float64        `json:"slowestSeconds"`
	Rules      map[string]int `json:"rules"` // questions by the rule that asks

	open  *bounded.Map[string, time.Time] // by binding
	took  []float64
	spent float64 // seconds of all answers
}

// Bounds of the memory of Stats: the answers whose times are kept, of which the latest count, and the questions without
// an answer.
const (
	maxTook  = 10_000
	maxAsked = 10_000
)

// Add takes in an event. Events of other kinds than [record.Approval] are passed over.
func (s *Stats) Add(e *record.Event) {
	if e.Kind != record.Approval || e.Binding == "" {
		return
	}
	if s.Answers == nil {
		s.Answers, s.Rules, s.open = map[Answer]int{}, map[string]int{}, bounded.NewMap[string, time.Time](maxAsked)
	}
	if e.Effect == "asked" {
		s.Asked++
		s.Rules[e.Rule]++
		s.open.Set(e.Binding, e.Time)
		return
	}
	asked, ok := s.open.Get(e.Binding)
	if !ok {
		return // came second, or was asked before the record begins
	}
	s.open.Delete(e.Binding)
	s.Answers[Answer(e.Effect)]++
	if len(s.took) == maxTook {
		s.took = s.took[1:]
	}
	seconds := max(0, e.Time.Sub(asked).Seconds())
	s.took, s.spent = append(s.took, seconds), s.spent+seconds
}

// Answered returns how many questions were answered.
func (s *Stats) Answered() (n int) {
	for _, k := range s.Answers {
		n += k
	}
	return n
}

// Spent returns how many seconds all answers took together.
func (s *Stats) Spent() float64 { return s.spent }

// Sum returns the figures of the added events.
func (s *Stats) Sum() Stats {
	out := *s
	out.Unanswered = s.Asked - s.Answered()
	if took := slices.Sorted(slices.Values(s.took)); len(took) > 0 {
		out.Median, out.P90, out.Slowest = took[len(took)/2], took[(9*len(took)-1)/10], took[len(took)-1]
	}
	return out
}
