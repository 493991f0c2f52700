package audit

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	leafVersion = 1
	leafSize    = 1 + 8 + idSize + 8 + tlog.HashSize + sha256.Size
	idSize      = 16
	saltSize    = 16
)

// An ID stands for the name of a chain.
type ID [idSize]byte

// String returns the ID in hexadecimal.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// A Leaf is the part of an entry in the tree.
type Leaf struct {
	Seq    int64
	Chain  ID
	Pos    int64     // in the chain
	Prev   tlog.Hash // of the chain's leaf before
	Digest [sha256.Size]byte
}

// Append appends the leaf in its wire form, which the package comment describes.
func (l *Leaf) Append(b []byte) []byte {
	b = append(b, leafVersion)
	b = binary.BigEndian.AppendUint64(b, uint64(l.Seq))
	b = append(b, l.Chain[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(l.Pos))
	b = append(b, l.Prev[:]...)
	return append(b, l.Digest[:]...)
}

// ParseLeaf reads a leaf in its wire form.
func ParseLeaf(b []byte) (Leaf, error) {
	if len(b) != leafSize {
		return Leaf{}, fmt.Errorf("%w: a leaf has %d bytes, not %d", ErrDamaged, leafSize, len(b))
	}
	if b[0] != leafVersion {
		return Leaf{}, fmt.Errorf("%w: a leaf of version %d", ErrDamaged, b[0])
	}
	var l Leaf
	l.Seq = int64(binary.BigEndian.Uint64(b[1:]))
	copy(l.Chain[:], b[9:])
	l.Pos = int64(binary.BigEndian.Uint64(b[25:]))
	copy(l.Prev[:], b[33:])
	copy(l.Digest[:], b[65:])
	if l.Seq < 0 || l.Pos < 0 || l.Pos > l.Seq {
		return Leaf{}, fmt.Errorf("%w: a leaf with the number %d and position %d", ErrDamaged, l.Seq, l.Pos)
	}
	return l, nil
}

// digest returns the digest of the entry under the salt.
func (e *Entry) digest(salt []byte) (sum [sha256.Size]byte) {
	var short [512]byte
	b := append(short[:0], salt...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Time.UnixMicro()))
	for _, word := range [...]string{e.Chain, e.Kind, e.Subject, e.Outcome} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(word)))
		b = append(b, word...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(e.Body)))
	if len(e.Body) <= cap(b)-len(b) {
		return sha256.Sum256(append(b, e.Body...))
	}
	h := sha256.New()
	h.Write(b)
	h.Write(e.Body)
	h.Sum(sum[:0])
	return sum
}

// Check returns an error that is [ErrInvalid] if a log does not take the entry.
func (e *Entry) Check() error {
	if len(e.Body) > MaxBody {
		return fmt.Errorf("%w: its body is longer than %d bytes", ErrInvalid, MaxBody)
	}
	if len(e.Aside) > MaxAside {
		return fmt.Errorf("%w: its aside is longer than %d bytes", ErrInvalid, MaxAside)
	}
	for _, word := range [...]string{e.Chain, e.Kind, e.Subject, e.Outcome} {
		switch {
		case len(word) > MaxWord:
			return fmt.Errorf("%w: %.20q… is longer than %d bytes", ErrInvalid, word, MaxWord)
		case !utf8.ValidString(word) || strings.ContainsRune(word, 0):
			return fmt.Errorf("%w: %.20q is not text", ErrInvalid, word)
		}
	}
	return nil
}

// Check returns an error if the row does not have the leaf of its content.
func (r *Row) Check() (Leaf, error) {
	l, err := ParseLeaf(r.Leaf)
	if err != nil {
		return Leaf{}, err
	}
	if l.Seq != r.Seq {
		return l, fmt.Errorf("%w: its leaf is that of entry %d", ErrDamaged, l.Seq)
	}
	if r.Erased() {
		if r.Entry.empty() {
			return l, nil
		}
		return l, fmt.Errorf("%w: it is erased, but not wholly", ErrDamaged)
	}
	if sum := r.digest(r.Salt); len(r.Salt) != saltSize || !bytes.Equal(sum[:], l.Digest[:]) {
		return l, fmt.Errorf("%w: its content does not have the digest of its leaf", ErrDamaged)
	}
	return l, nil
}

func (e *Entry) empty() bool {
	return e.Time.IsZero() && e.Chain == "" && e.Kind == "" && e.Subject == "" && e.Outcome == "" && len(e.Body) == 0
}

// normal returns the entry as it is kept.
func (e Entry) normal() Entry {
	e.Time = e.Time.UTC().Truncate(time.Microsecond)
	return e
}

// salts returns n salts one after the other.
func salts(n int) []byte {
	b := make([]byte, n*saltSize)
	rand.Read(b) // never fails
	return b
}
