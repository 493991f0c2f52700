package audit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Log signs what a storage keeps, proves it and exports it. Make one with [Open].
type Log struct {
	store  Store
	anchor *Anchor
}

// Open returns the log in the store, which has to extend the anchor: if it does not, the error is [ErrDamaged], or
// [ErrKey] if it is signed with another key. An anchor without a checkpoint is new: it takes over a log whose last
// checkpoint its key has signed, with the entries that follow there, and signs it. A log with entries is not taken over
// that has neither a checkpoint nor the seal of the anchor: see [Adopt].
func Open(ctx context.Context, store Store, anchor *Anchor) (*Log, error) {
	l := &Log{store: store, anchor: anchor}
	unlock, err := anchor.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := anchor.refresh(); err != nil {
		return nil, err
	}
	if last, _ := anchor.state(); last == nil {
		err = l.adopt(ctx)
	}
	var s *span
	if err == nil {
		s, err = l.extend(ctx)
	}
	if err == nil {
		err = l.handOver(s)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	store.SealWith(anchor)
	return l, nil
}

// Adopt has an anchor in memory sign a log that has entries and neither a checkpoint nor a seal, as one that nobody had
// signed yet when its process was killed, so that [Open] takes it over. It does nothing to any other log. Nothing shows
// whether the entries are those that were written: it is for a person to say so.
func Adopt(ctx context.Context, store Store, anchor *Anchor) error {
	l := &Log{store: store, anchor: anchor}
	unlock, err := anchor.lock()
	if err != nil {
		return err
	}
	defer unlock()
	head, err := store.Head(ctx)
	if err != nil || head.Size == 0 || len(head.Seal) > 0 {
		return err
	}
	for _, err := range store.Checkpoints(ctx, 0) {
		return err
	}
	if err := l.adoptTail(ctx, Checkpoint{}, Head{}, head); err != nil {
		return fmt.Errorf("taking over a log without a checkpoint: %w", err)
	}
	return nil
}

// Storage returns the storage of the log.
func (l *Log) Storage() Store { return l.store }

// Anchor returns the anchor of the log.
func (l *Log) Anchor() *Anchor { return l.anchor }

// Key returns the key that signs now.
func (l *Log) Key() *Key { return l.anchor.Key() }

// Checkpoint signs the log as it is, unless that was done, and returns the note, in the format
// c2sp.org/tlog-checkpoint. It returns nil for an empty log. A log that does not extend its anchor is [ErrDamaged] and
// is not signed. [ErrSigner] means that the signer did not sign. A key that cannot sign here leaves that to others: the
// last checkpoint is returned, if there is one.
func (l *Log) Checkpoint(ctx context.Context) ([]byte, error) {
	unlock, err := l.anchor.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	text, err := l.sign(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("making a checkpoint: %w", err)
	}
	return text, nil
}

// maxConflicts is how often a checkpoint is tried that another one comes before.
const maxConflicts = 20

// sign signs the log as it is, unless that was done or it is empty; by the next key too, if the log is handed over to
// one. The caller has locked the anchor.
func (l *Log) sign(ctx context.Context, next *Key) ([]byte, error) {
	for attempt := 0; ; attempt++ {
		s, err := l.extend(ctx)
		if err != nil {
			return nil, err
		}
		if err := l.handOver(s); err != nil {
			return nil, err
		}
		if s.head.Size == 0 {
			return nil, nil
		}
		if next == nil && !l.Key().Signs() {
			return s.text, nil
		}
		if s.size == s.head.Size && s.text != nil && next == nil {
			return s.text, l.anchor.advance(s.text, s.head)
		}
		text, err := l.say(s.head, next)
		if err != nil {
			return nil, err
		}
		err = l.store.AddCheckpoint(ctx, Checkpoint{s.head.Size, text}, s.last)
		if err == nil {
			return text, l.anchor.advance(text, s.head)
		}
		if !errors.Is(err, ErrConflict) || attempt == maxConflicts {
			return nil, err
		}
	}
}

// handOver has the key sign that the read checkpoints name as the next. If that is another, the anchor moves to the
// checkpoint that names it before the other key takes the place of the one that the anchor's own checkpoint needs: a
// process may end in between.
func (l *Log) handOver(s *span) error {
	if s.next != l.Key().Verifier() && s.text != nil {
		if err := l.anchor.advance(s.text, Head{}); err != nil {
			return err
		}
	}
	return l.anchor.use(s.next)
}

// say returns the signed statement that the log has this head.
func (l *Log) say(h Head, next *Key) ([]byte, error) {
	key := l.Key()
	s := &statement{origin: key.Origin(), size: h.Size, root: h.Root()}
	if next == nil {
		return s.signed(key)
	}
	s.from, s.to = key.Verifier(), next.Verifier()
	return s.signed(key, next)
}

// adopt makes the log as it is the one of the anchor, which is new.
func (l *Log) adopt(ctx context.Context) error {
	var last Checkpoint
	for c, err := range l.store.Checkpoints(ctx, 0) {
		if err != nil {
			return err
		}
		last = c
	}
	head, err := l.store.Head(ctx)
	switch {
	case err != nil:
		return err
	case last.Note == nil && head.Size > 0 && len(head.Seal) == 0:
		return fmt.Errorf("%w: it has %d entries and no checkpoint, and its anchor is new", ErrDamaged, head.Size)
	case last.Note == nil:
		if !l.Key().Signs() {
			return nil
		}
		text, err := l.say(Head{}, nil)
		if err != nil {
			return err
		}
		return l.anchor.advance(text, Head{})
	}
	said, next, err := l.anchor.trusted(last.Note)
	if err != nil {
		return err
	}
	if err := l.anchor.use(next); err != nil {
		return err
	}
	base, err := headAt(ctx, l.store, said.size, said.root)
	if err != nil {
		return err
	}
	if len(head.Seal) > 0 {
		return l.anchor.advance(last.Note, base)
	}
	return l.adoptTail(ctx, last, base, head)
}

// adoptTail signs the entries after the last checkpoint of a log whose head was never sealed.
func (l *Log) adoptTail(ctx context.Context, last Checkpoint, base, head Head) error {
	s := &span{head: head, last: last, text: last.Note, size: last.Size}
	if err := s.walk(ctx, l.store, base); err != nil {
		return err
	}
	if base.Size == head.Size {
		return l.anchor.advance(last.Note, base)
	}
	text, err := l.say(head, nil)
	if err != nil {
		return err
	}
	if err := l.store.AddCheckpoint(ctx, Checkpoint{head.Size, text}, last); err != nil {
		return err
	}
	return l.anchor.advance(text, head)
}

// Rotate hands the log over to a new key of the same origin: by an entry of the kind [KindKey], whose subject is the
// new public key, and by a checkpoint that names both and that both have signed. The new key takes the old one's place
// in its file. Other processes find it there. Next is the new key; nil makes one.
func (l *Log) Rotate(ctx context.Context, now time.Time, next *Key) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("handing over to a new key: %w", err)
		}
	}()
	unlock, err := l.anchor.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if next == nil {
		if next, err = NewKey(l.Key().Origin()); err != nil {
			return err
		}
	}
	if next.Origin() != l.Key().Origin() {
		return fmt.Errorf("%w: its name is %q, and that of the log is %q", ErrKey, next.Origin(), l.Key().Origin())
	}
	// The file comes first, under another name: should the process end now, the next one finds the key there.
	if l.anchor.dir != "" {
		if err := replaceFile(l.anchor.path(keyFile+nextSuffix), next.text+"\n"); err != nil {
			return err
		}
	}
	if _, err := l.store.Append(ctx, []Entry{{Time: now, Kind: KindKey, Subject: next.Verifier()}}); err != nil {
		return err
	}
	if _, err := l.sign(ctx, next); err != nil {
		return err
	}
	if l.anchor.dir == "" {
		l.anchor.mu.Lock()
		defer l.anchor.mu.Unlock()
		l.anchor.key = next
		return nil
	}
	return l.anchor.use(next.Verifier())
}

// KindKey is the kind of the entry that a log is handed over to another key with.
const KindKey = "audit-key"

// Export writes the log as a static log of c2sp.org/tlog-tiles over the whole of it as it is: the file checkpoint, the
// tiles tile/L/N and the entry bundles tile/entries/N, which hold the leaves. Each file is written once by write,
// checkpoint last, under its path with slashes. An empty log writes nothing.
func (l *Log) Export(ctx context.Context, write func(path string, data []byte) error) error {
	text, err := l.Checkpoint(ctx)
	if err != nil || text == nil {
		return err
	}
	s, err := peek(text)
	if err != nil {
		return err
	}
	t := tiles{l.store, s.size}
	if err := t.bundles(ctx, write); err != nil {
		return fmt.Errorf("exporting entries: %w", err)
	}
	for level := 1; s.size>>(level*tileHeight) > 0; level++ {
		if err := t.level(ctx, level, write); err != nil {
			return fmt.Errorf("exporting tiles: %w", err)
		}
	}
	return write("checkpoint", text)
}
