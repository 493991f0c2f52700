package files

import (
	"sync"

	"github.com/weir-mcp/weir/internal/lasting"
)

// Options are the settings of a Ground. Paths are absolute.
type Options struct {
	Own       []string // Weir's own files and folders, with all that is in them; they need not exist
	Processes []int    // Weir's own
	Addresses []string // host:port, where Weir itself serves
	Home      string   // the user's home directory; "" if there is none
	Dir       string   // the working directory of servers that have no other

	Servers map[string]Server // by name

	Folders   []string   // that the operator declares to hold the user's own work
	Confirmed *Confirmed // folders that a person has confirmed; nil: none

	// Strange is called once for each folder, or clone, with a file that counted as untrusted content, and why; it may
	// be nil.
	Strange func(folder, why string)
}

// A Ground is the knowledge of this machine's files. It is immutable, apart from the disk, and safe for concurrent use.
type Ground struct {
	places
	endpoints []endpoint
	opts      Options
	owns      []ownName // of the options
	stands    lasting.Kept[*standing]
	folders   []string  // declared, with links followed
	disks     sync.Pool // of earlier calls, emptied

	mu   sync.Mutex
	told map[string]bool // folders that Strange was told of, up to maxTold
}

// New returns a ground.
func New(opts Options) *Ground {
	g := &Ground{places: newPlaces(opts), opts: opts, endpoints: endpoints(opts.Addresses), told: map[string]bool{}}
	for _, name := range opts.Own {
		g.owns = append(g.owns, newOwnName(name))
	}
	for _, f := range opts.Folders {
		g.folders = append(g.folders, follow(f).path)
	}
	return g
}
