package audit

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"
	"golang.org/x/mod/sumdb/tlog"
)

// A mark is how far a log has come.
type mark struct {
	size int64
	root tlog.Hash
}

func (m mark) check(h Head) error {
	if h.Size < m.size {
		return fmt.Errorf("%w: it has %d entries, and had %d", ErrDamaged, h.Size, m.size)
	}
	if h.Size == m.size && h.Size > 0 && h.Root() != m.root {
		return fmt.Errorf("%w: its %d entries are not those that it had", ErrDamaged, h.Size)
	}
	return nil
}

// Committed notes that the log has come as far as the head. A [Storage] calls it once what it appended is durable.
func (a *Anchor) Committed(h Head) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if h.Size <= a.seen.size {
		return
	}
	a.seen = mark{h.Size, h.Root()}
	_ = a.shareMark() // if that fails, the next Check tries again and tells
}

// shareMark takes over how far another process has seen the log to come, or else brings the newest mark to the file. Processes take turns,
// so that none sets the mark back. They do so by a lock of its own: a process may hold that of the anchor, to sign, and wait for the storage.
// The file is not synced: it is for processes that are killed, and after the machine failed the last checkpoint counts.
func (a *Anchor) shareMark() error {
	if a.mark == nil {
		return nil
	}
	if there, err := a.markThere(); err != nil || there == a.seen {
		return err // without a lock: a mark that is being written is another one
	}
	unlock, err := lockedfile.MutexAt(a.path(markLockFile)).Lock()
	if err != nil {
		return fmt.Errorf("locking how far the log has come: %w", err)
	}
	defer unlock()
	there, err := a.markThere()
	if err != nil {
		return err
	}
	switch {
	case there.size > a.seen.size:
		a.seen = there
	case there.size < a.seen.size:
		if _, err := a.mark.WriteAt([]byte(a.seen.String()), 0); err != nil {
			return fmt.Errorf("writing how far the log has come: %w", err)
		}
	case there.root != a.seen.root:
		return fmt.Errorf("%w: another process has seen %d other entries", ErrDamaged, there.size)
	}
	return nil
}

// markThere returns the mark in the file: the zero mark if the machine has lost it.
func (a *Anchor) markThere() (mark, error) {
	var b [markSize]byte
	n, err := a.mark.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return mark{}, fmt.Errorf("reading how far the log has come: %w", err)
	}
	there, err := parseMark(string(b[:n]))
	if err != nil {
		return mark{}, nil
	}
	return there, nil
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
