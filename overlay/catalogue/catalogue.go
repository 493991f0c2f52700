// Package catalogue is the overlays that come with Weir: what is known of the servers that people run most. Each entry says
// where its facts come from, when they were looked up, and whether they were checked against a running server.
//
// [Load] returns them all. An entry applies to a server only if the operator's configuration runs that package, that program or that
// URL: nothing that a server says of itself makes an entry apply. What operators say themselves comes before.
package catalogue

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"

	"github.com/weir-mcp/weir/overlay"
)

//go:embed *.yaml
var files embed.FS

// loaded reads the files once: they do not change.
var loaded = sync.OnceValues(func() (*overlay.Set, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the catalogue: %w", err)
	}
	var sets []*overlay.Set
	for _, name := range names {
		src, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading the catalogue: %w", err)
		}
		s, err := overlay.Load("catalogue/"+name, src)
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return overlay.Join(sets...), nil
})

// Load returns all entries, in the order of their files' names. It reads the files once.
func Load() (*overlay.Set, error) { return loaded() }
