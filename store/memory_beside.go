package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/label"
)

// Ask implements [Approvals].
func (m *Memory) Ask(ctx context.Context, q Question) error {
	if err := cmp.Or(ctx.Err(), q.Check()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.latest.At(m.now())
	if m.questions[q.ID] != nil {
		return fmt.Errorf("asking: %w: there is a question with this id", ErrInvalid)
	}
	open := 0
	for id, other := range m.questions {
		switch {
		case !now.Before(other.Expires):
			delete(m.questions, id)
		case other.Answer == Open:
			open++
		}
	}
	if open >= MaxQuestions {
		return ErrTooManyQuestions
	}
	q.Answer, q.Asked, q.Expires, q.Body = Open, now, micro(q.Expires), slices.Clone(q.Body)
	m.questions[q.ID] = &q
	return nil
}

// Answer implements [Approvals].
func (m *Memory) Answer(ctx context.Context, id, principal string, a Answer) (Question, error) {
	if err := cmp.Or(ctx.Err(), a.Check()); err != nil {
		return Question{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.questions[id]
	switch {
	case q == nil, q.Answer != Open, !m.latest.At(m.now()).Before(q.Expires):
		return Question{}, ErrNoQuestion
	case q.Principal != principal:
		return Question{}, fmt.Errorf("answering: %w", ErrPrincipal)
	}
	q.Answer = a
	m.answered.Ring()
	return *q, nil
}

// Answered implements [Announcer].
func (m *Memory) Answered() <-chan struct{} { return m.answered.Next() }

// Redeem implements [Approvals].
func (m *Memory) Redeem(ctx context.Context, binding string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.latest.At(m.now())
	for _, q := range m.questions {
		if q.Binding == binding && q.Answer == Accepted && now.Before(q.Expires) {
			q.Answer = Redeemed
			return true, nil
		}
	}
	return false, nil
}

// Questions implements [Approvals].
func (m *Memory) Questions(ctx context.Context, query QuestionQuery) iter.Seq2[Question, error] {
	m.mu.RLock()
	now := m.latest.At(m.now())
	var all []Question
	for _, q := range m.questions {
		if now.Before(q.Expires) && (query.ID == "" || query.ID == q.ID) && (query.Principal == "" || query.Principal == q.Principal) &&
			(query.Binding == "" || query.Binding == q.Binding) && (!query.Open || q.Answer == Open) {
			all = append(all, *q)
		}
	}
	m.mu.RUnlock()
	slices.SortFunc(all, func(a, b Question) int { return cmp.Or(a.Asked.Compare(b.Asked), strings.Compare(a.ID, b.ID)) })
	return each(ctx, all)
}

// Pin implements [Pins].
func (m *Memory) Pin(ctx context.Context, p Pin) (Pin, error) {
	if err := cmp.Or(ctx.Err(), p.Check()); err != nil {
		return Pin{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.pins[[2]string{p.Scope, p.Name}]; ok {
		return old, nil
	}
	return m.pin(p), nil
}

func (m *Memory) pin(p Pin) Pin {
	p.Pinned, p.Body = m.clock(), slices.Clone(p.Body)
	m.pins[[2]string{p.Scope, p.Name}] = p
	return p
}

// Repin implements [Pins].
func (m *Memory) Repin(ctx context.Context, p Pin) error {
	if err := cmp.Or(ctx.Err(), p.Check()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pin(p)
	return nil
}

// Unpin implements [Pins].
func (m *Memory) Unpin(ctx context.Context, scope, name string) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.pins)
	maps.DeleteFunc(m.pins, func(k [2]string, _ Pin) bool { return k[0] == scope && (name == "" || k[1] == name) })
	return int64(before - len(m.pins)), nil
}

// Pinned implements [Pins].
func (m *Memory) Pinned(ctx context.Context, scope string) iter.Seq2[Pin, error] {
	m.mu.RLock()
	all := slices.Collect(maps.Values(m.pins))
	m.mu.RUnlock()
	all = slices.DeleteFunc(all, func(p Pin) bool { return scope != "" && p.Scope != scope })
	slices.SortFunc(all, func(a, b Pin) int {
		return cmp.Or(strings.Compare(a.Scope, b.Scope), strings.Compare(a.Name, b.Name))
	})
	return each(ctx, all)
}

// Taint implements [Taints].
func (m *Memory) Taint(ctx context.Context, t Taint, lim Limits) (Taint, error) {
	if err := cmp.Or(ctx.Err(), t.Check()); err != nil {
		return Taint{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name := ResourceName(t.Resource)
	old, ok := m.taints[name]
	if !ok && len(m.taints) >= MaxTaints {
		return Taint{}, ErrTooManyTaints
	}
	t = old.Merge(t, m.clock(), lim)
	m.taints[name] = t
	return t, nil
}

// Tainted implements [Taints].
func (m *Memory) Tainted(ctx context.Context, resource string, lim Limits) (label.Label, error) {
	if err := ctx.Err(); err != nil {
		return label.Label{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := m.clock()
	above := ResourceAbove(resource)
	first, end := ResourceBelow(resource)
	var names []string
	for name, t := range m.taints {
		if t.Live(now) && (slices.Contains(above, name) || (name >= first && name < end)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var l label.Label
	for _, name := range names {
		l = lim.Join(l, m.taints[name].Label)
	}
	return l, nil
}

// Tainting implements [Taints].
func (m *Memory) Tainting(ctx context.Context, resource string) iter.Seq2[Taint, error] {
	m.mu.RLock()
	now := m.clock()
	var all []Taint
	for name, t := range m.taints {
		if t.Live(now) && within(name, resource) {
			all = append(all, t)
		}
	}
	m.mu.RUnlock()
	slices.SortFunc(all, func(a, b Taint) int { return strings.Compare(a.Resource, b.Resource) })
	return each(ctx, all)
}

// within reports whether a resource is another, or part of it. All are part of "".
func within(name, of string) bool {
	first, end := ResourceBelow(of)
	return of == "" || name == ResourceName(of) || (name >= first && name < end)
}

// Clear implements [Taints].
func (m *Memory) Clear(ctx context.Context, resource string) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.taints)
	maps.DeleteFunc(m.taints, func(name string, _ Taint) bool { return within(name, resource) })
	return int64(before - len(m.taints)), nil
}

// Lower implements [Custodian].
func (m *Memory) Lower(ctx context.Context, key string, drop label.Label) ([]Rise, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.draft.Lower(key, drop)
}

// End implements [Custodian].
func (m *Memory) End(ctx context.Context, key string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	keys, err := m.draft.Descendants(key)
	for _, k := range keys {
		m.remove(k)
	}
	return keys, err
}

// Expire implements [Custodian].
func (m *Memory) Expire(ctx context.Context, seen time.Time) (Expired, error) {
	if err := ctx.Err(); err != nil {
		return Expired{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	var out Expired
	for again := true; again; {
		again = false
		parents := map[string]bool{}
		for _, r := range m.draft.rows {
			parents[r.Parent] = true
		}
		for key, r := range m.draft.rows {
			if r.Seen.Before(seen) && !parents[key] {
				m.remove(key)
				out.Sessions++
				again = true
			}
		}
	}
	out.Questions, out.Taints = int64(len(m.questions)), int64(len(m.taints))
	maps.DeleteFunc(m.questions, func(_ string, q *Question) bool { return !now.Before(q.Expires) })
	maps.DeleteFunc(m.taints, func(_ string, t Taint) bool { return !t.Live(now) })
	out.Questions -= int64(len(m.questions))
	out.Taints -= int64(len(m.taints))
	return out, nil
}

// each iterates over the collected items.
func each[T any](ctx context.Context, all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, x := range all {
			if err := ctx.Err(); err != nil {
				var none T
				yield(none, err)
				return
			}
			if !yield(x, nil) {
				return
			}
		}
	}
}
