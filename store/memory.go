package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/label"
)

// MemoryOptions are the options of [NewMemory]. Nil means the zero value.
type MemoryOptions struct {
	Now         func() time.Time // the clock; default time.Now
	MaxSessions int              // default 100,000; see Memory
}

const defaultMaxSessions = 100_000

// Memory is the reference [Store]: it keeps sessions in memory, for one process and as long as it lives. It holds at
// most MaxSessions sessions and then refuses new ones with [ErrFull]. It never drops one to make room, because
// the session would come back without its label.
type Memory struct {
	*sessionValues

	now func() time.Time
	max int

	latest   Clock // of questions: an expired one stays expired even if the machine's clock is set back
	answered Bell

	mu        sync.RWMutex
	draft     *Draft // of all sessions
	questions map[string]*Question
	pins      map[[2]string]Pin
	taints    map[string]Taint
}

// NewMemory returns an empty store.
func NewMemory(opts *MemoryOptions) *Memory {
	m := &Memory{
		now: time.Now, max: defaultMaxSessions, draft: NewDraft(),
		questions: map[string]*Question{}, pins: map[[2]string]Pin{}, taints: map[string]Taint{},
	}
	m.sessionValues = &sessionValues{of: m}
	if opts != nil && opts.Now != nil {
		m.now = opts.Now
	}
	if opts != nil && opts.MaxSessions > 0 {
		m.max = opts.MaxSessions
	}
	return m
}

// Open implements [Store].
func (m *Memory) Open(ctx context.Context, ref Ref, lim Limits) (Session, []Rise, error) {
	if err := cmp.Or(ctx.Err(), ref.Check()); err != nil {
		return Session{}, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draft.Now, m.draft.Room = m.clock(), m.max-len(m.draft.rows)
	return m.draft.Open(ref, lim)
}

// Join implements [Store].
func (m *Memory) Join(ctx context.Context, key string, l label.Label, lim Limits) (Session, []Rise, error) {
	if err := ctx.Err(); err != nil {
		return Session{}, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draft.Now = m.clock()
	return m.draft.Join(key, l, lim)
}

// Count implements [Store].
func (m *Memory) Count(ctx context.Context, key string) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draft.Now = m.clock()
	return m.draft.Count(key)
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, key string) (Session, error) {
	if err := ctx.Err(); err != nil {
		return Session{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.draft.rows[key]
	if s == nil {
		return Session{}, fmt.Errorf("reading session %q: %w", key, ErrNotFound)
	}
	return s.Session, nil
}

// List implements [Store]. It yields the sessions as they were when the iteration began.
func (m *Memory) List(ctx context.Context, principal string) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		for _, s := range m.snapshot(principal) {
			if err := ctx.Err(); err != nil {
				yield(Session{}, err)
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (m *Memory) snapshot(principal string) []Session {
	m.mu.RLock()
	var all []Session
	for _, s := range m.draft.rows {
		if principal == "" || s.Principal == principal {
			all = append(all, s.Session)
		}
	}
	m.mu.RUnlock()
	slices.SortFunc(all, func(a, b Session) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.Key, b.Key))
	})
	return all
}

func (m *Memory) clock() time.Time { return m.now().UTC().Truncate(time.Microsecond) }
