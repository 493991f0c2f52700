package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// The files of an anchor. All are readable by their owner alone.
const (
	keyFile        = "key"        // the signing key; of an external signer, the public key
	sealFile       = "seal"       // the key of the seal, 32 bytes in hexadecimal
	checkpointFile = "checkpoint" // the last one, as it was signed
	markFile       = "mark"       // how far the log has come
	sealedFile     = "sealed"     // there once the head of the log was sealed: one without a seal counts no longer
	lockFile       = "lock"       // processes that sign take turns by it
	markLockFile   = "mark.lock"  // processes that write the mark take turns by it
)

// An Anchor is kept apart from the storage of a log and holds the log to its past: the key that signs it, the last
// checkpoint, the key that seals the head between two checkpoints, and how far the log has come. A log that does not
// extend its anchor is [ErrDamaged]: [Open], each signature and [Verify] check that, and each [Storage] checks the seal
// before it appends.
//
// Processes may share the directory of an anchor. An Anchor may be used concurrently.
type Anchor struct {
	dir  string // "": in memory alone
	seal []byte // the key of the seal

	turn sync.Mutex // held while signing

	mu   sync.Mutex
	key  *Key
	last []byte // the last checkpoint; nil: no log was anchored yet
	base Head   // of last; the zero Head if it was not read yet
	seen mark
	mark *marked // nil: not kept on disk

	sealed bool // the head of the log was sealed

	near   Head  // the last that was noted by this process, with its edge
	passed trees // that the log was proved to have passed through
}

// NewAnchor returns an anchor that lives as long as the process. Its seal belongs to the key.
func NewAnchor(key *Key) *Anchor { return &Anchor{key: key, seal: key.sealKey()} }

// OpenAnchor returns the anchor in a directory. It makes the directory and its missing files, readable by the owner
// alone. Without a signer it makes a key of its own for the origin, unless one is there; of several processes that do
// so at once, all get the same. Close it. A signer that is not the one of the anchor is [ErrKey]: hand the log over to
// it with [Log.Rotate].
func OpenAnchor(dir, origin string, signer *Key) (*Anchor, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the anchor: %w", err)
	}
	a := &Anchor{dir: dir}
	unlock, err := a.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if a.key, err = anchorKey(a.path(keyFile), origin, signer); err != nil {
		return nil, err
	}
	if err := makeSeal(a); err != nil {
		return nil, err
	}
	if err := a.read(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(a.path(markFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the anchor: %w", err)
	}
	a.mark = &marked{f: f, turns: turns{path: a.path(markLockFile)}}
	return a, nil
}

// ReadAnchor returns the anchor in a directory, to verify with. It changes nothing there. An error that is
// [fs.ErrNotExist] means that there is none.
func ReadAnchor(dir string) (*Anchor, error) {
	a := &Anchor{dir: dir}
	var err error
	if a.key, err = ReadKey(a.path(keyFile)); err != nil {
		return nil, err
	}
	return a, a.read()
}

// Close closes the file of the anchor. A log that is open under it can be read and written no more.
func (a *Anchor) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mark == nil {
		return nil
	}
	if err := errors.Join(a.mark.f.Close(), a.mark.turns.close()); err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("closing the anchor: %w", err)
	}
	return nil
}

// Dir returns where the anchor is kept; "" if it is in memory.
func (a *Anchor) Dir() string { return a.dir }

// Key returns the key that signs now.
func (a *Anchor) Key() *Key {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.key
}

// Used reports whether the log was seen to grow under this anchor.
func (a *Anchor) Used() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen.size > 0
}

// Replace makes a copy of the anchor the one in a directory, in the place of another that is there. It is how a person
// says that a log which does not extend its anchor is the right one.
func (a *Anchor) Replace(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("replacing the anchor: %w", err)
	}
	at := &Anchor{dir: dir}
	unlock, err := at.lock()
	if err != nil {
		return err
	}
	defer unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	err = errors.Join(replaceFile(at.path(keyFile), a.key.text+"\n"), replaceFile(at.path(sealFile), a.SealKey()+"\n"),
		replaceFile(at.path(checkpointFile), string(a.last)), replaceFile(at.path(markFile), a.seen.String()))
	if rm := os.Remove(at.path(sealedFile)); !errors.Is(rm, fs.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	if err != nil {
		return fmt.Errorf("replacing the anchor: %w", err)
	}
	return nil
}

func (a *Anchor) path(name string) string { return filepath.Join(a.dir, name) }

// lock waits for the turn of this process to sign.
func (a *Anchor) lock() (unlock func(), err error) {
	a.turn.Lock()
	if a.dir == "" {
		return a.turn.Unlock, nil
	}
	info, err := os.Stat(a.dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("others may enter %s: its mode is %#o, not 0700", a.dir, info.Mode().Perm())
	}
	var release func()
	if err == nil {
		err = errors.Join(makeLock(a.path(lockFile)), makeLock(a.path(markLockFile)))
	}
	if err == nil {
		release, err = lockedfile.MutexAt(a.path(lockFile)).Lock()
	}
	if err != nil {
		a.turn.Unlock()
		return nil, fmt.Errorf("locking the anchor: %w", err)
	}
	return func() { release(); a.turn.Unlock() }, nil
}

// makeLock makes the file of a lock, unless it is there. A mutex would make it readable by others.
func makeLock(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// anchorKey returns the key in a file, which gets the signer, or a new key of the origin, if there is none.
func anchorKey(path, origin string, signer *Key) (*Key, error) {
	if signer == nil {
		return OpenKey(path, origin)
	}
	there, err := ReadKey(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = replaceFile(path, signer.text+"\n")
	case err == nil && there.verifier != signer.verifier:
		err = fmt.Errorf("%w: %s, and not the signer's %s", ErrKey, there.verifier, signer.verifier)
	}
	if err != nil {
		return nil, err
	}
	k := *signer
	k.path = path
	return &k, nil
}

// read reads the files of the directory beside the key.
func (a *Anchor) read() error {
	if a.dir == "" {
		return nil
	}
	text, err := os.ReadFile(a.path(sealFile))
	if err != nil {
		return fmt.Errorf("reading the anchor: %w", err)
	}
	if a.seal, err = parseSeal(string(text)); err != nil {
		return fmt.Errorf("reading the anchor: %w", err)
	}
	return a.refresh()
}

// refresh reads the files that other processes may have changed since.
func (a *Anchor) refresh() error {
	if a.dir == "" {
		return nil
	}
	last, err := os.ReadFile(a.path(checkpointFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the anchor: %w", err)
	}
	text, err := os.ReadFile(a.path(markFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the anchor: %w", err)
	}
	_, err = os.Stat(a.path(sealedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the anchor: %w", err)
	}
	sealed := err == nil
	m, err := parseMark(string(text))
	if err != nil {
		m = mark{} // a machine that fails may lose it: the checkpoint counts
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sealed = a.sealed || sealed
	if string(last) != string(a.last) {
		a.last, a.base = last, Head{}
	}
	if len(last) == 0 {
		a.last = nil
	}
	if m.size > a.seen.size {
		a.seen = m
	}
	return nil
}

// keys returns the keys that may sign: the one in use, and those that another process may have put beside it.
func (a *Anchor) keys() []*Key {
	a.mu.Lock()
	all := []*Key{a.key}
	a.mu.Unlock()
	for _, name := range []string{keyFile, keyFile + nextSuffix} {
		if k, err := ReadKey(a.path(name)); a.dir != "" && err == nil && k.verifier != all[0].verifier {
			all = append(all, k)
		}
	}
	return all
}

// use makes the key with the verifier the one that signs, also in its file.
func (a *Anchor) use(verifier string) error {
	for i, k := range a.keys() {
		if k.verifier != verifier {
			continue
		}
		if i == 0 {
			return nil
		}
		if a.dir != "" && k.path != a.path(keyFile) {
			if err := os.Rename(k.path, a.path(keyFile)); err != nil {
				return fmt.Errorf("putting the next key in place: %w", err)
			}
			k.path = a.path(keyFile)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.key = k
		return nil
	}
	return fmt.Errorf("%w: the one that signs next is %s", ErrKey, verifier)
}

// trusted returns the statement of a checkpoint that one of the keys has signed, and the key that has to sign after it.
func (a *Anchor) trusted(checkpoint []byte) (said *statement, next string, err error) {
	claim, err := peek(checkpoint)
	if err != nil {
		return nil, "", err
	}
	err = fmt.Errorf("%w: it was handed over", ErrKey)
	for _, k := range a.keys() {
		by := []string{k.verifier}
		if claim.to != "" {
			if claim.to != k.verifier {
				continue
			}
			by = []string{claim.from, claim.to}
		}
		if said, err = openNote(checkpoint, by...); err == nil {
			return said, k.verifier, nil
		}
	}
	return nil, "", err
}

// advance makes the checkpoint over the head the last one.
func (a *Anchor) advance(checkpoint []byte, head Head) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dir != "" && string(a.last) != string(checkpoint) {
		if err := replaceFile(a.path(checkpointFile), string(checkpoint)); err != nil {
			return fmt.Errorf("anchoring the checkpoint: %w", err)
		}
	}
	a.last, a.base = checkpoint, Head{Size: head.Size, Edge: head.Edge}
	return nil
}

// Since returns a check like [Anchor.Check] for heads that are read from now on, though others may extend the log
// meanwhile.
func (a *Anchor) Since() (check func(context.Context, Storage, Head) error, err error) {
	base, err := a.current()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, st Storage, h Head) error {
		if err := a.checkSeal(h); err != nil {
			return err
		}
		if err := base.check(h); err != nil || st == nil {
			return err
		}
		return a.reach(ctx, st, base, h, nil)
	}, nil
}

// Check reports whether the head, which nothing may extend meanwhile, is one that the log under this anchor has:
// sealed, or else the one of the last checkpoint, and one that extends the newest head that was seen, as the storage
// proves, which has the head. Its size is noted. Without a storage the head only has to be no shorter than the newest
// that was seen, and nothing is noted: for one that may be shorter again after a failure. The error is [ErrDamaged].
func (a *Anchor) Check(ctx context.Context, st Storage, h Head) error {
	check, err := a.Since()
	if err != nil {
		return err
	}
	return check(ctx, st, h)
}

// state returns the last checkpoint, and how far the log was seen to come.
func (a *Anchor) state() ([]byte, mark) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last, a.seen
}

// CheckHead is [Anchor.Check], which a [Storage] calls before it appends. Without an anchor, a head that is sealed is
// [ErrSealed].
func CheckHead(ctx context.Context, a *Anchor, st Storage, h Head) error {
	switch {
	case a != nil:
		return a.Check(ctx, st, h)
	case len(h.Seal) > 0:
		return ErrSealed
	}
	return nil
}
