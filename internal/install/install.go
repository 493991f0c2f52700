// Package install puts the servers that MCP hosts have behind Weir, and takes them out again.
//
//	in := install.New(install.Options{Machine: machine, State: dir, Exe: "/usr/local/bin/weir"})
//	plan, err := in.Plan(install.Selection{})
//	for _, f := range plan.Files {
//		err = in.Apply(f) // after a person agreed to f.Diff()
//	}
//
// In each list of servers of a host, the servers give way to one entry that runs Weir with a configuration of its own, which has
// these servers. What Weir cannot carry over stays where it is, with the reason.
//
// What it promises:
//
//   - Before a file of a host changes, a record with its bytes is in the journal. [Installer.Remove] restores these bytes, or if
//     the host has rewritten the file meanwhile, undoes the own change in the text as it is.
//   - Writes are atomic, keep mode and owner, go to where a link leads, and happen only if the file is still as it was read.
//   - Configurations and journal are readable by their user only. Values with a reference that the host resolves stay in the host's
//     file, in the variables of Weir's entry: so the host resolves them as before.
//   - Files of projects are hostile: bounded, never followed out of the project, and changed only when the project is named.
//     Files of administrators are never changed.
package install

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/weir-mcp/weir/internal/hosts"
)

// Options say where things are. Paths are absolute.
type Options struct {
	Machine hosts.Machine
	State   string            // Weir's state directory
	Exe     string            // the weir that hosts are to run
	Env     map[string]string // variables that Weir needs beyond those that hosts give it
	Now     func() time.Time  // nil: time.Now
}

// An Installer plans and makes changes. It is not safe for concurrent use.
type Installer struct {
	opts    Options
	journal journal
}

// New returns an installer.
func New(opts Options) *Installer {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Installer{opts, journal(filepath.Join(opts.State, "install"))}
}

// A Selection says which hosts are meant.
type Selection struct {
	Hosts   []string // ids; none: all
	Project string   // the absolute path of a project whose files are meant too; "": files of projects are left alone
}

func (s Selection) has(id string) bool { return len(s.Hosts) == 0 || slices.Contains(s.Hosts, id) }

// A Plan is a set of changes that were not made yet.
type Plan struct {
	Files []*File // every file of a selected host that is there and has servers
	Notes []Note
}

// A Note tells of a host that is not changed, and why.
type Note struct {
	Host string `json:"host"`
	Path string `json:"path,omitempty"`
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
	Bad  bool   `json:"bad"` // servers of the host pass Weir by
}

// A File is one file of a host.
type File struct {
	Path   string // as the host knows it
	Format hosts.Format
	Parts  []Part

	spec   spec
	target string // where links lead
	before []byte
	after  []byte
}

// Changes reports whether the file is to change.
func (f *File) Changes() bool { return string(f.before) != string(f.after) }

// A Part is one list of servers in a file.
type Part struct {
	Host    string
	Scope   hosts.Scope
	Project string   // of the scopes local and project
	List    []string // the members that lead to the list
	Entry   string   // the name of Weir's entry
	Config  string   // the configuration that it runs
	Taken   []Taken  // servers that go behind Weir
	Left    []Left   // servers that pass Weir by
	Behind  []string // names of entries that are Weir already
	Stale   string   // the fault of Weir's entry that the change repairs; "" if there is none

	Installed bool              // Weir's entry for this list is there
	Vars      map[string]string // variables of that entry

	add        bool // Weir's entry is new
	configText []byte
}

// A Taken is a server that goes behind Weir.
type Taken struct {
	Name   string `json:"name"` // as the host has it
	As     string `json:"as"`   // as weir.yaml has it
	Remote bool   `json:"remote,omitempty"`
	Login  bool   `json:"login,omitempty"` // it may want weir login

	value []byte
}

// A Left is a server that stays where it is.
type Left struct {
	Name     string `json:"name"`
	Why      string `json:"why"`
	Disabled bool   `json:"disabled,omitempty"`
}
