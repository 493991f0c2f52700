package audit

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// A Key signs a log's checkpoints. Its name is the log's origin.
type Key struct {
	path     string      // "" if it is not kept in a file
	text     string      // the signer's key, as package note encodes it; of an external one, the public key
	signer   note.Signer // nil: another program signs, which is not known here
	verifier string
	origin   string
}

// An external is a signer of which the private key is elsewhere.
type external struct {
	note.Verifier
	sign func(text []byte) ([]byte, error)
}

// Sign implements [note.Signer].
func (e external) Sign(text []byte) ([]byte, error) {
	sig, err := e.sign(text)
	if err == nil && !e.Verify(text, sig) {
		err = errors.New("its signature is not one of its key")
	}
	return sig, err
}

// ExternalKey returns a key that signs by a function, with the public key as [Key.Verifier] returns it. The function
// gets the text of a checkpoint and returns its Ed25519 signature, 64 bytes. It is called by one goroutine at a time.
func ExternalKey(verifier string, sign func(text []byte) ([]byte, error)) (*Key, error) {
	v, err := note.NewVerifier(verifier)
	if err != nil {
		return nil, fmt.Errorf("%.100q is not a public key", verifier)
	}
	return &Key{text: verifier, signer: external{v, sign}, verifier: verifier, origin: v.Name()}, nil
}

// PublicKey returns a public key under the name of a log, as [Key.Verifier] returns it. The name has neither spaces nor
// plus signs.
func PublicKey(name string, key ed25519.PublicKey) (string, error) {
	return note.NewEd25519VerifierKey(name, key)
}

// Signs reports whether the key can sign here. The key of an external signer that was not given cannot.
func (k *Key) Signs() bool { return k.signer != nil }

// sealKey returns the key of the seal that a new anchor gets: of a key that is kept here, one derived from it, so that
// all anchors with that key have the same.
func (k *Key) sealKey() []byte {
	if _, ok := k.signer.(external); ok || k.signer == nil {
		b := make([]byte, sha256.Size)
		rand.Read(b) // never fails
		return b
	}
	mac := hmac.New(sha256.New, []byte(k.text))
	mac.Write([]byte("weir seal 1"))
	return mac.Sum(nil)
}

// NewKey makes a key that is kept nowhere. The origin names the log: a URL without its scheme is customary; it has
// neither spaces nor plus signs.
func NewKey(origin string) (*Key, error) {
	text, _, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		return nil, fmt.Errorf("making a key for %q: %w", origin, err)
	}
	return parseKey(text)
}

// OpenKey returns the key in the file at path. If there is no file, it makes a key for the origin and keeps it there,
// readable by its owner only; of several processes that do so at once, all get the same key. The origin does not count
// for a key that is there. A file that others may read is refused.
func OpenKey(path, origin string) (*Key, error) {
	k, err := ReadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if k, err = NewKey(origin); err != nil {
		return nil, err
	}
	if err := writeFile(path, k.text+"\n", os.Link); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("writing the key: %w", err)
	}
	return ReadKey(path)
}

// ReadKey returns the key in the file at path.
func ReadKey(path string) (*Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("reading the key: others may read %s: its mode is %#o, not 0600", path, info.Mode().Perm())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	k, err := parseKey(strings.TrimSuffix(string(b), "\n"))
	if err != nil {
		return nil, fmt.Errorf("reading the key %s: %w", path, err)
	}
	k.path = path
	return k, nil
}

// replaceFile puts a file, readable by its owner alone, in the place of one that may be there.
func replaceFile(path, text string) error { return writeFile(path, text, os.Rename) }

// writeFile brings a whole file to path by place, which is os.Link or os.Rename. It is on disk when that returns.
func writeFile(path, text string, place func(from, to string) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := place(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// parseKey reads a signer's key: PRIVATE+KEY+name+hash+base64 of the algorithm and the seed; or a public one.
func parseKey(text string) (*Key, error) {
	if v, err := note.NewVerifier(text); err == nil {
		return &Key{text: text, verifier: text, origin: v.Name()}, nil
	}
	signer, err := note.NewSigner(text)
	if err != nil {
		return nil, errors.New("it is not a signer's key") // the text is secret
	}
	_, last, _ := strings.Cut(strings.TrimPrefix(text, "PRIVATE+KEY+"+signer.Name()), "+")
	_, encoded, _ := strings.Cut(last, "+")
	seed, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return nil, errors.New("it is not a signer's key")
	}
	public := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey)
	verifier, err := note.NewEd25519VerifierKey(signer.Name(), public)
	if err != nil {
		return nil, err
	}
	return &Key{text: text, signer: signer, verifier: verifier, origin: signer.Name()}, nil
}

// Origin returns the name of the log that the key signs.
func (k *Key) Origin() string { return k.origin }

// Verifier returns the public key, as package note encodes it, with which others verify the log.
func (k *Key) Verifier() string { return k.verifier }

// nextSuffix follows the name of a key's file while the log is handed over to the next one.
const nextSuffix = ".next"
