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
	now func() time.Time
	max int

	mu       sync.RWMutex
	sessions map[string]*node
}

// A node is a session with the length of the longest chain of descendants below it.
type node struct {
	Session
	height int
}

// NewMemory returns an empty store.
func NewMemory(opts *MemoryOptions) *Memory {
	m := &Memory{now: time.Now, max: defaultMaxSessions, sessions: map[string]*node{}}
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
	s, parent := m.sessions[ref.Key], m.sessions[ref.Parent]
	if err := m.admit(ref, s, parent); err != nil {
		return Session{}, nil, fmt.Errorf("opening session %q: %w", ref.Key, err)
	}
	if s == nil {
		s = m.create(ref.Key, ref.Principal)
	}
	if ref.Parent == s.Parent || ref.Parent == "" {
		return s.Session, nil, nil
	}
	if parent == nil {
		parent = m.create(ref.Parent, ref.Principal)
	}
	return s.Session, m.link(s, parent, lim), nil
}

// admit returns why the reference cannot be opened. Sessions that do not exist yet are nil.
func (m *Memory) admit(ref Ref, s, parent *node) error {
	fresh := 0
	if s == nil {
		fresh++
	}
	if parent == nil && ref.Parent != "" {
		fresh++
	}
	switch {
	case s != nil && s.Principal != ref.Principal:
		return ErrPrincipal
	case parent != nil && parent.Principal != ref.Principal:
		return fmt.Errorf("parent %q: %w", ref.Parent, ErrPrincipal)
	case ref.Key == ref.Parent:
		return fmt.Errorf("%w: it is the session itself", ErrParent)
	case s != nil && s.Parent != "" && ref.Parent != "" && s.Parent != ref.Parent:
		return fmt.Errorf("%w: it has another", ErrParent)
	case fresh > 0 && len(m.sessions)+fresh > m.max:
		return ErrFull
	}
	return m.linkable(ref, s, parent)
}

// linkable returns why s cannot become a child of parent: a cycle, or a chain that gets too long for s or what is below it.
func (m *Memory) linkable(ref Ref, s, parent *node) error {
	depth := 0
	if s != nil {
		depth = s.height
	}
	if ref.Parent != "" && parent == nil {
		depth++
	}
	for p := parent; p != nil; p = m.sessions[p.Parent] {
		if p == s {
			return fmt.Errorf("%w: %q descends from it", ErrParent, ref.Parent)
		}
		depth++
	}
	if depth > MaxDepth {
		return fmt.Errorf("%w: more than %d ancestors", ErrParent, MaxDepth)
	}
	return nil
}

func (m *Memory) create(key, principal string) *node {
	now := m.clock()
	s := &node{Session: Session{Key: key, Principal: principal, Created: now, Seen: now}}
	m.sessions[key] = s
	return s
}

// link makes s, which has no parent, a child of parent.
func (m *Memory) link(s, parent *node, lim Limits) []Rise {
	given := s.Label
	s.Parent = parent.Key
	rises := s.raise(nil, parent.Label, lim)
	for child := s; child.Parent != ""; child = parent {
		parent = m.sessions[child.Parent]
		parent.height = max(parent.height, child.height+1)
		rises = parent.raise(rises, given, lim)
	}
	return rises
}

// raise joins a label into one session and appends the rise, if there is one.
func (n *node) raise(rises []Rise, l label.Label, lim Limits) []Rise {
	before, after := n.Label, lim.Join(n.Label, l)
	if before.Covers(after) {
		return rises
	}
	n.Label = after
	return append(rises, Rise{n.Key, before, after})
}

// Join implements [Store].
func (m *Memory) Join(ctx context.Context, key string, l label.Label, lim Limits) (Session, []Rise, error) {
	if err := ctx.Err(); err != nil {
		return Session{}, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[key]
	if s == nil {
		return Session{}, nil, fmt.Errorf("joining into session %q: %w", key, ErrNotFound)
	}
	rises := s.raise(nil, l, lim)
	if rises != nil {
		m.see(s)
	}
	for p := m.sessions[s.Parent]; p != nil; p = m.sessions[p.Parent] {
		rises = p.raise(rises, l, lim)
	}
	return s.Session, rises, nil
}

// Count implements [Store].
func (m *Memory) Count(ctx context.Context, key string) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[key]
	if s == nil {
		return 0, fmt.Errorf("counting a call of session %q: %w", key, ErrNotFound)
	}
	m.see(s)
	s.Calls++
	return s.Calls, nil
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, key string) (Session, error) {
	if err := ctx.Err(); err != nil {
		return Session{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.sessions[key]
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
	for _, s := range m.sessions {
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

func (m *Memory) see(s *node) {
	if now := m.clock(); now.After(s.Seen) {
		s.Seen = now
	}
}
