package audit

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Memory is a [Store] for tests: it keeps a log in memory, and its rows can be tampered with.
type Memory struct {
	mu          sync.RWMutex
	head        Head
	rows        []Row
	nodes       map[int][]Node // by level
	links       map[string]*Link
	asides      map[int64][]byte
	checkpoints []Checkpoint
	anchor      *Anchor // nil: the head is not sealed
}

var _ Counted = (*Memory)(nil)

// NewMemory returns an empty log.
func NewMemory() *Memory {
	return &Memory{nodes: map[int][]Node{}, links: map[string]*Link{}, asides: map[int64][]byte{}}
}

// Append implements [Storage].
func (m *Memory) Append(ctx context.Context, entries []Entry) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.append(ctx, entries)
}

// append appends while the lock is held.
func (m *Memory) append(ctx context.Context, entries []Entry) (int64, error) {
	before := m.head
	if err := CheckHead(ctx, m.anchor, m.view(), before); err != nil {
		return 0, err
	}
	b, err := Sequence(m.head, m.links, entries)
	if err != nil {
		return 0, err
	}
	if m.anchor != nil {
		b.Head.Seal = m.anchor.Seal(b.Head)
	}
	for i := range b.Rows {
		r := &b.Rows[i]
		if r.Body = slices.Clone(r.Body); r.Aside != nil {
			m.asides[r.Seq], r.Aside = slices.Clone(r.Aside), nil
		}
	}
	m.head, m.rows = b.Head, append(m.rows, b.Rows...)
	for _, n := range b.Nodes {
		m.nodes[n.Level] = append(m.nodes[n.Level], n)
	}
	if m.anchor != nil {
		err = m.anchor.Committed(ctx, m.view(), before, m.head)
	}
	return before.Size, err
}

// view returns the log as it is, to be read while the lock is held.
func (m *Memory) view() *Memory { return &Memory{head: m.head, rows: m.rows, nodes: m.nodes} }

// Head implements [Storage].
func (m *Memory) Head(ctx context.Context) (Head, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.head.clone(), ctx.Err()
}

// Rows implements [Storage]. It yields the rows as they were when the iteration began.
func (m *Memory) Rows(ctx context.Context, q Query) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		m.mu.RLock()
		n := int64(len(m.rows))
		to := n
		if q.To > 0 {
			to = min(q.To, n)
		}
		rows := slices.Clone(m.rows[min(max(q.From, 0), to):to])
		m.mu.RUnlock()
		rows = slices.DeleteFunc(rows, func(r Row) bool { return !q.selects(&r) })
		if q.Newest {
			slices.Reverse(rows)
		}
		for i, r := range rows {
			if err := ctx.Err(); err != nil {
				yield(Row{}, err)
				return
			}
			if (q.Limit > 0 && i >= q.Limit) || !yield(r, nil) {
				return
			}
		}
	}
}

func (q *Query) selects(r *Row) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return (q.Before.IsZero() || (!r.Erased() && r.Time.Before(q.Before))) &&
		(q.Since.IsZero() || (!r.Erased() && !r.Time.Before(q.Since))) &&
		is(q.Chain, r.Chain) && is(q.Kind, r.Kind) && is(q.Subject, r.Subject) && is(q.Outcome, r.Outcome)
}

// Count implements [Counted].
func (m *Memory) Count(ctx context.Context, q Query) ([]Count, error) {
	limit := q.Limit
	q.Limit, q.Newest = 0, false
	by := map[Count]int64{}
	for row, err := range m.Rows(ctx, q) {
		if err != nil {
			return nil, err
		}
		if !row.Erased() {
			by[Count{row.Kind, row.Subject, row.Outcome, 0}]++
		}
	}
	counts := make([]Count, 0, len(by))
	for c, n := range by {
		c.N = n
		counts = append(counts, c)
	}
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Outcome, b.Outcome))
	})
	if limit > 0 {
		counts = counts[:min(limit, len(counts))]
	}
	return counts, ctx.Err()
}

// Nodes implements [Storage].
func (m *Memory) Nodes(ctx context.Context, level int, from, to int64) ([]Node, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := m.nodes[level]
	n := int64(len(all))
	return slices.Clone(all[min(max(from, 0), n):min(max(to, 0), n)]), ctx.Err()
}

// SealWith implements [Signed].
func (m *Memory) SealWith(a *Anchor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.anchor = a
}

// AddCheckpoint implements [Signed].
func (m *Memory) AddCheckpoint(ctx context.Context, c, last Checkpoint) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, there := range m.checkpoints {
		if there.Size >= last.Size && !there.equal(last) {
			return ErrConflict
		}
	}
	m.checkpoints = slices.DeleteFunc(m.checkpoints, func(there Checkpoint) bool { return there.Size == c.Size })
	m.checkpoints = append(m.checkpoints, c)
	return nil
}

// Checkpoints implements [Signed].
func (m *Memory) Checkpoints(ctx context.Context, from int64) iter.Seq2[Checkpoint, error] {
	m.mu.RLock()
	all := slices.Clone(m.checkpoints)
	m.mu.RUnlock()
	return func(yield func(Checkpoint, error) bool) {
		for _, c := range all {
			if c.Size >= from && !yield(c, ctx.Err()) {
				return
			}
		}
	}
}

// Snapshot implements [Steady]. It calls read with a copy.
func (m *Memory) Snapshot(ctx context.Context, read func(Store) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return read(m.clone())
}

func (m *Memory) clone() *Memory {
	m.mu.RLock()
	defer m.mu.RUnlock()
	c := NewMemory()
	c.head = m.head.clone()
	c.rows, c.checkpoints = slices.Clone(m.rows), slices.Clone(m.checkpoints)
	for level, nodes := range m.nodes {
		c.nodes[level] = slices.Clone(nodes)
	}
	c.asides = maps.Clone(m.asides)
	for name, link := range m.links {
		l := *link
		c.links[name] = &l
	}
	return c
}

// Links implements [Linked].
func (m *Memory) Links(ctx context.Context) iter.Seq2[Link, error] {
	m.mu.RLock()
	all := make([]Link, 0, len(m.links))
	for l := range maps.Values(m.links) {
		all = append(all, *l)
	}
	m.mu.RUnlock()
	slices.SortFunc(all, func(a, b Link) int { return cmp.Compare(string(a.ID[:]), string(b.ID[:])) })
	return func(yield func(Link, error) bool) {
		for _, l := range all {
			if !yield(l, ctx.Err()) {
				return
			}
		}
	}
}

// Erase implements [Erasable].
func (m *Memory) Erase(ctx context.Context, seqs []int64, note func(int64) Entry) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	erased := map[int64]bool{}
	for _, seq := range seqs {
		if seq >= 0 && seq < int64(len(m.rows)) && !m.rows[seq].Erased() {
			erased[seq] = true
		}
	}
	n := int64(len(erased))
	if n == 0 {
		return 0, nil
	}
	told := note(n)
	if err := told.Check(); err != nil {
		return 0, err
	}
	for seq := range erased {
		m.rows[seq] = Row{Seq: seq, Leaf: m.rows[seq].Leaf}
		delete(m.asides, seq)
		m.forget(m.rows[seq].Leaf)
	}
	_, err := m.append(ctx, []Entry{told})
	return n, err
}

// Aside implements [Beside].
func (m *Memory) Aside(ctx context.Context, seq int64) ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Clone(m.asides[seq]), ctx.Err()
}

// Asides implements [Beside].
func (m *Memory) Asides(ctx context.Context, before time.Time) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		m.mu.RLock()
		seqs := slices.Sorted(maps.Keys(m.asides))
		seqs = slices.DeleteFunc(seqs, func(seq int64) bool { return !before.IsZero() && !m.rows[seq].Time.Before(before) })
		m.mu.RUnlock()
		for _, seq := range seqs {
			if err := ctx.Err(); !yield(seq, err) || err != nil {
				return
			}
		}
	}
}

// RemoveAsides implements [Beside].
func (m *Memory) RemoveAsides(ctx context.Context, seqs []int64) (n int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, seq := range seqs {
		if _, ok := m.asides[seq]; ok {
			delete(m.asides, seq)
			n++
		}
	}
	return n, nil
}

// forget replaces the names of chains whose last entry is erased.
func (m *Memory) forget(leaf []byte) {
	last := tlog.RecordHash(leaf)
	for name, link := range m.links {
		if link.Last == last {
			delete(m.links, name)
			link.Name = link.ID.String()
			m.links[link.Name] = link
			return
		}
	}
}

func (c Checkpoint) equal(o Checkpoint) bool {
	return c.Size == o.Size && string(c.Note) == string(o.Note)
}
