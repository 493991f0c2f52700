package app

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// An approvalStats adds up the approval requests of all processes on a store. It reads each event of the log once. It is
// safe for concurrent use.
type approvalStats struct {
	db *sqlstore.DB

	mu      sync.Mutex
	next    int64 // number of the first event that was not looked at
	stats   approve.Stats
	expired int
}

// newApprovalStats returns the figures of a process; nil if it keeps no log.
func newApprovalStats(kept *state) *approvalStats {
	db, isDB := kept.backend.(*sqlstore.DB)
	if _, isLog := kept.record.(*ledger.Ledger); !isDB || !isLog {
		return nil
	}
	return &approvalStats{db: db}
}

// figures returns the figures as they are now.
func (t *approvalStats) figures(ctx context.Context) (*status.Approvals, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.read(ctx); err != nil {
		return nil, err
	}
	open, err := approve.NewBook(approve.Options{Record: record.Discard(), Store: t.db}).List(ctx, "")
	if err != nil {
		return nil, err
	}
	s := t.stats.Sum()
	t.expired = max(t.expired, s.Answers[approve.Expired]+s.Unanswered-len(open)) // who answers just now is no step back
	return &status.Approvals{
		Asked: s.Asked, Answered: s.Answered(), Open: len(open), Expired: t.expired,
		Accepted: s.Answers[approve.Accepted] + s.Answers[approve.Granted],
		Denied:   s.Answers[approve.Declined] + s.Answers[approve.Ended] + s.Answers[approve.Cancelled],
		Median:   s.Median, P90: s.P90, Spent: s.Spent(),
	}, nil
}

// read adds the events that came since.
func (t *approvalStats) read(ctx context.Context) error {
	for row, err := range t.db.Log().Rows(ctx, audit.Query{From: t.next, Kind: string(record.Approval)}) {
		if err != nil {
			return err
		}
		t.next = row.Seq + 1
		var event record.Event
		if row.Erased() || json.Unmarshal(row.Body, &event) != nil {
			continue
		}
		t.stats.Add(&event)
	}
	return nil
}

// ReadApprovalStats adds up the questions and answers in the log of a store.
func ReadApprovalStats(ctx context.Context, db *sqlstore.DB) (approve.Stats, error) {
	return (&approvalStats{db: db}).sum(ctx)
}

// sum returns the figures up to now.
func (t *approvalStats) sum(ctx context.Context) (approve.Stats, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.read(ctx)
	return t.stats.Sum(), err
}
