package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// SealKey returns the secret key of the seal, in hexadecimal.
func (a *Anchor) SealKey() string { return hex.EncodeToString(a.seal) }

// WithSeal returns an anchor in memory with the key of a seal, as [Anchor.SealKey] returns it.
func WithSeal(key *Key, seal string) (*Anchor, error) {
	raw, err := parseSeal(seal)
	return &Anchor{key: key, seal: raw}, err
}

// makeSeal makes the key of the seal if there is none.
func makeSeal(a *Anchor) error {
	path := a.path(sealFile)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return replaceFile(path, hex.EncodeToString(a.key.sealKey())+"\n")
}

func parseSeal(text string) ([]byte, error) {
	b, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(b) != sha256.Size {
		return nil, fmt.Errorf("the key of the seal is not %d bytes in hexadecimal", sha256.Size)
	}
	return b, nil
}

// Seal returns the seal of a head: HMAC-SHA256 of the log's origin, the head's size, the hash of its [Ends] and its
// edge.
func (a *Anchor) Seal(h Head) []byte {
	mac := hmac.New(sha256.New, a.seal)
	version := "weir head 2\n"
	if h.Ends == (tlog.Hash{}) {
		version = "weir head 1\n"
	}
	mac.Write([]byte(version + a.Key().Origin() + "\n"))
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(h.Size)))
	if h.Ends != (tlog.Hash{}) {
		mac.Write(h.Ends[:])
	}
	mac.Write(h.EdgeBytes())
	return mac.Sum(nil)
}

// noteSealed notes that the head of the log was sealed.
func noteSealed(a *Anchor) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sealed {
		return nil
	}
	if a.dir != "" {
		if err := replaceFile(a.path(sealedFile), ""); err != nil {
			return fmt.Errorf("writing the anchor: %w", err)
		}
	}
	a.sealed = true
	return nil
}

// checkSeal reports whether the head is sealed. One of before the log had an anchor is that of the last checkpoint, and
// never was sealed.
func (a *Anchor) checkSeal(h Head) error {
	if len(h.Seal) > 0 {
		if !hmac.Equal(h.Seal, a.Seal(h)) {
			return fmt.Errorf("%w: its head of %d entries is not sealed with the key of its anchor", ErrDamaged, h.Size)
		}
		return nil
	}
	if err := a.refresh(); err != nil {
		return err
	}
	last, _ := a.state()
	a.mu.Lock()
	sealed := a.sealed
	a.mu.Unlock()
	if last != nil && !sealed {
		said, _, err := a.trusted(last)
		if err != nil {
			return err
		}
		if h.Size == said.size && h.Root() == said.root {
			return nil
		}
	}
	return fmt.Errorf("%w: its head of %d entries is not sealed", ErrDamaged, h.Size)
}
