// Package hosts knows where MCP hosts keep their servers: which file on which system, in which format, below which
// member, and how a server is spelled there. It is a table; it reads no file.
//
//	h, _ := hosts.Lookup("claude-code")
//	for _, f := range h.Files {
//		path, ok := f.Resolve(hosts.Machine{OS: "linux", Home: "/home/ann"})
//	}
package hosts

import (
	"path"
	"runtime"
	"slices"
	"strings"
)

// A Format is the syntax of a file.
type Format string

// The formats.
const (
	JSON  Format = "json"  // strict: the host refuses comments and trailing commas
	JSONC Format = "jsonc" // with comments and trailing commas
	TOML  Format = "toml"
	YAML  Format = "yaml"
)

// A Scope says whom the servers of a file are for.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // every project of the user
	Local   Scope = "local"   // one project, in a file of the user
	Project Scope = "project" // one project, in a file of the project
	Managed Scope = "managed" // every user, in a file of an administrator: it is never changed
)

// A Host is one program that connects to MCP servers.
type Host struct {
	ID     string // as it is named on the command line
	Name   string
	Files  []File
	Entry  Entry
	Hooks  *Hooks // nil: it has none that Weir knows
	Agents []File // further files, and folders of sub-agents, that may have servers below the last member of List; only of hosts with hooks
	Manual string // how to put Weir in by hand, for a host whose files cannot be changed; else ""

	// Session is the agent session of all its conversations, for a host whose servers know neither the id nor the
	// folder of one: Weir's entry names it, and hooks count in it. "" for others.
	Session string

	// Announced says that the host puts before the names of tools a name that their server chooses: no file tells which
	// server a tool is of.
	Announced bool
}

// A File is one place where a host keeps servers. A path begins with ~ for the home directory, {config} for the user's
// configuration directory of the system, or {xdg} for that of the XDG Base Directory Specification on every system.
// Paths of projects are relative to the project.
type File struct {
	Scope  Scope
	Format Format
	List   []string // the members that lead to the servers; * stands for every member

	Off     [][]string // members of the file that list names of disabled servers; * as in List
	Path    string     // on all systems that have none of their own below
	MacOS   string
	Windows string
	Env     string // variables that name another directory for it: the first that is set counts; NAME/below: one around it
	Refers  string // a member by which the file may lead to other files with servers
}

// An Entry is the spelling of a server that is a command.
type Entry struct {
	Command string   // the member for the program; "" is command
	Joined  bool     // the program and its arguments are one list
	Env     string   // the member for the variables; "" is env
	Extra   []Member // further members
}

// Hooks are where and how a host keeps the programs that it runs before and after its own tools.
type Hooks struct {
	File    File     // the List leads to an object with an array for each event
	Events  []string // that Weir takes, the beginning of a conversation first
	Listed  bool     // the arguments of a program are a list; else they stand in a command line of the shell
	Flat    bool     // the array holds the programs; else groups of them
	Command string   // the member for the command line; "" is command
	New     string   // the text of a file that is not there; "" is an empty object
	Extra   []Member // further members: how long the host waits, and that a hook that fails keeps the tool from running
	Guarded bool     // a program that fails keeps the tool from running by its status alone: its shell turns every failure into that one
	Plugin  bool     // the file is a program that runs in the host, and Weir's whole; the other members but Events and Offs do not count
	Code    []string // folders of a project, with slashes, whose programs run in the host, so that they may keep hooks from running
	Offs    []string // files of a project, with slashes, that may keep hooks from running; in one that is no JSON a mention of them does
	Steers  bool     // any hook in a file of Offs is reported: it may change a call after Weir has decided on it
	Inlines []string // texts, in small letters, for which the host puts a file or a variable into its settings; none if it puts none there
	Plain   []string // members of a project's Offs that put no file into a conversation; others may. Only with Inlines
	Texts   []string // texts of a project, with slashes, that enter conversations, and folders of them. Only with Inlines
	Trust   string   // what the user has to do before the hooks run; "" if nothing
	Setting *Setting // by which the host reads the file; nil: it does anyway
}

// A Setting is a member of the user's settings that is true.
type Setting struct {
	File File // the List leads to the object with the member
	Name string
	Use  string // another member, of the whole file, that switches all hooks off unless it is true
	Also string // another one, by which the host runs the hooks of Claude Code too if it is true; "" if none
}

// A Member is a member of a JSON object.
type Member struct{ Name, Value string }

// A Machine is what paths depend on.
type Machine struct {
	OS     string // as in GOOS
	Home   string
	Lookup func(name string) (string, bool) // the environment; nil: no variable is set
}

// Here returns this machine, with the variables that lookup finds.
func Here(lookup func(name string) (string, bool)) Machine {
	m := Machine{OS: runtime.GOOS, Lookup: lookup}
	m.Home = m.env("HOME")
	if home, ok := lookup("USERPROFILE"); ok && (m.OS == "windows" || m.Home == "") {
		m.Home = home
	}
	return m
}

func (m Machine) env(name string) string {
	if m.Lookup == nil || name == "" {
		return ""
	}
	v, _ := m.Lookup(name)
	return v
}

// Resolve returns the path of a file; false if the machine has no such place. Paths of projects stay relative, with
// slashes.
func (f File) Resolve(m Machine) (string, bool) {
	p := f.Path
	switch {
	case m.OS == "darwin" && f.MacOS != "":
		p = f.MacOS
	case m.OS == "windows" && f.Windows != "":
		p = f.Windows
	}
	if p == "" {
		return "", false
	}
	if f.Scope == Project {
		return p, true
	}
	for v := range strings.FieldsSeq(f.Env) {
		name, below, _ := strings.Cut(v, "/")
		if dir := m.env(name); m.absolute(dir) {
			return m.native(dir, path.Join(below, path.Base(p))), true
		}
	}
	first, rest, _ := strings.Cut(p, "/")
	switch first {
	case "~":
		return m.native(m.Home, rest), m.absolute(m.Home)
	case "{config}", "{xdg}":
		dir := m.configDir(first == "{xdg}")
		return m.native(dir, rest), m.absolute(dir)
	}
	return m.native(p, ""), true
}

// configDir returns the user's configuration directory; "" if there is none.
func (m Machine) configDir(xdg bool) string {
	switch {
	case m.OS == "windows" && !xdg:
		return m.env("APPDATA")
	case m.OS == "darwin" && !xdg && m.Home != "":
		return m.native(m.Home, "Library/Application Support")
	}
	if dir := m.env("XDG_CONFIG_HOME"); m.absolute(dir) {
		return dir
	}
	if m.Home == "" {
		return ""
	}
	return m.native(m.Home, ".config")
}

// native joins a directory of the system with a relative path of the table.
func (m Machine) native(dir, rest string) string {
	if m.OS != "windows" {
		return path.Join(dir, rest)
	}
	joined := strings.TrimRight(strings.ReplaceAll(dir, "/", `\`), `\`)
	if rest != "" {
		joined += `\` + strings.ReplaceAll(rest, "/", `\`)
	}
	return joined
}

func (m Machine) absolute(p string) bool {
	if m.OS == "windows" {
		return len(p) > 2 && p[1] == ':' && (p[2] == '\\' || p[2] == '/') || strings.HasPrefix(p, `\\`)
	}
	return strings.HasPrefix(p, "/")
}

// Lookup returns the host with an id.
func Lookup(id string) (Host, bool) {
	i := slices.IndexFunc(Table, func(h Host) bool { return h.ID == id })
	if i < 0 {
		return Host{}, false
	}
	return Table[i], true
}

// IDs returns the ids of all hosts, in the order of the table.
func IDs() (ids []string) {
	for _, h := range Table {
		ids = append(ids, h.ID)
	}
	return ids
}

// Lists returns every place of a list of servers in files of a format, without repetition; those below * are left out.
func Lists(formats ...Format) (lists [][]string) {
	for _, h := range Table {
		for _, f := range h.Files {
			known := slices.ContainsFunc(lists, func(l []string) bool { return slices.Equal(l, f.List) })
			if slices.Contains(formats, f.Format) && !known && !slices.Contains(f.List, "*") {
				lists = append(lists, f.List)
			}
		}
	}
	return lists
}
