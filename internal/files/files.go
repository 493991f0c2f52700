// Package files knows this machine's files, for the guard, which touches none: which are Weir's own, which file a
// server means by a path, and which files are the user's own work.
//
//	ground := files.New(files.Options{Own: []string{"/home/ann/code/weir.yaml"}, Servers: servers, Folders: folders})
//	place := ground.Locate("files", "docs/notes.txt")
//
// It promises:
//
//   - A path is looked up when it is asked about. Where Weir's own files are is kept as long as the system tells of no
//     change on the way to them, see [lasting.Kept]; nothing else is remembered. Between the answer and the server's
//     own look-up the files may change; docs/rough-edges.md says so.
//   - Doubt counts as the worst case: an unknown place is unsure, and a file outside of every known folder is untrusted
//     content.
//   - Files of repositories are read as hostile text, within bounds. Nothing is written, nothing is started.
//
// A server that runs in a container sees the files that are mounted into it, under the names that they have there. Of
// one on another machine nothing is known but the text of a path.
package files

import (
	"sync/atomic"

	"github.com/weir-mcp/weir/guard"
)

// A Current is the ground as it is now. The zero Current knows nothing and says the worst.
type Current struct{ now atomic.Pointer[Ground] }

// Set has the ground count from now on.
func (c *Current) Set(g *Ground) { c.now.Store(g) }

// Ground returns the current ground.
func (c *Current) Ground() *Ground {
	if g := c.now.Load(); g != nil {
		return g
	}
	return New(Options{})
}

// Own implements [guard.Files].
func (c *Current) Own(t guard.Touch) string { return c.Ground().Own(t) }

// Runs implements [guard.Files].
func (c *Current) Runs(t guard.Touch) string { return c.Ground().Runs(t) }

// Locate implements [guard.Files].
func (c *Current) Locate(server, path string) guard.Place { return c.Ground().Locate(server, path) }

// Foreign implements [guard.Files].
func (c *Current) Foreign(server, path string) string { return c.Ground().Foreign(server, path) }

// Inside implements [guard.Files].
func (c *Current) Inside(server, path string, skipped func(name string) bool) string {
	return c.Ground().Inside(server, path, skipped)
}
