package pins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// A Mode is what happens to a tool that was never seen before. The zero Mode pins it as it is.
type Mode uint8

const (
	FirstUse Mode = iota // it is pinned as it is
	Review               // it is held until a person accepts it
)

// Options configures a File.
type Options struct {
	Mode  Mode
	Mutex string // a file by which processes take turns to write; "": the lock's own path with ".mutex" at the end

	Shared Shared // what other machines have pinned; nil: nobody shares these pins
}

// A File is weir.lock, shared by every process that opens it. It may be used concurrently.
type File struct {
	path string
	opts Options

	mu   sync.Mutex
	last Lock // as it was read or written last
	seen fs.FileInfo
}

// Open returns the lock file at path, which need not exist. The error says what is wrong with its content.
func Open(path string, opts Options) (*File, error) {
	if opts.Mutex == "" {
		opts.Mutex = path + ".mutex"
	}
	f := &File{path: path, opts: opts}
	_, err := f.Lock()
	return f, err
}

// Path returns where the file is.
func (f *File) Path() string { return f.path }

// Options returns how the file was opened, with what was left to choose.
func (f *File) Options() Options { return f.opts }

// Lock returns what is pinned now. It must not be changed.
func (f *File) Lock() (Lock, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read()
}

// read returns the content of the file, reading it if it may have changed.
func (f *File) read() (Lock, error) {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.last, f.seen = Lock{}, nil
		return f.last, nil
	case err != nil:
		return nil, fmt.Errorf("reading pins: %w", err)
	case f.seen != nil && os.SameFile(f.seen, info) && f.seen.ModTime().Equal(info.ModTime()) && f.seen.Size() == info.Size():
		return f.last, nil
	}
	src, err := os.ReadFile(f.path)
	if err != nil {
		return nil, fmt.Errorf("reading pins: %w", err)
	}
	lock, err := Parse(src)
	if err != nil {
		return nil, fmt.Errorf("reading pins: %s: %w", f.path, err)
	}
	f.last, f.seen = lock, info
	return lock, nil
}

// Held is a tool whose definition nobody has accepted, or a server's instructions.
type Held struct {
	Server   string
	Tool     string      // [Preamble]: its instructions
	Accepted *Definition // what was accepted; nil if nothing was
	Offered  Definition  // what the server says now
}

// Differences returns what a person has to accept.
func (h Held) Differences() []Difference {
	if h.Accepted == nil {
		return Definition{}.Differences(h.Offered)
	}
	return h.Accepted.Differences(h.Offered)
}

// String says in one line why the tool is held. It quotes nothing of the server but the names of what changed.
func (h Held) String() string {
	if h.Accepted == nil {
		return "its definition was not accepted yet"
	}
	var members []string
	for _, d := range h.Differences() {
		members = append(members, d.Member)
	}
	return "its definition has changed since it was accepted: " + strings.Join(members, ", ")
}

// Check compares a server's tools with their pins and pins those that are new, if the mode says so. It returns the tools
// that are held, by name, and the names of those that it pinned. An error means that nothing is known of any tool.
func (f *File) Check(ctx context.Context, server string, tools []json.RawMessage) (held map[string]Held, pinned []string, err error) {
	offered := map[string]Definition{}
	for _, tool := range tools {
		name, d := Define(tool)
		if _, second := offered[name]; name != "" && !second { // of two with one name the first counts, as it does for hosts
			offered[name] = d
		}
	}
	return f.check(ctx, server, offered)
}

// CheckInstructions is Check for the instructions of a server. It returns those that were accepted, and why the others are held: ""
// if they are not. That a server gives none is pinned too.
func (f *File) CheckInstructions(ctx context.Context, server, text string) (accepted, why string, pinned bool, err error) {
	held, added, err := f.check(ctx, server, map[string]Definition{Preamble: Instructions(text)})
	if err != nil {
		return "", "", false, err
	}
	h, isHeld := held[Preamble]
	switch {
	case !isHeld || text == "": // there is nothing to hold
		return text, "", len(added) > 0, nil
	case h.Accepted == nil:
		return "", "the server's instructions were not accepted yet", false, nil
	}
	return h.Accepted.Text(), "the server's instructions have changed since they were accepted", false, nil
}

func (f *File) check(ctx context.Context, server string, offered map[string]Definition) (held map[string]Held, pinned []string, err error) {
	lock, err := f.Lock()
	if err != nil {
		return nil, nil, err
	}
	held, added := compare(lock, server, offered, f.opts.Mode)
	settled, err := f.settle(ctx, server, held, added)
	if err != nil {
		return nil, nil, err
	}
	if len(added)+len(settled) == 0 {
		return held, nil, nil
	}
	// Another process may have pinned them meanwhile, and differently.
	err = f.change(ctx, func(lock Lock) {
		lock.add(server, settled)
		held, added = compare(lock, server, offered, f.opts.Mode)
		lock.add(server, added)
	})
	return held, slices.Sorted(maps.Keys(added)), err
}

// compare returns what is held of the offered tools, and what is to be pinned.
func compare(lock Lock, server string, offered map[string]Definition, mode Mode) (held map[string]Held, added map[string]Definition) {
	held, added = map[string]Held{}, map[string]Definition{}
	for name, now := range offered {
		was, known := lock[server][name]
		switch {
		case known && len(was.Differences(now)) > 0:
			held[name] = Held{server, name, &was, now}
		case !known && mode == Review:
			held[name] = Held{server, name, nil, now}
		case !known:
			added[name] = now
		}
	}
	return held, added
}

func (l Lock) add(server string, tools map[string]Definition) {
	if l[server] == nil {
		l[server] = map[string]Definition{}
	}
	maps.Copy(l[server], tools)
}

// Accept pins what was held as it is offered.
func (f *File) Accept(ctx context.Context, all []Held) error {
	if err := f.tell(ctx, all); err != nil {
		return err
	}
	return f.change(ctx, func(lock Lock) {
		for _, h := range all {
			lock.add(h.Server, map[string]Definition{h.Tool: h.Offered})
		}
	})
}

// Forget drops the pins of tools that a server does not offer any more, and returns their names.
func (f *File) Forget(ctx context.Context, server string, offered []string) (gone []string, err error) {
	err = f.change(ctx, func(lock Lock) {
		gone = nil
		for name := range lock[server] {
			if name != Preamble && !slices.Contains(offered, name) {
				gone = append(gone, name)
				delete(lock[server], name)
			}
		}
	})
	slices.Sort(gone)
	if err != nil {
		return gone, err
	}
	return gone, f.forget(ctx, server, gone)
}

// change has edit change a copy of the lock and puts it in the place of the file, one process at a time. A crash leaves
// either the old file or the new one.
func (f *File) change(ctx context.Context, edit func(Lock)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(f.opts.Mutex).Lock()
	if err != nil {
		return fmt.Errorf("writing pins: %w", err)
	}
	defer unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	old, err := f.read()
	if err != nil {
		return err
	}
	lock := Lock{}
	for server, tools := range old {
		lock[server] = maps.Clone(tools)
	}
	edit(lock)
	src, err := lock.Encode()
	if err == nil {
		err = replace(f.path, src)
	}
	if err != nil {
		return fmt.Errorf("writing pins: %w", err)
	}
	f.last, f.seen = lock, nil
	return nil
}

// replace puts a new file in the place of path, after its content is on the disk.
func replace(path string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(content)
	if err == nil {
		err = tmp.Chmod(0o644) // it is there to be shared and reviewed
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
