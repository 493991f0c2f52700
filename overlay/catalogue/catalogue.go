// Package catalogue is the overlays that come with Weir: what is known of the servers that people run most. Each entry says
// where its facts come from, when they were looked up, and whether they were checked against a running server.
//
// [For] returns what is said of one server, and reads no more of the catalogue than it has to; [Load] returns all of it. An
// entry applies to a server only if the operator's configuration runs that package, that program or that URL: nothing that a
// server says of itself makes an entry apply. What operators say themselves comes before.
package catalogue

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"sync"

	"github.com/weir-mcp/weir/overlay"
)

//go:embed *.yaml
var files embed.FS

// A file holds one entry.
type file struct {
	name string
	src  []byte
	head *overlay.Set // the entry without what it says of tools, resources and prompts
}

// heads reads of every file what servers it is for, once: the files do not change. It is a tenth of them.
var heads = sync.OnceValues(readHeads)

func readHeads() ([]file, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the catalogue: %w", err)
	}
	all := make([]file, len(names))
	for i, name := range names {
		f := file{name: "catalogue/" + name}
		if f.src, err = files.ReadFile(name); err != nil {
			return nil, fmt.Errorf("reading the catalogue: %w", err)
		}
		head, _, _ := bytes.Cut(f.src, []byte("\n    tools:")) // the tests want this to be the first of what is cut off
		if f.head, err = overlay.Load(f.name, head); err != nil {
			return nil, err
		}
		all[i] = f
	}
	return all, nil
}

// Load returns all entries, in the order of their files' names. It reads all files.
func Load() (*overlay.Set, error) {
	return pick(func(file) bool { return true })
}

// For returns what the catalogue says of a server; nil if nothing.
func For(server overlay.Server) (*overlay.Overlay, error) {
	s, err := pick(func(f file) bool { return f.head.For(server) != nil })
	return s.For(server), err
}

// Named returns what the entry of that name says, whichever servers it is for; nil if there is none.
func Named(name string) (*overlay.Overlay, error) {
	s, err := pick(func(f file) bool { return f.head.Named(name) != nil })
	return s.Named(name), err
}

// Names returns the names of all entries.
func Names() ([]string, error) {
	all, err := heads()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range all {
		for _, e := range f.head.Entries() {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// pick reads the files that are wanted.
func pick(wanted func(file) bool) (*overlay.Set, error) {
	all, err := heads()
	if err != nil {
		return nil, err
	}
	var sets []*overlay.Set
	for _, f := range all {
		if !wanted(f) {
			continue
		}
		s, err := overlay.Load(f.name, f.src)
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return overlay.Join(sets...), nil
}
