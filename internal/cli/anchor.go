package cli

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// anchorsDir returns the directory of the anchors of all logs, which no store is in: that of the user's data, as the XDG Base Directory
// Specification has it.
func (e *Env) anchorsDir() (string, error) {
	if dir, _ := e.getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "weir", "audit"), nil
	}
	if home, _ := e.getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "weir", "audit"), nil
	}
	return "", remedy.Usage(errors.New("no place for the anchor of the log: neither XDG_DATA_HOME nor HOME is set"), "set one of them, or record: none")
}

// anchorDir returns the directory of the anchor of the log in a store.
func (e *Env) anchorDir(target string) (string, error) {
	dir, err := e.anchorsDir()
	if err != nil {
		return "", err
	}
	name, err := anchorName(target)
	return filepath.Join(dir, name), err
}

var oddInName = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// anchorName returns the name of the anchor of the log in a store: the store's, and a digest of its whole place. Who asks a database
// server, and how, does not count.
func anchorName(target string) (string, error) {
	place := target
	if strings.Contains(target, "://") {
		u, err := url.Parse(target)
		if err != nil {
			return "", errors.New("the store's URL cannot be read") // a password may be in it
		}
		q := url.Values{}
		for _, name := range []string{"host", "port", "dbname", "search_path"} {
			if v := u.Query().Get(name); v != "" {
				q.Set(name, v)
			}
		}
		place = "postgres://" + u.Host + u.Path + "?" + q.Encode()
		target = u.Path
	} else {
		abs, err := filepath.Abs(target)
		if err != nil {
			return "", err
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
			abs = filepath.Join(dir, filepath.Base(abs))
		}
		place = abs
	}
	sum := sha256.Sum256([]byte(place))
	return oddInName.ReplaceAllString(path.Base(filepath.ToSlash(target)), "_") + "-" + hex.EncodeToString(sum[:8]), nil
}

// openAnchor opens the anchor of the log in a store, and makes it if there is none. The signer is nil if a key in it signs.
func (e *Env) openAnchor(target string, signer *audit.Key, log *slog.Logger) (*audit.Anchor, error) {
	dir, err := e.anchorDir(target)
	if err != nil {
		return nil, err
	}
	if err := e.takeKeyOver(target, dir, log); err != nil {
		return nil, fmt.Errorf("taking the key of the log over: %w", err)
	}
	a, err := audit.OpenAnchor(dir, "weir/"+strings.ToLower(rand.Text()), signer)
	if errors.Is(err, audit.ErrKey) {
		return nil, remedy.Failure(err, "audit.signer has to be configured before the first start on a store; name another store, or leave it out")
	}
	return a, err
}

// takeKeyOver brings the key that an earlier weir kept beside the store, or in the state directory, to the anchor.
func (e *Env) takeKeyOver(target, dir string, log *slog.Logger) error {
	key := filepath.Join(dir, "key")
	if _, err := os.Lstat(key); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old, place := target+".key", os.Rename
	if strings.Contains(target, "://") {
		state, err := e.stateDir()
		if err != nil {
			return nil // there was none
		}
		old, place = filepath.Join(state, "audit.key"), copyFile // other databases may use it too
	}
	if _, err := audit.ReadKey(old); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := place(old, key); err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) { // another process did
			return nil
		}
		if err := copyFile(old, key); err != nil {
			return err
		}
		if err := os.Remove(old); err != nil {
			return err
		}
	}
	if log != nil {
		log.Info("the key of the log is kept with its anchor now", "from", old, "to", key)
	}
	return nil
}

// readAnchor returns the anchor of the log in a store; nil if there is none that may be read.
func (e *Env) readAnchor(target string) (*audit.Anchor, error) {
	dir, err := e.anchorDir(target)
	if err != nil {
		return nil, err
	}
	a, err := audit.ReadAnchor(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	return a, err
}

// damagedHint says how to go on with a log that does not extend its anchor.
const damagedHint = "see weir audit verify; then restore a backup, or take over what is left with weir audit adopt"

// anchorHint returns an error of opening a log under its anchor with how to go on; nil if it is none.
func anchorHint(err error, opts *sqlstore.Options) error {
	switch {
	case opts == nil || opts.Anchor == nil:
	case errors.Is(err, audit.ErrKey):
		dir := opts.Anchor.Dir()
		return remedy.Failure(err, "every weir on one store needs the same key: copy it to "+filepath.Join(dir, "key")+
			"; if the store was moved, move its anchor to "+dir)
	case errors.Is(err, audit.ErrDamaged):
		return remedy.Failure(err, damagedHint)
	}
	return nil
}
