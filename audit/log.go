package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// A Log signs what a storage keeps, proves it and exports it. Make one with [Open].
type Log struct {
	store Store
	key   atomic.Pointer[Key]
}

// Open returns the log in the store, which the key signs. The error is [ErrKey] if it is signed with another.
func Open(ctx context.Context, store Store, key *Key) (*Log, error) {
	l := &Log{store: store}
	l.key.Store(key)
	err := l.sign(ctx, func(Head, Checkpoint) ([]byte, error) { return nil, nil })
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	return l, nil
}

// Storage returns what keeps the log.
func (l *Log) Storage() Store { return l.store }

// Key returns the key that signs now.
func (l *Log) Key() *Key { return l.key.Load() }

// Checkpoint signs the log as it is, unless that was done, and returns the note, in the format c2sp.org/tlog-checkpoint.
// It returns nil for an empty log. A log that is shorter than at its last checkpoint is [ErrDamaged] and is not signed.
func (l *Log) Checkpoint(ctx context.Context) ([]byte, error) {
	var text []byte
	err := l.sign(ctx, func(h Head, last Checkpoint) ([]byte, error) {
		if h.Size == last.Size {
			text = last.Note
			return nil, nil
		}
		var err error
		text, err = l.say(h).signed(l.Key())
		return text, err
	})
	if err != nil {
		return nil, fmt.Errorf("making a checkpoint: %w", err)
	}
	return text, nil
}

// Rotate hands the log over to a new key of the same origin: by an entry of the kind [KindKey], whose subject is the new
// public key, and by a checkpoint that names both and that both have signed. The new key takes the old one's place in its
// file. Other processes find it there.
func (l *Log) Rotate(ctx context.Context, now time.Time) error {
	old := l.Key()
	next, err := NewKey(old.Origin())
	if err != nil {
		return err
	}
	next.path = old.path
	// The file comes first, under another name: should the process end now, open finds the key there.
	if old.path != "" {
		if err := writeKey(old.path+nextSuffix, next, os.Rename); err != nil {
			return fmt.Errorf("writing the next key: %w", err)
		}
	}
	if _, err = l.store.Append(ctx, []Entry{{Time: now, Kind: KindKey, Subject: next.Verifier()}}); err != nil {
		return fmt.Errorf("handing over to a new key: %w", err)
	}
	err = l.sign(ctx, func(h Head, _ Checkpoint) ([]byte, error) {
		s := l.say(h)
		s.from, s.to = old.Verifier(), next.Verifier()
		return s.signed(old, next)
	})
	if err != nil {
		return fmt.Errorf("handing over to a new key: %w", err)
	}
	return l.adopt(next)
}

// KindKey is the kind of the entry that a log is handed over to another key with.
const KindKey = "audit-key"

// nextSuffix follows the name of a key's file while the log is handed over to the next one.
const nextSuffix = ".next"

// adopt makes k the key, and the file of the next key that of the key.
func (l *Log) adopt(k *Key) error {
	l.key.Store(k)
	if k.path == "" {
		return nil
	}
	err := os.Rename(k.path+nextSuffix, k.path)
	if errors.Is(err, os.ErrNotExist) { // another process did
		return nil
	}
	return err
}

func (l *Log) say(h Head) *statement {
	return &statement{origin: l.Key().Origin(), size: h.Size, root: h.Root()}
}

// sign lets make sign, if the key is the one that signs after the last checkpoint. If it is not, it looks for that key in the
// key's file, and in the file of the next one.
func (l *Log) sign(ctx context.Context, make func(Head, Checkpoint) ([]byte, error)) error {
	try := func() error {
		return l.store.Sign(ctx, func(h Head, last Checkpoint) ([]byte, error) {
			if err := l.mayFollow(h, last); err != nil {
				return nil, err
			}
			return make(h, last)
		})
	}
	err := try()
	if path := l.Key().path; errors.Is(err, ErrKey) && path != "" {
		for _, file := range []string{path, path + nextSuffix} {
			k, readErr := ReadKey(file)
			if readErr != nil {
				continue
			}
			k.path = path
			l.key.Store(k)
			if err = try(); !errors.Is(err, ErrKey) {
				if file != path {
					return errors.Join(err, l.adopt(k))
				}
				return err
			}
		}
	}
	return err
}

// mayFollow tells whether the key may sign the head after the last checkpoint.
func (l *Log) mayFollow(h Head, last Checkpoint) error {
	if last.Note == nil {
		return nil
	}
	if h.Size < last.Size {
		return fmt.Errorf("%w: it has %d entries and a checkpoint over %d", ErrDamaged, h.Size, last.Size)
	}
	said, err := peek(last.Note)
	if err != nil {
		return err
	}
	by := []string{l.Key().Verifier()}
	if said.to != "" {
		if said.to != by[0] {
			return fmt.Errorf("%w: it was handed over", ErrKey)
		}
		by = []string{said.from, said.to}
	}
	said, err = openNote(last.Note, by...)
	if err != nil {
		return err
	}
	if said.size != last.Size || (h.Size == last.Size && said.root != h.Root()) {
		return fmt.Errorf("%w: it is not what its last checkpoint says", ErrDamaged)
	}
	return nil
}
