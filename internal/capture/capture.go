// Package capture encrypts captured arguments and answers, and hidden values, and reads them again.
//
//	key, err := capture.OpenKey("state.db.capture")             // made on first use
//	box, err := capture.NewBox(key.Recipient())                 // or the public keys of others
//	sealed, err := box.Seal(event.Content)
//	content, err := key.Open(sealed)
//
// The format is that of age (c2sp.org/age). Each piece has a key of its own, which its own header holds, encrypted
// to the recipients: who removes a piece has removed its key, and without the recipients' identities all of it is lost.
// A Box holds public keys alone, so a machine that captures need not be able to read its captures.
//
// Before encryption a piece is:
//
//	0  version, 1
//	1  the length of the arguments, 4 bytes, big endian, and as many bytes
//	   the length of the answer, 4 bytes, big endian, and as many bytes
//
// A part that is longer than [MaxPart] is left out, and its length is 0xffffffff.
package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"filippo.io/age"

	"github.com/weir-mcp/weir/record"
)

// MaxPart is how long captured arguments, or a captured answer, may be, in bytes.
const MaxPart = 8 << 20

// maxSealed bounds the size of a piece, in bytes.
const maxSealed = 2*MaxPart + 64

const (
	pieceVersion = 1
	leftOut      = 0xffffffff
)

// ErrDamaged is the kind of error of a piece that cannot be read.
var ErrDamaged = errors.New("the captured content is damaged")

// A Box encrypts to fixed recipients. It may be used concurrently.
type Box struct{ recipients []age.Recipient }

// NewBox returns a box for the holders of identities, by their public keys (age1…); there has to be one at least.
func NewBox(recipients ...string) (*Box, error) {
	if len(recipients) == 0 {
		return nil, errors.New("captured content needs a recipient")
	}
	parsed, err := age.ParseRecipients(strings.NewReader(strings.Join(recipients, "\n")))
	if err != nil {
		return nil, errors.New("a recipient of captured content is no public key of age")
	}
	return &Box{parsed}, nil
}

// Seal encrypts captured content; nil if there is none.
func (b *Box) Seal(c *record.Content) ([]byte, error) {
	if c == nil || c.Arguments == nil && c.Result == nil {
		return nil, nil
	}
	sealed, err := b.encrypt(encode(c))
	if err != nil {
		return nil, fmt.Errorf("encrypting captured content: %w", err)
	}
	return sealed, nil
}

func (b *Box) encrypt(plain []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, b.recipients...)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(plain)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

func encode(c *record.Content) []byte {
	b := []byte{pieceVersion}
	for _, part := range [][]byte{c.Arguments, c.Result} {
		if len(part) > MaxPart {
			b = binary.BigEndian.AppendUint32(b, leftOut)
			continue
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	return b
}

// Parts are the arguments and the answer that were captured. Each may be empty; Cut tells that one was too long.
type Parts struct {
	Arguments, Result []byte
	Cut               bool
}

// Decode reads a piece as it is before encryption.
func Decode(b []byte) (p Parts, err error) {
	if len(b) == 0 || b[0] != pieceVersion {
		return Parts{}, fmt.Errorf("%w: it is of another version", ErrDamaged)
	}
	b = b[1:]
	for _, part := range []*[]byte{&p.Arguments, &p.Result} {
		if len(b) < 4 {
			return Parts{}, fmt.Errorf("%w: it is cut off", ErrDamaged)
		}
		n := binary.BigEndian.Uint32(b)
		if b = b[4:]; n == leftOut {
			p.Cut = true
			continue
		}
		if uint64(n) > uint64(len(b)) || n > MaxPart {
			return Parts{}, fmt.Errorf("%w: it is cut off", ErrDamaged)
		}
		*part, b = b[:n:n], b[n:]
	}
	if len(b) > 0 {
		return Parts{}, fmt.Errorf("%w: something follows it", ErrDamaged)
	}
	return p, nil
}

// A Key reads content that was sealed for it.
type Key struct {
	identities []age.Identity
	recipient  string
}

// OpenKey returns the identity in the file at path. If there is no file it makes one, readable by its owner only; of
// several processes that do so at once, all get the same.
func OpenKey(path string) (*Key, error) {
	k, err := ReadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	made, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("making the key of captured content: %w", err)
	}
	if err := write(path, made); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("writing the key of captured content: %w", err)
	}
	return ReadKey(path)
}

// write brings a whole file to path, unless there is one.
func write(path string, identity *age.X25519Identity) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".capture-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintf(f, "# public key: %s\n%s\n", identity.Recipient(), identity)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

// ReadKey returns the identities in the file at path, as age has them. A file that others may read is refused.
func ReadKey(path string) (*Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key of captured content: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("reading the key of captured content: others may read %s: its mode is %#o, not 0600", path, info.Mode().Perm())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key of captured content: %w", err)
	}
	defer f.Close()
	identities, err := age.ParseIdentities(f)
	if err != nil {
		return nil, fmt.Errorf("reading the key of captured content: %s holds no identity of age", path) // the text is secret
	}
	k := &Key{identities: identities}
	if own, ok := identities[0].(*age.X25519Identity); ok {
		k.recipient = own.Recipient().String()
	}
	return k, nil
}

// Recipient returns the public key of the first identity; "" if it is of a kind that has none.
func (k *Key) Recipient() string { return k.recipient }

// Open decrypts sealed content.
func (k *Key) Open(sealed []byte) (Parts, error) {
	b, err := k.decrypt(sealed)
	if err != nil {
		return Parts{}, err
	}
	return Decode(b)
}

func (k *Key) decrypt(sealed []byte) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(sealed), k.identities...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	b, err := io.ReadAll(io.LimitReader(r, maxSealed))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return b, nil
}

// A Sealer encrypts texts to the key in a file, and reads them again. The file is read, or made, when it is first
// needed.
type Sealer struct {
	path string
	mu   sync.Mutex
	key  *Key
	box  *Box
}

// NewSealer returns a sealer by the key in the file at path: see [OpenKey].
func NewSealer(path string) *Sealer { return &Sealer{path: path} }

// open opens the key, once.
func (s *Sealer) open() (*Key, *Box, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != nil {
		return s.key, s.box, nil
	}
	key, err := OpenKey(s.path)
	if err != nil {
		return nil, nil, err
	}
	if key.Recipient() == "" {
		return nil, nil, fmt.Errorf("the key in %s has no public key that weir knows", s.path)
	}
	box, err := NewBox(key.Recipient())
	if err != nil {
		return nil, nil, err
	}
	s.key, s.box = key, box
	return key, box, nil
}

// Seal encrypts a text.
func (s *Sealer) Seal(plain []byte) ([]byte, error) {
	_, box, err := s.open()
	if err != nil {
		return nil, err
	}
	return box.encrypt(plain)
}

// Open decrypts a text of Seal with the same key. The error is [ErrDamaged] if it is of another.
func (s *Sealer) Open(sealed []byte) ([]byte, error) {
	key, _, err := s.open()
	if err != nil {
		return nil, err
	}
	return key.decrypt(sealed)
}
