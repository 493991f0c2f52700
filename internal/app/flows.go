package app

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// Bounds of the flows in memory.
const (
	maxFlowing = 64     // sessions
	maxKinds   = 20_000 // kinds of events of one, the most frequent
)

// sessionFlows counts the events of agent sessions by their kind. It counts each event once. It may be used
// concurrently.
type sessionFlows struct {
	log *sqlstore.Log

	mu       sync.Mutex
	sessions *bounded.Map[string, *flowing]
}

// A flowing holds the counts of a session up to an event.
type flowing struct {
	next   int64
	counts map[audit.Count]int64 // of which N is not set
}

func newSessionFlows(log *sqlstore.Log) *sessionFlows {
	return &sessionFlows{log: log, sessions: bounded.NewMap[string, *flowing](maxFlowing)}
}

// of returns how much of each kind happened in a session, the most frequent first, so many at most.
func (f *sessionFlows) of(ctx context.Context, key string, limit int) ([]console.Flow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.sessions.Get(key)
	if !ok {
		s = &flowing{counts: map[audit.Count]int64{}}
		f.sessions.Set(key, s)
	}
	if err := s.follow(ctx, f.log, key); err != nil {
		return nil, err
	}
	all := make([]console.Flow, 0, len(s.counts))
	for c, n := range s.counts {
		all = append(all, console.Flow{Kind: c.Kind, Subject: c.Subject, Effect: c.Outcome, Count: n})
	}
	slices.SortFunc(all, func(a, b console.Flow) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Effect, b.Effect))
	})
	return all[:min(limit, len(all))], nil
}

// follow counts the events that came since.
func (s *flowing) follow(ctx context.Context, log *sqlstore.Log, key string) error {
	head, err := log.Head(ctx)
	if err != nil || head.Size == s.next {
		return err
	}
	counts, err := log.Count(ctx, audit.Query{Chain: key, From: s.next, To: head.Size, Limit: maxKinds})
	if err != nil {
		return err
	}
	for _, c := range counts {
		n := c.N
		if c.N = 0; len(s.counts) < maxKinds || s.counts[c] > 0 {
			s.counts[c] += n
		}
	}
	s.next = head.Size
	return nil
}
