package home

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/oauth"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/remedy"
)

// Vault returns where logins are kept.
func (e *Env) Vault() (*oauth.Vault, error) {
	dir, err := e.StateDir()
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("no place for logins: neither XDG_STATE_HOME nor HOME is set"), "set one of them")
	}
	v := &oauth.Vault{Dir: filepath.Join(dir, "tokens")}
	if e.hasKeyring() {
		v.Ring = oauth.SystemRing{}
	}
	return v, nil
}

// hasKeyring reports whether there may be a keyring. Asking for one where no session bus is would start one.
func (e *Env) hasKeyring() bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	bus, _ := e.Getenv("DBUS_SESSION_BUS_ADDRESS")
	return bus != ""
}

// Conversations returns the book of the conversations of hosts on this machine; nil if there is no place for it.
func (e *Env) Conversations() *conversation.Book {
	dir, err := e.StateDir()
	if err != nil {
		return nil
	}
	return conversation.Open(filepath.Join(dir, "conversations"))
}

// Begun returns the book of the conversations of hosts that were seen to begin; nil if there is no place for it.
func (e *Env) Begun() *conversation.Book {
	dir, err := e.StateDir()
	if err != nil {
		return nil
	}
	return conversation.Open(filepath.Join(dir, "begun"))
}

// Confirmed returns the file of folders that a person has confirmed; nil if there is no place for it.
func (e *Env) Confirmed() *files.Confirmed {
	dir, err := e.StateDir()
	if err != nil {
		return nil
	}
	return files.OpenConfirmed(filepath.Join(dir, files.ConfirmedName))
}

// StateDir returns the directory where weir keeps its state, as the XDG Base Directory
// Specification has it.
func (e *Env) StateDir() (string, error) {
	if dir, _ := e.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "weir"), nil
	}
	if home, _ := e.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "weir"), nil
	}
	return "", remedy.Usage(errors.New("no place for the state: neither XDG_STATE_HOME nor HOME is set"),
		"set HOME, or name a file with --store")
}

// OwnerDir returns the directory of the socket of the process that owns the agent sessions, see package owner.
func (e *Env) OwnerDir() (string, error) {
	dir, err := e.StateDir()
	return filepath.Join(dir, "owner"), err
}

// RunDir returns the directory where running processes can be asked: for as long as the user is logged in, as the XDG
// Base Directory Specification has it, else in the state directory.
func (e *Env) RunDir() (string, error) {
	if dir, _ := e.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "weir"), nil
	}
	dir, err := e.StateDir()
	if err != nil {
		return "", remedy.Usage(fmt.Errorf("no place where running processes could be found"),
			"set XDG_RUNTIME_DIR, XDG_STATE_HOME or HOME")
	}
	return filepath.Join(dir, "run"), nil
}

// CapturePath returns the file of the key that reads captured content: beside the store's file, or in the state
// directory.
func (e *Env) CapturePath(target string) (string, error) {
	if !strings.Contains(target, "://") {
		return target + ".capture", nil
	}
	dir, err := e.StateDir()
	return filepath.Join(dir, "capture.key"), err
}

// StorePlace returns where a store is; "" is the default place.
func (e *Env) StorePlace(place string) (string, error) {
	if place != "" {
		return place, nil
	}
	dir, err := e.StateDir()
	return filepath.Join(dir, "state.db"), err
}

// AnchorsDir returns the directory of the anchors of all logs, which no store is in: that of the user's data, as the
// XDG Base Directory Specification has it.
func (e *Env) AnchorsDir() (string, error) {
	if dir, _ := e.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "weir", "audit"), nil
	}
	if home, _ := e.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "weir", "audit"), nil
	}
	return "", remedy.Usage(errors.New("no place for the anchor of the log: neither XDG_DATA_HOME nor HOME is set"), "set one of them, or record: none")
}

// AnchorDir returns the directory of the anchor of the log in a store.
func (e *Env) AnchorDir(target string) (string, error) {
	dir, err := e.AnchorsDir()
	if err != nil {
		return "", err
	}
	name, err := anchorName(target)
	return filepath.Join(dir, name), err
}

var oddInName = pattern.New(`[^A-Za-z0-9._-]`)

// anchorName returns the name of the anchor of the log in a store: the store's, and a digest of its whole place. Who
// asks a database server, and how, does not count.
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
	return oddInName().ReplaceAllString(path.Base(filepath.ToSlash(target)), "_") + "-" + hex.EncodeToString(sum[:8]), nil
}
