package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// MemoryValues are [Values] in memory, of sessions that need not be there. The zero MemoryValues is empty.
type MemoryValues struct {
	mu  sync.RWMutex
	all map[sessionOf]map[string]Value // by ID
}

type sessionOf struct{ principal, session string }

// Values implements [Values].
func (m *MemoryValues) Values(ctx context.Context, principal, session string) ([]Value, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.list(sessionOf{principal, session}), nil
}

// list returns the values of a session without their bodies.
func (m *MemoryValues) list(of sessionOf) []Value {
	all := slices.Collect(maps.Values(m.all[of]))
	for i := range all {
		all[i].Body = nil
	}
	return all
}

// Body implements [Values].
func (m *MemoryValues) Body(ctx context.Context, v Value) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	kept, ok := m.all[sessionOf{v.Principal, v.Session}][v.ID]
	if !ok {
		return nil, fmt.Errorf("reading value %q: %w", v.ID, ErrNotFound)
	}
	return slices.Clone(kept.Body), nil
}

// Revalue implements [Values]. The error is [ErrFull] if values of too many sessions are kept.
func (m *MemoryValues) Revalue(ctx context.Context, principal, session string, change func([]Value) (ValueChange, error)) error {
	return m.revalue(ctx, sessionOf{principal, session}, time.Now(), change)
}

func (m *MemoryValues) revalue(ctx context.Context, of sessionOf, now time.Time, change func([]Value) (ValueChange, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := change(m.list(of))
	if err := cmp.Or(err, c.Check(of.principal, of.session)); err != nil {
		return err
	}
	if m.all == nil {
		m.all = map[sessionOf]map[string]Value{}
	}
	if m.all[of] == nil && len(c.Put) > 0 {
		if len(m.all) >= defaultMaxSessions {
			return fmt.Errorf("values of session %q: %w", of.session, ErrFull)
		}
		m.all[of] = map[string]Value{}
	}
	for _, id := range c.Gone {
		delete(m.all[of], id)
	}
	for _, v := range c.Put {
		v.Body, v.Size, v.Kept = slices.Clone(v.Body), int64(len(v.Body)), micro(now)
		m.all[of][v.ID] = v
	}
	return nil
}

// drop removes the values of a session that is removed.
func (m *MemoryValues) drop(principal, session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, sessionOf{principal, session})
}

// ValueUses implements [Values].
func (m *MemoryValues) ValueUses(ctx context.Context) (all []ValueUse, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	for of, values := range m.all {
		u := ValueUse{Session: of.session, Principal: of.principal}
		for _, v := range values {
			u.Bytes += v.Size
			if v.Kept.After(u.Last) {
				u.Last = v.Kept
			}
		}
		if len(values) > 0 {
			all = append(all, u)
		}
	}
	return all, nil
}

// sessionValues are the values of the sessions of a Memory.
type sessionValues struct {
	MemoryValues
	of *Memory
}

// Revalue implements [Values].
func (v *sessionValues) Revalue(ctx context.Context, principal, session string, change func([]Value) (ValueChange, error)) error {
	v.of.mu.RLock() // the session stays meanwhile
	defer v.of.mu.RUnlock()
	switch s, ok := v.of.draft.Get(session); {
	case !ok:
		return fmt.Errorf("values of session %q: %w", session, ErrNotFound)
	case s.Principal != principal:
		return fmt.Errorf("values of session %q: %w", session, ErrPrincipal)
	}
	return v.revalue(ctx, sessionOf{principal, session}, v.of.clock(), change)
}

// remove removes a session, with its values. The lock must be held.
func (v *sessionValues) remove(key string) {
	v.drop(v.of.draft.rows[key].Principal, key)
	delete(v.of.draft.rows, key)
}
