package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
)

// OpenAnchor opens the anchor of the log in a store, and makes it if there is none. The signer is nil if a key in it signs.
func OpenAnchor(env *home.Env, target string, signer *audit.Key, log *slog.Logger) (*audit.Anchor, error) {
	dir, err := env.AnchorDir(target)
	if err != nil {
		return nil, err
	}
	if err := takeKeyOver(env, target, dir, log); err != nil {
		return nil, fmt.Errorf("taking the key of the log over: %w", err)
	}
	a, err := audit.OpenAnchor(dir, "weir/"+strings.ToLower(rand.Text()), signer)
	if errors.Is(err, audit.ErrKey) {
		return nil, remedy.Failure(err, "audit.signer has to be configured before the first start on a store; name another store, or leave it out")
	}
	return a, err
}

// takeKeyOver brings the key that an earlier weir kept beside the store, or in the state directory, to the anchor.
func takeKeyOver(env *home.Env, target, dir string, log *slog.Logger) error {
	key := filepath.Join(dir, "key")
	if _, err := os.Lstat(key); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old, place := target+".key", os.Rename
	if strings.Contains(target, "://") {
		state, err := env.StateDir()
		if err != nil {
			return nil // there was none
		}
		old, place = filepath.Join(state, "audit.key"), home.CopyFile // other databases may use it too
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
		if err := home.CopyFile(old, key); err != nil {
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

// ReadAnchor returns the anchor of the log in a store; nil if there is none that may be read.
func ReadAnchor(env *home.Env, target string) (*audit.Anchor, error) {
	dir, err := env.AnchorDir(target)
	if err != nil {
		return nil, err
	}
	a, err := audit.ReadAnchor(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	return a, err
}
