package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// A mark is how far a log has come. The one of an [Anchor] only moves to a tree that was proved to extend the one
// before it: so a process that finds a later mark in the file may go on from there.
type mark struct {
	size int64
	root tlog.Hash
}

func markOf(h Head) mark { return mark{h.Size, h.Root()} }

func (m mark) check(h Head) error {
	if h.Size < m.size {
		return fmt.Errorf("%w: it has %d entries, and had %d", ErrDamaged, h.Size, m.size)
	}
	if h.Size == m.size && h.Size > 0 && h.Root() != m.root {
		return fmt.Errorf("%w: its %d entries are not those that it had", ErrDamaged, h.Size)
	}
	return nil
}

// within checks that the tree is a beginning of that of another mark, by the hashes that the storage has of that one.
func (m mark) within(ctx context.Context, st Storage, whole mark) error {
	if m.size == 0 {
		return nil
	}
	root, err := tlog.TreeHash(m.size, tiles{st, whole.size}.reader(ctx, whole.root))
	switch {
	case errors.Is(err, errRead):
		return err
	case err != nil:
		return fmt.Errorf("%w: its %d entries do not hold together: %w", ErrDamaged, whole.size, err)
	case root != m.root:
		return fmt.Errorf("%w: its %d entries do not go on from the %d that it had", ErrDamaged, whole.size, m.size)
	}
	return nil
}

// Committed notes that the log has come as far as a head, which was computed from one that passed [Anchor.Check]. A
// [Storage] calls it once the new entries are durable, and acknowledges them only then: entries that are not noted can
// be taken away. If the log has gone on without it, the error is [ErrDamaged].
func (a *Anchor) Committed(ctx context.Context, st Storage, from, to Head) error {
	_, base := a.state() // of others that have noted more since, note tells
	if err := a.reach(ctx, st, base, to, &from); err != nil || len(to.Seal) == 0 {
		return err
	}
	return noteSealed(a)
}

// reach moves the mark from a base to a head, once the log is proved to pass through both. With the head that it was
// computed from, that one has to stay part of the log, however far that has come. Without, a log that others have
// brought further meanwhile may be left alone.
func (a *Anchor) reach(ctx context.Context, st Storage, base mark, to Head, from *Head) error {
	end := markOf(to)
	a.mu.Lock()
	known := a.passed.has(end)
	a.mu.Unlock()
	if known {
		return nil
	}
	for {
		if end != base && (from == nil || markOf(*from) != base) {
			if err := a.proved(ctx, st, base, to); err != nil {
				return err
			}
		}
		done, err := a.note(base, to, end)
		if done || err != nil {
			return err
		}
		if base, err = a.current(); err != nil || from == nil && base.size >= to.Size {
			return err
		}
	}
}

// maxWalk is how many entries are read one by one. Of more, hashes of the tree prove it.
const maxWalk = 1000

// proved checks that of the base and another head, the shorter one is a beginning of the other.
func (a *Anchor) proved(ctx context.Context, st Storage, base mark, to Head) error {
	end := markOf(to)
	a.mu.Lock()
	near := a.near.clone()
	a.mu.Unlock()
	switch {
	case end.size < base.size:
		return end.within(ctx, st, base)
	case end.size == base.size || near.Size > end.size || end.size-near.Size > maxWalk:
		if err := base.check(to); err != nil {
			return err
		}
		return base.within(ctx, st, end)
	}
	s := span{head: to}
	if base.size > 0 && base.size >= near.Size { // else it was a mark before this one
		s.pin(pinned{base.size, base.root, "was seen before"})
	}
	return s.walk(ctx, st, near)
}

// note makes a head that was proved, with its mark, the one of the anchor, if that is the base still, and reports
// whether it is.
func (a *Anchor) note(base mark, to Head, end mark) (done bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen != base {
		return false, nil
	}
	if end.size > base.size && a.mark != nil {
		unlock, err := a.mark.turn()
		if err != nil {
			return false, err
		}
		defer unlock()
		there, err := a.mark.there()
		if err != nil || there.size > base.size || there.size == base.size && there != base {
			return false, err
		}
		if err := a.mark.write(end); err != nil {
			return false, err
		}
	}
	if end.size > base.size {
		a.seen = end
	}
	if to.Size > a.near.Size {
		a.near = Head{Size: to.Size, Edge: to.Edge}.clone()
	}
	a.passed.add(end)
	return true, nil
}

// Mark returns how far the log has come, as any process that shares the directory has noted: a log with another head
// has to be read again.
func (a *Anchor) Mark() (tlog.Tree, error) {
	m, err := a.current()
	return tlog.Tree{N: m.size, Hash: m.root}, err
}

// current returns how far the log was seen to come, by other processes too. A file that the machine has lost gets it.
func (a *Anchor) current() (mark, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mark == nil {
		return a.seen, nil
	}
	there, err := a.mark.there()
	if err != nil || there == a.seen {
		return a.seen, err // without a lock: a mark that is being written is another one
	}
	unlock, err := a.mark.turn()
	if err != nil {
		return mark{}, err
	}
	defer unlock()
	if there, err = a.mark.there(); err != nil {
		return mark{}, err
	}
	switch {
	case there.size > a.seen.size:
		a.seen = there
		a.passed.add(there)
	case there.size < a.seen.size:
		return a.seen, a.mark.write(a.seen)
	case there.root != a.seen.root:
		return mark{}, fmt.Errorf("%w: another process has seen %d other entries", ErrDamaged, there.size)
	}
	return a.seen, nil
}

// trees are the roots of trees of a log, by their sizes.
type trees map[int64]tlog.Hash

// maxTrees is how many trees are remembered.
const maxTrees = 4096

func (t *trees) add(m mark) {
	if *t == nil || len(*t) >= maxTrees {
		*t = trees{}
	}
	(*t)[m.size] = m.root
}

func (t trees) has(m mark) bool {
	root, ok := t[m.size]
	return ok && root == m.root
}

// A marked is the file of the mark. Processes take turns to write it, by a lock of its own: a process may hold that of
// the anchor, to sign, and wait for the storage. The file is not synced: it is for processes that are killed, and after
// the machine failed the last checkpoint counts.
type marked struct {
	f     *os.File
	turns turns

	text string // as it was read or written last, with its mark; guarded by the lock of the anchor
	last mark
}

func (f *marked) turn() (unlock func(), err error) {
	if unlock, err = f.turns.take(); err != nil {
		return nil, fmt.Errorf("locking how far the log has come: %w", err)
	}
	return unlock, nil
}

func (f *marked) write(m mark) error {
	text := m.String()
	if _, err := f.f.WriteAt([]byte(text), 0); err != nil {
		return fmt.Errorf("writing how far the log has come: %w", err)
	}
	f.text, f.last = text, m
	return nil
}

// there returns the mark in the file: the zero mark if the machine has lost it.
func (f *marked) there() (mark, error) {
	var b [markSize]byte
	n, err := f.f.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return mark{}, fmt.Errorf("reading how far the log has come: %w", err)
	}
	if string(b[:n]) == f.text {
		return f.last, nil
	}
	f.text = string(b[:n])
	if f.last, err = parseMark(f.text); err != nil {
		f.last = mark{}
	}
	return f.last, nil
}

const markSize = 20 + 1 + 44 + 1

// String returns the mark as its file has it: the size in 20 digits, and the root.
func (m mark) String() string { return fmt.Sprintf("%020d %s\n", m.size, m.root) }

func parseMark(text string) (m mark, err error) {
	if text == "" {
		return m, nil
	}
	size, root, _ := strings.Cut(strings.TrimSuffix(text, "\n"), " ")
	if _, err := fmt.Sscanf(size, "%d", &m.size); err != nil || len(text) != markSize {
		return m, errors.New("the mark of how far the log has come is torn")
	}
	m.root, err = tlog.ParseHash(root)
	return m, err
}
