package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// A Vault keeps grants: a file for each server, in one directory of mode 0700. Without a keyring the file holds the
// secrets too; its mode is 0600. All methods may be called concurrently, from several processes.
type Vault struct {
	Dir  string // is made when it is needed
	Ring Ring   // nil is none
}

// A Ring is a keyring. It may ask the user to unlock it, for as long as the context allows.
type Ring interface {
	Get(ctx context.Context, key string) (string, error)
	Set(ctx context.Context, key, value string) error
	Delete(ctx context.Context, key string) error
}

const (
	maxGrant = 8 << 20               // bytes of a file
	lockPoll = 10 * time.Millisecond // how often a lock that another process holds is tried
	ringWait = 30 * time.Second      // for the keyring, which may ask the user for a password
	version  = 1                     // of the files
	others   = fs.FileMode(0o077)    // the permissions that a file must not have
)

// A stored is the file of a grant.
type stored struct {
	Version int `json:"version"`
	*Grant
}

// key names a server's grant in the directory and in the keyring.
func key(server string) string {
	sum := sha256.Sum256([]byte(canonical(server)))
	return hex.EncodeToString(sum[:16])
}

func (v *Vault) path(server string) string {
	return filepath.Join(v.Dir, key(server)+".json")
}

// Load returns the grant for a server; nil if there is none.
func (v *Vault) Load(ctx context.Context, server string) (*Grant, error) {
	g, err := v.read(server)
	if err != nil {
		return nil, fmt.Errorf("reading the login: %w", err)
	}
	if g == nil || g.Place != Keyring {
		return g, nil
	}
	if v.Ring == nil {
		return nil, errors.New("reading the login: its tokens are in a keyring that cannot be reached from here")
	}
	ctx, cancel := context.WithTimeout(ctx, ringWait)
	defer cancel()
	text, err := v.Ring.Get(ctx, key(server))
	if err == nil {
		err = json.Unmarshal([]byte(text), &g.Secret)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the login from the keyring: %w", withoutSecrets(err, text))
	}
	return g, nil
}

// Look returns the grant for a server without its secrets in the keyring; nil if there is none.
func (v *Vault) Look(server string) (*Grant, error) {
	g, err := v.read(server)
	if err != nil {
		return nil, fmt.Errorf("reading the login: %w", err)
	}
	return g, nil
}

// read reads the file of a grant.
func (v *Vault) read(server string) (*Grant, error) {
	f, err := os.Open(v.path(server))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode()&others != 0 {
		return nil, fmt.Errorf("%s can be read by others (mode %v)", f.Name(), info.Mode())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxGrant))
	if err != nil {
		return nil, err
	}
	g, err := parseGrant(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if g.Server != canonical(server) {
		return nil, fmt.Errorf("%s is for another server", f.Name())
	}
	return g, nil
}

// parseGrant decodes the file of a grant. Its errors quote nothing of it.
func parseGrant(data []byte) (*Grant, error) {
	s := stored{Grant: &Grant{}}
	if json.Unmarshal(data, &s) != nil || s.Grant == nil {
		return nil, errors.New("not the file of a login")
	}
	if s.Version != version {
		return nil, fmt.Errorf("version %d is not known to this weir", s.Version)
	}
	return s.Grant, nil
}

// Save keeps a grant where its Place says, or in the file if the keyring does not take it, and sets Place accordingly.
func (v *Vault) Save(ctx context.Context, g *Grant) error {
	inFile := *g
	if g.Place == Keyring && v.toRing(ctx, g) == nil {
		inFile.Secret = Secret{}
	} else {
		g.Place, inFile.Place = File, File
	}
	data, err := json.MarshalIndent(stored{version, &inFile}, "", "  ")
	if err == nil {
		err = v.write(v.path(g.Server), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keeping the login: %w", err)
	}
	return nil
}

func (v *Vault) toRing(ctx context.Context, g *Grant) error {
	if v.Ring == nil {
		return errors.New("no keyring")
	}
	text, err := json.Marshal(g.Secret)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ringWait)
	defer cancel()
	return v.Ring.Set(ctx, key(g.Server), string(text))
}

// write puts data in the place of a file, whole or not at all.
func (v *Vault) write(path string, data []byte) (err error) {
	if err := os.MkdirAll(v.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(v.Dir, "new-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Remove forgets the grant for a server. There need not be one.
func (v *Vault) Remove(ctx context.Context, server string) error {
	g, err := v.read(server)
	if err == nil && g != nil && g.Place == Keyring && v.Ring != nil {
		within, cancel := context.WithTimeout(ctx, ringWait)
		defer cancel()
		err = v.Ring.Delete(within, key(server))
	}
	if gone := os.Remove(v.path(server)); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if err != nil {
		return fmt.Errorf("forgetting the login: %w", err)
	}
	return nil
}

// Lock waits until no other process changes the grant for a server, and keeps others from it until unlock is called.
func (v *Vault) Lock(ctx context.Context, server string) (unlock func(), err error) {
	if err := os.MkdirAll(v.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("locking the login: %w", err)
	}
	lock := flock.New(filepath.Join(v.Dir, key(server)+".lock"), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("locking the login: %w", err)
	}
	return func() { _ = lock.Close() }, nil
}

// A sight is a file as it was seen; nil if there was none.
type sight struct{ fs.FileInfo }

// see looks at a file.
func see(path string) sight {
	info, err := os.Stat(path)
	if err != nil {
		return sight{}
	}
	return sight{info}
}

// same reports whether nothing has changed since another look.
func (s sight) same(other sight) bool {
	if s.FileInfo == nil || other.FileInfo == nil {
		return s.FileInfo == nil && other.FileInfo == nil
	}
	return os.SameFile(s.FileInfo, other.FileInfo) && s.ModTime().Equal(other.ModTime()) && s.Size() == other.Size()
}
