package audit

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// A span is the part of a log that follows its anchor, as it was read and checked.
type span struct {
	head Head       // the log as it is
	last Checkpoint // the newest that the storage has and that the anchor does not precede; Note nil: none
	text []byte     // the newest of these and the anchor's; nil: none
	size int64      // of text
	next string     // the public key that has to sign the next checkpoint
	pins []pinned   // where the tree has to pass through, by size
}

// A pinned is a tree that a log was known to have.
type pinned struct {
	size  int64
	root  tlog.Hash
	known string // the clause that tells how it is known
}

// extend reads the log from its anchor on, and checks that it extends it: that each leaf and each checkpoint fits, and
// that the head is the one of the leaves and is sealed.
func (l *Log) extend(ctx context.Context) (*span, error) {
	if err := l.anchor.refresh(); err != nil {
		return nil, err
	}
	last, seen := l.anchor.state()
	s := &span{next: l.Key().Verifier()}
	var base statement
	if last != nil {
		said, next, err := l.anchor.trusted(last)
		if err != nil {
			return nil, err
		}
		base, s.text, s.size, s.next = *said, last, said.size, next
	}
	if err := s.readCheckpoints(ctx, l.store, last); err != nil {
		return nil, err
	}
	var err error
	if s.head, err = l.store.Head(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(l.anchor.checkSeal(s.head), seen.check(s.head)); err != nil {
		return nil, err
	}
	if s.head.Size < s.size {
		return nil, fmt.Errorf("%w: it has %d entries and a checkpoint over %d", ErrDamaged, s.head.Size, s.size)
	}
	tree, err := l.baseHead(ctx, base.size, base.root)
	if err != nil {
		return nil, err
	}
	if seen.size > base.size {
		s.pin(pinned{seen.size, seen.root, "was seen before"})
	}
	return s, s.walk(ctx, l.store, tree)
}

// baseHead returns the head of the anchor.
func (l *Log) baseHead(ctx context.Context, size int64, root tlog.Hash) (Head, error) {
	a := l.anchor
	a.mu.Lock()
	base := a.base
	a.mu.Unlock()
	if size == 0 || base.Size == size && base.Root() == root {
		return base.clone(), nil
	}
	return headAt(ctx, l.store, size, root)
}

// headAt returns the head that a log had when it had the size and the root.
func headAt(ctx context.Context, st Storage, size int64, root tlog.Hash) (Head, error) {
	var places []int64
	var n int64
	for level := 62; level >= 0; level-- {
		if size&(1<<level) != 0 {
			places = append(places, tlog.StoredHashIndex(level, n>>level))
			n += 1 << level
		}
	}
	edge, err := tiles{st, size}.reader(ctx, root).ReadHashes(places)
	if err != nil {
		return Head{}, fmt.Errorf("%w: its first %d entries are not those of its anchor: %w", ErrDamaged, size, err)
	}
	return Head{Size: size, Edge: edge}, nil
}

// readCheckpoints reads the checkpoints from the anchor's on, each of which the key has to have signed that the one
// before names.
func (s *span) readCheckpoints(ctx context.Context, st Signed, anchor []byte) error {
	s.last.Size = s.size
	for c, err := range st.Checkpoints(ctx, s.size) {
		if err != nil {
			return err
		}
		s.last = c
		if string(c.Note) == string(anchor) {
			continue
		}
		said, err := peek(c.Note)
		if err != nil {
			return err
		}
		by := []string{s.next}
		if said.to != "" {
			if by = []string{said.from, said.to}; said.from != s.next && said.to != s.next {
				return fmt.Errorf("%w: it was handed over", ErrKey)
			}
			s.next = said.to
		}
		if said, err = openNote(c.Note, by...); err != nil {
			return err
		}
		if said.size != c.Size {
			return fmt.Errorf("%w: a checkpoint over %d entries is kept as one over %d", ErrDamaged, said.size, c.Size)
		}
		s.pin(pinned{said.size, said.root, "its checkpoint says"})
		s.text, s.size = c.Note, c.Size
	}
	return nil
}

// pin adds a tree that the log has to pass through.
func (s *span) pin(p pinned) { s.pins = append(s.pins, p) }

// walk reads the leaves from the tree on up to the head, and checks them against each other, the pins and the head.
func (s *span) walk(ctx context.Context, st Storage, tree Head) error {
	pins := map[int64][]pinned{}
	for _, p := range s.pins {
		pins[p.size] = append(pins[p.size], p)
	}
	chains := map[ID]Link{}
	step := func(r *Row) error {
		leaf, err := ParseLeaf(r.Leaf)
		if err != nil {
			return err
		}
		link, seen := chains[leaf.Chain]
		if leaf.Seq != tree.Size || r.Seq != tree.Size || seen && (leaf.Pos != link.Next || leaf.Prev != link.Last) {
			return fmt.Errorf("%w: entry %d is not the one that follows", ErrDamaged, r.Seq)
		}
		hash := tlog.RecordHash(r.Leaf)
		chains[leaf.Chain] = Link{Next: leaf.Pos + 1, Last: hash}
		tree.push(hash, nil)
		return nil
	}
	check := func() error {
		for _, p := range pins[tree.Size] {
			if tree.Root() != p.root {
				return fmt.Errorf("%w: its first %d entries are not those that it %s", ErrDamaged, p.size, p.known)
			}
		}
		return nil
	}
	if err := check(); err != nil {
		return err
	}
	if tree.Size < s.head.Size { // else To would be no bound
		for row, err := range st.Rows(ctx, Query{From: tree.Size, To: s.head.Size, Leaves: true}) {
			if err == nil {
				err = step(&row)
			}
			if err == nil {
				err = check()
			}
			if err != nil {
				return err
			}
		}
	}
	if !tree.Equal(s.head) {
		return fmt.Errorf("%w: its %d entries are not those of its head", ErrDamaged, s.head.Size)
	}
	return nil
}
