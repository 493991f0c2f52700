package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// maxLooked is how many events that are there already are looked at for hits.
const maxLooked = 50_000

// ruleHits counts how often rules match. It reads each event once: the newest when it is first asked, and later those that came since. It
// may be used concurrently.
type ruleHits struct {
	log *sqlstore.Log

	mu        sync.Mutex
	begun     bool
	next      int64 // the first event that is not counted
	since     time.Time
	decisions int
	by        map[string]int // rule
}

func newRuleHits(log *sqlstore.Log) *ruleHits { return &ruleHits{log: log, by: map[string]int{}} }

// counts returns the figures up to now.
func (h *ruleHits) counts(ctx context.Context) (console.Counts, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun {
		head, err := h.log.Head(ctx)
		if err != nil {
			return console.Counts{}, err
		}
		h.begun, h.next = true, max(0, head.Size-maxLooked)
	}
	for row, err := range h.log.Rows(ctx, audit.Query{From: h.next}) {
		if err != nil {
			return console.Counts{}, err
		}
		h.next = row.Seq + 1
		if !row.Erased() {
			h.add(&row)
		}
	}
	return console.Counts{Since: h.since, Decisions: h.decisions, Hits: maps.Clone(h.by)}, nil
}

func (h *ruleHits) add(row *audit.Row) {
	if h.since.IsZero() {
		h.since = row.Time
	}
	if row.Kind != string(record.Decision) {
		return
	}
	h.decisions++
	matched, _ := rawjson.Get(row.Body, "matched")
	for raw := range rawjson.Elements(matched) {
		if name, ok := rawjson.String(raw); ok {
			h.by[name]++
		}
	}
}

func figures(s approve.Stats) []console.Figure {
	all := []console.Figure{{Name: "asked", Value: strconv.Itoa(s.Asked)}}
	for _, a := range slices.Sorted(maps.Keys(s.Answers)) {
		all = append(all, console.Figure{Name: string(a), Value: strconv.Itoa(s.Answers[a])})
	}
	return append(all, console.Figure{Name: "unanswered", Value: strconv.Itoa(s.Unanswered)},
		console.Figure{Name: "median time to an answer", Value: fmt.Sprintf("%.1f s", s.Median)})
}
