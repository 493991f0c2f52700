// Package files knows this machine's files, for the guard, which touches none: which are Weir's own, what a path means to a
// server, and which files are the user's own work.
//
//	ground := files.New(files.Options{Own: []string{"/home/ann/code/weir.yaml"}, Servers: servers, Folders: folders})
//	place := ground.Locate("files", "docs/notes.txt")
//
// What it promises:
//
//   - A path is looked up when it is asked about, never remembered. Between the answer and the server's own look-up the files may
//     change; docs/rough-edges.md says so.
//   - What cannot be told is told as the worst: a place that is not known is unsure, and a file outside of every known folder is a
//     stranger's.
//   - Files of repositories are read as hostile text, within bounds. Nothing is written, nothing is started.
//
// A server that runs in a container sees the files that are mounted into it, under the names that they have there. Of one on
// another machine nothing is known but the text of a path.
package files

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/guard"
)

// Options are what a Ground knows. Paths are absolute.
type Options struct {
	Own       []string // Weir's own files and folders, with all that is in them; they need not exist
	Processes []int    // Weir's own
	Addresses []string // host:port, where Weir itself serves
	Home      string   // the user's home directory; "" if there is none
	Dir       string   // the working directory of servers that have no other

	Servers map[string]Server // by name

	Folders   []string   // that the operator declares to hold the user's own work
	Confirmed *Confirmed // folders that a person has confirmed; nil: none

	// Strange is told once of each folder, or clone, of which a file was taken for a stranger's, and why; nil: nobody is.
	Strange func(folder, why string)
}

// A Server is where a server works.
type Server struct {
	Command []string // nil: it is reached over a network
	Dir     string   // its working directory; "" is that of the options
	Far     bool     // it is on another machine
}

// A Ground is what is known of this machine's files. It is immutable, but for what is on the disk, and safe for concurrent use.
type Ground struct {
	opts    Options
	servers map[string]site
	folders []string // declared, with links followed

	mu   sync.Mutex
	told map[string]bool // folders that Strange was told of, up to maxTold
}

// New returns a ground.
func New(opts Options) *Ground {
	g := &Ground{opts: opts, servers: map[string]site{}, told: map[string]bool{}}
	for name, s := range opts.Servers {
		g.servers[name] = g.site(s)
	}
	for _, f := range opts.Folders {
		g.folders = append(g.folders, follow(f, "").path)
	}
	return g
}

// A Current is the ground as it is now. The zero Current knows nothing and says the worst.
type Current struct{ now atomic.Pointer[Ground] }

// Set has the ground count from now on.
func (c *Current) Set(g *Ground) { c.now.Store(g) }

// Ground returns what counts now.
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

// within reports whether a path is a folder or below it.
func within(path, folder string) bool {
	if equalNames(path, folder) {
		return true
	}
	folder = strings.TrimSuffix(folder, sep) + sep
	return len(path) > len(folder) && equalNames(path[:len(folder)], folder)
}

const sep = string(filepath.Separator)

// foldsNames is whether file systems of this machine by custom take names that differ in case for one.
const foldsNames = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// equalNames compares paths as the machine's file systems do by custom.
func equalNames(a, b string) bool { return a == b || foldsNames && strings.EqualFold(a, b) }

// parents returns a path and the folders around it, the innermost first.
func parents(path string) (all []string) {
	for {
		all = append(all, path)
		up := filepath.Dir(path)
		if up == path {
			return all
		}
		path = up
	}
}

func appendNew(all []string, more ...string) []string {
	for _, s := range more {
		if s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
