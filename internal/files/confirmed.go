package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// ConfirmedName is the name of the file of confirmed folders, in Weir's state directory: never in a folder that is
// judged by it.
const ConfirmedName = "folders.json"

// A Folder is one that a person has confirmed to hold the user's own work.
type Folder struct {
	Path      string    `json:"path"`    // absolute, with links followed
	Remotes   []string  `json:"remotes"` // of the clone that was confirmed; if these change, it has to be confirmed again
	Confirmed time.Time `json:"confirmed"`
}

// Confirmed is the file of confirmed folders. A nil Confirmed has none. It is safe for concurrent use.
type Confirmed struct {
	path string

	mu   sync.Mutex
	read fs.FileInfo // as the file was when it was read; nil: it was not there
	all  []Folder
}

// OpenConfirmed returns the file at path, which need not exist.
func OpenConfirmed(path string) *Confirmed { return &Confirmed{path: path} }

// All returns the folders, in the order of their paths. A file that cannot be read confirms nothing.
func (c *Confirmed) All() []Folder {
	if c == nil {
		return nil
	}
	all, _ := c.load()
	return all
}

type confirmedFile struct {
	Version int      `json:"v"`
	Folders []Folder `json:"folders"`
}

// load reads the file if it has changed.
func (c *Confirmed) load() ([]Folder, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		c.read, c.all = nil, nil
		return nil, nil
	}
	if err != nil {
		c.read, c.all = nil, nil
		return nil, err
	}
	if c.read != nil && os.SameFile(c.read, info) && c.read.ModTime().Equal(info.ModTime()) && c.read.Size() == info.Size() {
		return c.all, nil
	}
	c.read, c.all = nil, nil
	src, err := os.ReadFile(c.path)
	if err != nil {
		return nil, err
	}
	var f confirmedFile
	if err := json.Unmarshal(src, &f); err != nil {
		return nil, fmt.Errorf("reading %s: %w", c.path, err)
	}
	if f.Version != 1 {
		return nil, fmt.Errorf("reading %s: version %d is not known to this weir", c.path, f.Version)
	}
	c.read, c.all = info, f.Folders
	return c.all, nil
}

// Look returns a folder as it is now, with the remotes it is a clone of, for the user to confirm.
func Look(path string, now time.Time) (Folder, error) {
	e := follow(path)
	if e.node.kind != folder {
		return Folder{}, fmt.Errorf("%s is no folder", path)
	}
	f := Folder{Path: e.path, Confirmed: now.UTC()}
	if root, ok := repositoryOf(e.path); ok && root == e.path {
		f.Remotes = remotesOf(e.path)
	}
	return f, nil
}

// Add adds a folder that a person has confirmed as it was.
func (c *Confirmed) Add(f Folder) error {
	return c.change(func(all []Folder) []Folder { return append(without(all, f.Path), f) })
}

// Remove takes a folder out, and reports whether it was there.
func (c *Confirmed) Remove(path string) (removed bool, err error) {
	end := follow(path).path
	err = c.change(func(all []Folder) []Folder {
		left := without(without(all, end), filepath.Clean(path))
		removed = len(left) < len(all)
		return left
	})
	return removed, err
}

func without(all []Folder, path string) []Folder {
	return slices.DeleteFunc(slices.Clone(all), func(f Folder) bool { return f.Path == path })
}

// change writes the file anew, whole or not at all.
func (c *Confirmed) change(edit func([]Folder) []Folder) error {
	all, err := c.load()
	if err != nil {
		return err
	}
	all = edit(all)
	slices.SortFunc(all, func(a, b Folder) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	text, err := json.MarshalIndent(confirmedFile{1, all}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(c.path), ConfirmedName+".*") // which only its user may read
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(append(text, '\n'))
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), c.path)
}
