// Package catalogue holds the built-in overlays: facts about the most common servers. Each entry names the source of
// its facts, the date of the research, and whether they were checked against a running server.
//
// [For] returns the overlay of one server, and parses only entries whose text mentions it; [Load] returns all of them.
// An entry applies to a server only if the operator's configuration runs that package, that program or that URL: no
// statement of a server about itself makes an entry apply. Overlays of operators take precedence.
package catalogue

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/overlay"
)

//go:embed *.yaml
var files embed.FS

// A file holds one entry, whose name it has.
type file struct {
	name string // of the entry
	src  []byte
}

// all reads the files, once: they do not change.
var all = sync.OnceValues(func() ([]file, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the catalogue: %w", err)
	}
	read := make([]file, len(names))
	for i, name := range names {
		read[i].name = strings.TrimSuffix(name, ".yaml")
		if read[i].src, err = files.ReadFile(name); err != nil {
			return nil, fmt.Errorf("reading the catalogue: %w", err)
		}
	}
	return read, nil
})

// Load returns all entries, in the order of their files' names. It parses all files.
func Load() (*overlay.Set, error) {
	return pick(func(file) bool { return true })
}

// For returns the built-in overlay of a server; nil if there is none.
func For(server overlay.Server) (*overlay.Overlay, error) {
	s, err := pick(func(f file) bool { return server.MayMatch(f.match()) })
	return s.For(server), err
}

// Named returns the overlay of the entry of that name, for any servers; nil if there is none.
func Named(name string) (*overlay.Overlay, error) {
	s, err := pick(func(f file) bool { return f.name == name })
	return s.Named(name), err
}

// Names returns the names of all entries.
func Names() ([]string, error) {
	files, err := all()
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.name
	}
	return names, err
}

// match returns the part of the text that says which servers the entry is for, and all before; the tests require that
// its tools begin so.
func (f file) match() string {
	text, _, _ := bytes.Cut(f.src, []byte("\n    tools:"))
	return string(text)
}

// pick parses the files that are wanted.
func pick(wanted func(file) bool) (*overlay.Set, error) {
	files, err := all()
	if err != nil {
		return nil, err
	}
	var sets []*overlay.Set
	for _, f := range files {
		if !wanted(f) {
			continue
		}
		s, err := overlay.Load("catalogue/"+f.name+".yaml", f.src)
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return overlay.Join(sets...), nil
}
