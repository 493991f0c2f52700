// Package conversation keeps, beside the store, the conversations of hosts on this machine: which host and folder each
// belongs to, and which agent session counts in it after a person has begun a new one.
//
// A host on stdio often names no conversation, or the same one after its user has begun another. So the agent session
// of such a conversation goes on, with its label, until a person begins a new one (weir session new): then the
// conversation has a new generation, and the agent session of that has another key.
//
//	book := conversation.Open(dir)
//	note, err := book.Enter("local/folder:/home/ann/site", conversation.Note{Host: "gemini-cli", Folder: "/home/ann/site"})
//	note.Session() // "local/folder:/home/ann/site", or "local/folder:/home/ann/site#GENERATION"
//	note, err = book.Renew(note.Key, time.Now(), record)
//
// Each conversation is one file, named by the digest of its key, which is replaced whole or not at all. A file that
// cannot be read is an error, and no new conversation: which agent session counts is not known then.
package conversation

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/internal/plain"
)

// mark stands between a key and its generation. No key has one of its own.
const mark = "#"

const (
	version   = 1
	suffix    = ".json"
	maxCached = 1024 // conversations that are remembered without reading their file again
)

// A Note is what is known of a conversation.
type Note struct {
	Key        string    `json:"key"`                  // of the agent session in the first generation
	Generation string    `json:"generation,omitempty"` // of the present one; "" for the first
	Host       string    `json:"host,omitempty"`       // as the host calls itself; hostile to whoever prints it
	Folder     string    `json:"folder,omitempty"`     // in which the host started Weir
	Began      time.Time `json:"began"`                // the generation
}

// Session returns the key of the agent session that counts.
func (n Note) Session() string {
	if n.Generation == "" {
		return n.Key
	}
	return n.Key + mark + n.Generation
}

// Of says for people whose conversation it is: which host's, and where.
func (n Note) Of() string {
	host := n.Host
	if host == "" {
		host = "a host without a name"
	}
	return plain.Text(host, 60) + " in " + plain.Text(n.Folder, 200)
}

// KeyOf returns the key of the conversation to which the agent session with a key belongs.
func KeyOf(session string) string {
	key, _, _ := strings.Cut(session, mark)
	return key
}

// A Book is the directory of all notes. It is safe for concurrent use, by several processes too. A nil Book has none,
// and takes none.
type Book struct {
	dir string

	mu     sync.Mutex
	cached *bounded.Map[string, cached]
}

type cached struct {
	path string
	file fs.FileInfo
	note Note
}

// Open returns the book in a directory, which need not exist.
func Open(dir string) *Book {
	return &Book{dir: dir, cached: bounded.NewMap[string, cached](maxCached)}
}

type file struct {
	Version int `json:"v"`
	Note
}

// Enter returns the note of the conversation with a key, and makes one with the host and folder of about if there is
// none. A note that cannot be written says no more than that the conversation is in its first generation, so that is no
// error.
func (b *Book) Enter(key string, about Note) (Note, error) {
	n, ok, err := b.Find(key)
	if err != nil || ok {
		return n, err
	}
	if about.Key, about.Generation = key, ""; b == nil {
		return about, nil
	}
	if b.write(about, os.Link) != nil {
		if n, ok, err = b.Find(key); err != nil || ok { // another process was first
			return n, err
		}
	}
	return about, nil
}

// Renew begins a new generation of a conversation that there is a note of, once record has written that down. The error
// is [fs.ErrNotExist] if there is none.
func (b *Book) Renew(key string, now time.Time, record func(Note) error) (Note, error) {
	n, ok, err := b.Find(key)
	if err != nil {
		return Note{}, err
	}
	if !ok {
		return Note{}, fmt.Errorf("no conversation %q: %w", key, fs.ErrNotExist)
	}
	n.Generation, n.Began = rand.Text()[:10], now.UTC()
	if err := record(n); err != nil {
		return Note{}, err
	}
	return n, b.write(n, os.Rename)
}

// Prune removes notes that were made before a time, but those of a later generation: without its note a conversation
// would be in its first generation again, which is another agent session.
func (b *Book) Prune(before time.Time) error {
	if b == nil {
		return nil
	}
	entries, err := os.ReadDir(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue
		}
		path := filepath.Join(b.dir, e.Name())
		if n, err := read(path); filepath.Ext(path) == suffix && (err != nil || n.Generation != "") {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (b *Book) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(b.dir, hex.EncodeToString(sum[:16])+suffix)
}

// Find returns the note of the conversation with a key; false if there is none. It reads the file if that has changed.
func (b *Book) Find(key string) (Note, bool, error) {
	if b == nil {
		return Note{}, false, nil
	}
	b.mu.Lock()
	c, ok := b.cached.Get(key)
	b.mu.Unlock()
	path := c.path
	if !ok {
		path = b.path(key)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Note{}, false, nil
	}
	if err != nil {
		return Note{}, false, fmt.Errorf("reading a conversation: %w", err)
	}
	if ok && os.SameFile(c.file, info) && c.file.ModTime().Equal(info.ModTime()) && c.file.Size() == info.Size() {
		return c.note, true, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := read(path)
	if err == nil && n.Key != key {
		err = fmt.Errorf("%s: it is the note of another conversation", path)
	}
	if err != nil {
		return Note{}, false, fmt.Errorf("reading the conversation %q: %w", key, err)
	}
	b.cached.Set(key, cached{path, info, n})
	return n, true, nil
}

func read(path string) (Note, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return Note{}, err
	}
	var f file
	if err := json.Unmarshal(src, &f); err != nil {
		return Note{}, fmt.Errorf("%s: %w", path, err)
	}
	if f.Version != version {
		return Note{}, fmt.Errorf("%s: version %d is not known to this weir", path, f.Version)
	}
	return f.Note, nil
}

// write writes a note that only its user may read, and puts it in its place.
func (b *Book) write(n Note, place func(from, to string) error) error {
	text, err := json.Marshal(file{version, n})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(b.dir, "note.*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(append(text, '\n'))
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return place(temp.Name(), b.path(n.Key))
}
