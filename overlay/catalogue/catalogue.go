// Package catalogue holds the built-in overlays: facts about the most common servers. Each entry names the source of
// its facts, the date of the research, and whether they were checked against a running server.
//
// [For] returns the overlay of one server, and reads only the entries that it needs; [Load] returns all of them. An
// entry applies to a server only if the operator's configuration runs that package, that program or that URL: no
// statement of a server about itself makes an entry apply. Overlays of operators take precedence.
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
	head *overlay.Set // the entry without its tools, resources and prompts
}

// heads reads from every file which servers it is for, once: the files do not change. That is a tenth of their text.
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
		head, _, _ := bytes.Cut(f.src, []byte("\n    tools:")) // the tests require that the removed part begins here
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

// For returns the built-in overlay of a server; nil if there is none.
func For(server overlay.Server) (*overlay.Overlay, error) {
	s, err := pick(func(f file) bool { return f.head.For(server) != nil })
	return s.For(server), err
}

// Named returns the overlay of the entry of that name, for any servers; nil if there is none.
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
